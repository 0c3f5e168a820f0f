//! Statistics: quantiles, and counts by bins, which sorted elements give; sums of weights by bins; statistics of all elements up to
//! each one; weighted means, ranges, and statistics that leave NaN out; covariances and distances, of which products are a part.

mod average;
mod bins;
#[cfg(feature = "blas")]
mod covariance;
#[cfg(feature = "blas")]
mod distance;
mod nan;
mod nan_to_num;
mod quantile;
mod running;
mod weights;

pub use bins::Measured;
#[cfg(feature = "blas")]
pub use distance::Distance;
pub use quantile::Method;
