//! Reductions along axes, of tensors and of formulas over them, with the same bits on both engines.
//!
//! | call | result |
//! |---|---|
//! | [`Device::sum`](crate::Device::sum), `prod`, `mean`, `var`, `std` | sums and moments |
//! | [`Device::min`](crate::Device::min), `max`, `argmin`, `argmax` | extremes, and where they are |
//! | [`Device::all_true`](crate::Device::all_true), `any_true`, `count_nonzero` | truth values |
//! | [`Device::norm1`](crate::Device::norm1), `norm2`, `norm_inf`, `logsumexp` | norms |
//! | [`Deferred::reduce`](crate::expressions::Deferred::reduce) | one of them of operators on tensors |
//! | [`Device::softmax`](crate::Device::softmax), `log_softmax` | exponentials of sum 1 |
//! | [`Device::cumsum`](crate::Device::cumsum), `cumprod`, `cummax`, `cummin`, `cumall`, `cumany` | [`scans`] along an axis |
//! | [`Device::reduce`](crate::Device::reduce), `reduce_then` | one of them of a formula, which is fused before it, and of whose results another one is computed |
//!
//! The axes are a number, an array, a `Vec` or a slice of numbers, of which negative ones count from the end, or [`All`];
//! [`Keep`] keeps them with the extent 1. Inputs may have any strides.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::reductions::{All, Keep};
//! let device = windlass::Device::best()?;
//! let x = device.tensor([2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let total = device.item(&device.sum(&x, All)?.await_result()?)?;
//! let rows = device.mean(&x, Keep(-1))?.await_result()?;
//! assert_eq!((total, rows.shape()), (21.0, &[2, 1][..]));
//! # Ok(()) }
//! ```
//!
//! # The tree
//! The order of additions depends on nothing but the number of the reduced elements, which are taken in their logical order: not on
//! strides, other axes, the engine, or threads. Each 1024 of them are a group, of 64 chains; chain `c` takes the elements `c`,
//! `c + 64`, and so on of its group. Chain `c` is joined with chain `c + 32`, then with `c + 16`, down to `c + 1`. The results of
//! groups are elements of the next level, until one is left. So the error of a sum grows with the depth of the tree: at most
//! 16 + 6 roundings for each level.
//!
//! # Types and special values
//! - Sums and products of integers and [`Bool`](crate::Bool) are `i64` or `u64`, means `f64`, places and counts `i64`. Floating point
//!   keeps its type; halves are accumulated in `f32` and rounded once, at the end.
//! - A NaN among the elements wins ([`Min`], [`Max`], [`NormInf`]), or is found ([`ArgMin`], [`ArgMax`]). A computed one has the one
//!   pattern of [`expressions`](crate::expressions). An extreme is one of the elements: an infinity of 8 bits stays one.
//! - Without elements a result is what changes nothing, [`Mean`], [`Var`] and [`Std`] are NaN, and extremes are an error.
//! - A formula's value is not rounded to its type before it is reduced: halves stay `f32`.
//!
//! # Costs
//! On a GPU a level is one kernel; up to 1024 elements a result has one level, up to 2^20 two. As of formulas, a kernel is made at
//! the first use, and is good for all layouts of a class. On the CPU elements are computed block by block, on the device's threads.

// `kind.rs` lists the kinds and the types of their results. `recipe.rs` says what each accumulates, as expressions, and
// `element.rs` what it takes of a formula; both engines get all arithmetic from there. `space.rs` numbers results and elements, and
// has the constants of the tree. `pairs.rs` has sums that an engine knows again. `op.rs` is the operation, and `shape.rs` what is kept of it for later calls. `host/` and `ptx/` with `cuda.rs` are the engines,
// `axes.rs` and `front.rs` the caller's side. `scans/` has scans, an operation of its own that takes its arithmetic from the recipes. A new kind starts in `kind.rs` and `recipe.rs`.

mod axes;
#[cfg(feature = "cuda")]
mod cuda;
mod deferred;
mod element;
mod exponentials;
#[cfg(feature = "cuda")]
pub(in crate::libraries) mod folding;
pub(in crate::libraries) mod front;
mod fuse;
#[cfg(feature = "host")]
mod host;
mod kind;
mod op;
#[cfg(any(feature = "host", feature = "dnn"))]
pub(in crate::libraries) mod pairs;
#[cfg(feature = "cuda")]
mod parts;
#[cfg(feature = "cuda")]
mod ptx;
mod recipe;
pub(in crate::libraries) mod rows;
pub mod scans;
mod shape;
mod space;

pub use axes::{All, Axes, Keep};
pub(in crate::libraries) use axes::{Bits, Mask};
pub use kind::{
    AllTrue, AnyTrue, ArgMax, ArgMin, CountNonzero, LogSumExp, Max, Mean, Min, Norm1, Norm2, NormInf, Prod, Reduction,
    ReductionKind, Std, Sum, Var,
};
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub use ptx::THREADS_FROM;
pub use rows::SoftmaxElement;

/// Registers the operation of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<op::Reduce>();
    registry.add::<rows::Rows>();
    registry.add::<scans::Scan>();
}
