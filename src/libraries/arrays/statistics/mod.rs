//! Statistics: quantiles, and counts by bins, which sorted elements give; sums of weights by bins; statistics of all elements up to
//! each one.

mod bins;
mod quantile;
mod running;
mod weights;

pub use bins::Measured;
pub use quantile::Method;
