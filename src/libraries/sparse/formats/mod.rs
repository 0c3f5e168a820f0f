//! The formats: owned structures over device memory, validated once.
//!
//! A format holds read handles of its arrays, so nobody can write them while it exists; a clone shares them. Validation
//! is one operation on the device (`validate`); the wait for it returns the result. No operation on a validated matrix
//! can read outside of a buffer, and none validates it again.

mod bsr;
mod compressed;
mod coo;
mod structure;
mod upload;
mod validate;
mod vector;

pub use bsr::{Blocks, Bsr};
pub use compressed::{ByColumns, ByRows, Compressed, Csc, Csr, Major};
pub use coo::Coo;
pub(super) use structure::Structure;
pub use vector::SparseVector;

use super::element::{SparseElement, SparseIndex};
use super::layout::Layout;
use crate::core::buffer::In;

pub(super) mod sealed {
    pub trait Sealed {}
}

/// A sparse matrix in any format: [`Csr`], [`Csc`], [`Coo`] or [`Bsr`]. Sealed.
pub trait SparseMatrix<T: SparseElement, I: SparseIndex>: sealed::Sealed {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Number of columns.
    fn cols(&self) -> usize;
    /// Number of stored entries, stored zeros included.
    fn nnz(&self) -> usize;
    #[doc(hidden)]
    fn stored(&self) -> Stored<'_, T, I>;
}

/// A matrix as an operand. Opaque.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Stored<'a, T: SparseElement, I: SparseIndex> {
    pub(super) layout: Layout,
    /// What is known of the structure, if an operation can use it.
    pub(super) structure: Option<Structure>,
    pub(super) first: In<'a, I>,
    pub(super) second: In<'a, I>,
    pub(super) values: In<'a, T>,
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn register<T: SparseElement, I: SparseIndex>(registry: &mut crate::engines::worker::Registry) {
    registry.call::<validate::Validate<Csr<T, I>>>();
    registry.call::<validate::Validate<Csc<T, I>>>();
    registry.call::<validate::Validate<Coo<T, I>>>();
    registry.call::<validate::Validate<Bsr<T, I>>>();
    registry.call::<vector::ValidateVector<T, I>>();
}
