//! Elements written to places that other elements name, or joined with what is there.
//!
//! The front (`front.rs`, `places.rs`) makes of all indices the numbers of slices, and sorts these with their places. So the elements
//! of a slice are neighbours, in their order: `op.rs` is the operation that takes them one after the other. `host.rs` and `kernel.rs`
//! are its halves; `walk.rs` is the kernel for few slices with many elements each.

mod front;
#[cfg(feature = "host")]
mod host;
#[cfg(feature = "cuda")]
mod kernel;
mod op;
mod places;
#[cfg(all(test, feature = "cuda", feature = "host"))]
mod tests;
#[cfg(feature = "cuda")]
mod walk;

pub use front::Combine;
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use op::Put;
