//! Scans along an axis: each element of the result is a reduction of those up to it, with the same bits on both engines.
//!
//! | call | element `i` of the result |
//! |---|---|
//! | [`Device::cumsum`](crate::Device::cumsum), `cumprod` | the sum, the product of the elements 0 to `i` |
//! | [`Device::cummax`](crate::Device::cummax), `cummin` | the largest, the smallest of them |
//! | [`Device::cumall`](crate::Device::cumall), `cumany` | whether all, whether any of them are not zero |
//! | [`Device::scan`](crate::Device::scan) | one of them by its kind, a type of [`reductions`](crate::reductions) |
//!
//! An axis is a number, which counts from the end if it is negative; [`Along`] says besides that the element itself is left out
//! ([`exclusive`](Along::exclusive)), or that the scan begins at the end of the axis ([`reverse`](Along::reverse)).
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::reductions::scans::Along;
//! let device = windlass::Device::best()?;
//! let x = device.tensor([2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let sums = device.cumsum(&x, -1)?.await_result()?;
//! assert_eq!(device.show(&sums)?.to_string(), "[[ 1.  3.  6.]\n [ 4.  9. 15.]]");
//! let rest = device.cumsum(&x, Along::axis(1).exclusive().reverse())?.await_result()?;
//! assert_eq!(device.show(&rest)?.to_string(), "[[ 5.  3.  0.]\n [11.  6.  0.]]");
//! # Ok(()) }
//! ```
//!
//! # The order of additions
//! It depends on nothing but the length of the axis. Each 32 elements, in the order of the scan, are a chunk. The totals of chunks
//! are scanned themselves, exclusively and in the same way, which gives each chunk what is before it; from there its elements are
//! taken one after the other. So the error of a sum grows by at most 32 roundings for each level, of which there are two up to 1024
//! elements, four up to 2^20.
//!
//! # Costs
//! On a GPU, lines whose elements are neighbours in memory are read and written once up to 8192 elements, 4096 if they are
//! accumulated in 8 bytes; longer ones are read twice. Along other axes each level reads the elements below it.
//!
//! # Types and special values
//! They are those of the [reductions](crate::reductions): sums and products of integers and [`Bool`](crate::Bool) are `i64` or `u64`
//! and wrap, halves are accumulated in `f32` and rounded once. From a NaN on, sums, products and extremes are NaN, of the one
//! pattern. An exclusive scan begins with 0, 1, the smallest or the largest value of the type (of floating point: an infinity, where
//! the type has one), or with the truth value that changes nothing.

// `op.rs` is the operation with its checks, `levels.rs` numbers the chunks of each level for both engines. `host.rs` is the one
// half, `cuda.rs` the other one, with the text of `kernel.rs` for columns, and of `lines/` for lines whose elements are neighbours;
// its arithmetic comes from the recipes of the reductions. `front.rs` is the caller's side.

#[cfg(feature = "cuda")]
mod cuda;
mod front;
#[cfg(feature = "host")]
pub(in crate::libraries) mod host;
#[cfg(feature = "cuda")]
mod kernel;
mod levels;
#[cfg(feature = "cuda")]
mod lines;
mod op;

pub(in crate::libraries) use front::submit;
pub use front::{Along, Cumulative};
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use op::Scan;
