//! Statistics that sorted elements give: quantiles, and counts by bins.

mod bins;
mod quantile;

pub use bins::Measured;
pub use quantile::Method;
