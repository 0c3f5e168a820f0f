//! A dispatch on a GPU: steps 3 to 6 of `device/dispatch/mod.rs`.
//!
//! ```text
//! submit.rs            from its submission to its task; across.rs: over several devices
//! under_lease.rs       the steps while its slot is leased; on_slot.rs: each of them; together.rs: those of several devices
//! queue.rs             the leased stream of an op's CUDA half; enqueue.rs: as the op sees it; copies.rs: its copies; foreign.rs: where it
//!                      meets streams of others
//! ```

mod across;
mod copies;
mod enqueue;
#[cfg(feature = "external")]
mod foreign;
mod on_slot;
mod queue;
mod submit;
mod together;
mod under_lease;

pub(crate) use across::{lease_each, on_slots};

pub use enqueue::StreamPtr;
pub use queue::EnqueueOn;
pub(crate) use queue::{Keeps, Queue};
pub(crate) use submit::DeviceOperands;
pub(crate) use together::Rings;
pub(crate) use under_lease::{EnqueueInput, Enqueued, NotEnqueued, enqueue_on};
