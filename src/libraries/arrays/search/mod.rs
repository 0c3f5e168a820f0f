//! Places of values in a sorted vector, by binary search, and what is made of that.
//!
//! `op.rs` is the operation with its host half, `kernel.rs` its text for a GPU; `front.rs` the caller's side.

mod front;
#[cfg(feature = "cuda")]
mod kernel;
mod op;
#[cfg(all(test, feature = "cuda", feature = "host"))]
mod tests;

pub use front::SearchSide;
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use op::Search;
