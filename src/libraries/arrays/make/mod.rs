//! Tensors that a position or an index decides: numbers at even distances, diagonals, triangles, the identity, one-hot vectors,
//! coordinates, slices repeated.
//!
//! All of it is made of formulas, views and moves, and has no kernel.

mod diagonal;
mod grid;
mod linspace;
mod one_hot;
mod range;
mod repeat;
mod triangle;

pub use grid::{Indexing, meshgrid};
