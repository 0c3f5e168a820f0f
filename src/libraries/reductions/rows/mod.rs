//! Rows that are reduced, and a formula of their elements and of the result: softmax, normalisations and their gradients, each as
//! one dispatch where the elements of a row lie side by side.
//!
//! [`submit`] makes a reduction and a map of it, which are the operations of these names with all that they check. `op.rs` runs them
//! as one: on the host one after the other, for some rows at a time that stay in a cache (`blocks.rs`); on a GPU by a kernel (`kernel.rs`; its text in `text.rs`, `elements.rs`, `tree.rs`), in which a row is read, reduced by the tree of all
//! reductions, and read again while it is still in a cache. So the bits are those of two dispatches, which are made instead where rows
//! have gaps, or are too long (`shape.rs`; `spreading.rs` has what is found once); but for sums of exponentials, for which a row is read once more (`../exponentials.rs`).

#[cfg(feature = "host")]
mod blocks;
#[cfg(feature = "cuda")]
mod elements;
mod front;
#[cfg(feature = "cuda")]
mod kernel;
#[cfg(feature = "cuda")]
mod launch;
mod op;
mod shape;
mod softmax;
mod spreading;
#[cfg(feature = "cuda")]
mod text;
#[cfg(feature = "cuda")]
mod tree;

pub(in crate::libraries) use front::{Spread, submit};
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(in crate::libraries::reductions) use op::Rows;
pub use softmax::SoftmaxElement;
