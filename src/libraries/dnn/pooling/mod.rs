//! Pooling: the largest element, the sum or the mean of each window, and its gradients, by kernels of our own.

// Every pass is a gather: an element of the target takes what it needs of the source, along each axis by itself. Forward these
// are the elements of its window; backward they are the windows that cover it. So nothing is added by atomics, and the order of
// additions is that of the rows on both engines. `axis.rs` says along one axis which elements these are, and admits what arrives;
// `op.rs` is the operation; `host.rs` lists the elements of each axis ahead, `kernel.rs` writes loops
// that compute them (`lines.rs`, `sums.rs`). `unpool.rs` writes to places.

mod axis;
#[cfg(feature = "cuda")]
mod cuda;
mod front;
#[cfg(feature = "host")]
mod host;
#[cfg(feature = "cuda")]
mod kernel;
#[cfg(feature = "cuda")]
mod lines;
mod lp;
mod op;
mod spec;
#[cfg(feature = "cuda")]
mod sums;
mod unpool;

pub(super) use front::{one, tied};
pub(super) use op::{Divide, Pass};
pub use spec::Pool;

/// Registers the operation of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<op::Pooling>();
}
