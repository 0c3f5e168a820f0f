//! Stable sorts along an axis.
//!
//! `order.rs` maps elements to unsigned integers of the same order. `op.rs` is the operation: elements, their places or both, of
//! each line the first ones. `host.rs` is the one half; the other one is a list of launches, which `plan.rs` makes and `cuda.rs`
//! submits, of the kernels in `kernel/`. The list is plain data, so that `tests.rs` can run it on the CPU. `front.rs` is the caller's
//! side.

#[cfg(feature = "cuda")]
mod cuda;
mod front;
#[cfg(feature = "host")]
pub(super) mod host;
#[cfg(feature = "cuda")]
pub(super) mod kernel;
mod lines;
mod op;
pub(super) mod order;
mod partition;
#[cfg(feature = "cuda")]
mod plan;
#[cfg(all(test, feature = "cuda", feature = "host"))]
mod tests;

pub(super) use front::sort_numbers;
pub use front::{By, Ordered};
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use op::Sort;
