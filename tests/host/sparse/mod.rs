//! Sparse matrices, on every device under test.

mod algebra;
mod convert;
mod formats;
mod model;
mod products;
mod refusals;
mod vectors;
