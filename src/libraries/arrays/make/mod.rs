//! Tensors that a position or an index decides: triangles, the identity, one-hot vectors, coordinates, slices repeated.
//!
//! All of it is made of formulas, views and moves, and has no kernel.

mod grid;
mod one_hot;
mod repeat;
mod triangle;

pub use grid::{Indexing, meshgrid};
