//! Elements that fulfil a condition, and the different ones: results whose number of elements the device finds.
//!
//! A GPU, and a program that either engine may run, make all of it of stable sorts: a falling one of truth values brings those that are
//! true to the front, in their order. On the CPU `op.rs` chooses in one pass, whose half is `host.rs`.

mod choose;
mod found;
#[cfg(feature = "host")]
mod host;
mod op;
mod unique;

pub use found::Found;
pub(super) use found::{first, flat, vector};
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use op::Choose;
pub use unique::Unique;
