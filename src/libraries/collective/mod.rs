//! Collectives: exchanges of data among several devices.
//!
//! | file | content |
//! |---|---|
//! | `communicator`, `calls` | the front: the ranks; the collectives as methods |
//! | `combine` | how elements are combined |
//! | `spec` | a collective as plain data; all sizes are checked here, and every engine gets its places from here |
//! | `op` | the op, one for all of them |
//! | `memory`, `host`, `numbers` | the host half: operands, blocks and copies, arithmetic |
//! | `native` | the CUDA half: NCCL |
//! | `live` | what a communicator has for one generation of its devices |
//! | `isolated` | ranks on isolated devices: each worker process is one |
//! | `launch`, `store`, `mesh` | ranks in several processes: how they find each other, and what they send |
//! | `submitting` | no submission inside another |
//! | `rebuild` | how they come together, at first and after a loss |
//!
//! A collective is a dispatch over several devices (`device/dispatch/across.rs`). Its operands are a list of inputs, a list of
//! outputs and the communicator's *turn*, a byte that every collective of the communicator overwrites: so they are ordered as
//! they were submitted, and a barrier is ordered behind them though it has no operands. Between communicators of GPUs there is
//! one order too, since NCCL's kernels wait for each other: all collectives of a process use one stream of each device, and
//! take these streams in the order of the devices.

mod calls;
mod combine;
mod communicator;
mod host;
#[cfg(target_os = "linux")]
mod isolated;
mod launch;
mod live;
mod memory;
mod mesh;
#[cfg(feature = "cuda")]
pub(crate) mod native;
mod numbers;
mod op;
mod rebuild;
mod spec;
mod store;
mod submitting;

pub use combine::Combine;
pub use communicator::Communicator;
pub use launch::Rendezvous;
pub use rebuild::{Members, Rebuilt};
pub use spec::Transfer;
pub use store::Store;

/// Registers the collectives in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    fn each<T: crate::core::element::Element>(registry: &mut crate::engines::worker::Registry) {
        registry.add::<op::Collective<T>>();
    }
    registry.add::<isolated::Membership>();
    crate::core::element::each_element!(each(registry));
}
