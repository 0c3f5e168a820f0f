//! Sparse matrices, on every device under test.

mod algebra;
mod convert;
mod degenerate;
mod faults;
mod formats;
mod kept;
mod known;
mod large;
mod market;
pub(crate) mod matrices;
pub(crate) mod model;
mod products;
mod refusals;
mod repeated;
mod solvers;
mod solves;
mod vectors;
mod wide;
