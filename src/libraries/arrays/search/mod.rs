//! Places of values in a sorted vector, by binary search, and what is made of that.
//!
//! `op.rs` is the operation, `host.rs` its half for the CPU, with bins at equal distances in `even.rs`; `kernel.rs` is its text for a GPU,
//! `front.rs` the caller's side. `rows.rs` searches many vectors, by formulas and moves.

#[cfg(feature = "host")]
mod even;
mod front;
#[cfg(feature = "host")]
mod host;
#[cfg(feature = "cuda")]
mod kernel;
mod op;
mod rows;
#[cfg(all(test, feature = "cuda", feature = "host"))]
mod tests;

pub use front::SearchSide;
pub(super) use front::{count_between, count_numbers, counts_at_once};
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use op::Search;
