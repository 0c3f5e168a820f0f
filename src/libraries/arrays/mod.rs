//! Tensors in order: sorted, searched, counted, chosen and put into places, and tensors that a position or an index decides, with the
//! same bits on both engines.
//!
//! | call | result |
//! |---|---|
//! | [`Device::sort`](crate::Device::sort), `argsort`, `sort_with_indices` | the elements in order, where they were, both |
//! | [`Device::top_k`](crate::Device::top_k), `bottom_k` | the largest and the smallest ones, with their places |
//! | [`Device::partition`](crate::Device::partition), `argpartition` | a sort, under NumPy's names |
//! | [`Device::searchsorted`](crate::Device::searchsorted) | places in a sorted vector |
//! | [`Device::quantile`](crate::Device::quantile), `median` | quantiles, by [`Method`] |
//! | [`Device::histogram`](crate::Device::histogram), `histogram_between`, `bincount` | counts |
//! | [`Device::histogram_weighted`](crate::Device::histogram_weighted), `histogram_weighted_between`, `bincount_weighted` | sums of weights |
//! | [`Device::cummax_with_indices`](crate::Device::cummax_with_indices), `cummin_with_indices`, `cummean` | statistics of all elements up to each one |
//! | [`Device::unique`](crate::Device::unique), `unique_all` | the different elements |
//! | [`Device::masked_select`](crate::Device::masked_select), `compress`, `nonzero` | the elements that fulfil a condition, or where they are |
//! | [`Device::put`](crate::Device::put), `put_along_axis`, `put_nd` | elements written to places, or [combined](Combine) with what is there |
//! | [`Device::take_along_axis`](crate::Device::take_along_axis), `gather_nd` | elements by their indices |
//! | [`Device::masked_fill`](crate::Device::masked_fill), `masked_assign`, `masked_scatter` | values written where a condition is true |
//! | [`Device::isin`](crate::Device::isin) | whether elements are among others |
//! | [`Device::average`](crate::Device::average), `ptp` | weighted means, ranges |
//! | [`Device::nansum`](crate::Device::nansum), `nanmean`, `nanvar`, `nanmax`, `nanmin`, `nan_to_num` | statistics without NaN |
//! | `Device::cov`, `corrcoef`, `cdist` | covariances, and distances between vectors, with feature `blas` |
//! | [`Device::diff`](crate::Device::diff), `gradient`, `trapezoid`, `cumulative_trapezoid`, `interp`, `unwrap`, `cross` | differences, integrals and what belongs to them |
//! | [`Device::linspace`](crate::Device::linspace), `logspace`, `arange`, [`diag`](crate::Device::diag) | numbers at even distances, diagonals |
//! | [`Device::tril`](crate::Device::tril), `triu`, [`eye`](crate::Device::eye) | triangles of matrices, the identity |
//! | [`Device::one_hot`](crate::Device::one_hot), [`meshgrid`] | vectors by an index, coordinates of a grid |
//! | [`Device::repeat_each`](crate::Device::repeat_each) | slices, each so often as a number says; see also [`tile`](crate::Device::tile), [`repeat`](crate::Device::repeat) |
//!
//! # The order
//! Sorts are stable, in both directions. A NaN comes last in both; zeros of either sign are equal, and keep their bits. Of truth values
//! each byte but 0 is true.
//!
//! # Results whose size the device finds
//! [`Found`] is such a result in flight. Its tensors lie in memory for the largest number of elements; the wait gives them their
//! extents.

// `sort/` is the operation behind most of it, `search/`, `scatter/` and on the CPU `select/` are three more.
// `select/`, `statistics/`, `gather/`, `calculus/` and `make/` are made of these, of reductions, formulas and moves, and have no kernel;
// `untyped.rs` is how their formulas are compiled once for all types.

mod calculus;
mod gather;
mod make;
mod scatter;
mod search;
mod select;
mod sort;
mod statistics;
mod untyped;

pub use calculus::Spacing;
pub use make::{Indexing, meshgrid};
pub use scatter::Combine;
pub use search::SearchSide;
pub use select::{Found, Unique};
use select::{first, flat as select_flat, vector as select_vector};
pub use sort::{By, Ordered};
#[cfg(feature = "blas")]
pub use statistics::Distance;
pub use statistics::{Measured, Method};

/// Registers the operations of this folder in the registry of a worker program.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<sort::Sort>();
    registry.add::<search::Search>();
    registry.add::<scatter::Put>();
    registry.add::<select::Choose>();
}
