//! The formats: owned structures over device memory, validated once.
//!
//! A format holds read handles of its arrays, so nobody can write them while it exists; a clone shares them. Validation is
//! one operation on the device (`validate`), with its verdict at the await. After it no operation can be made to read
//! outside of a buffer, and none looks again.

mod bsr;
mod compressed;
mod coo;
mod structure;
mod upload;
mod validate;
mod vector;

pub use bsr::Bsr;
pub use compressed::{ByColumns, ByRows, Compressed, Csc, Csr, Major};
pub use coo::Coo;
pub(super) use structure::Structure;
pub use vector::SparseVector;

use super::element::{SparseElement, SparseIndex};
use super::layout::Layout;
use crate::In;

pub(super) mod sealed {
    pub trait Sealed {}
}

/// A sparse matrix in any format: [`Csr`], [`Csc`], [`Coo`] or [`Bsr`]. Sealed.
pub trait SparseMatrix<T: SparseElement, I: SparseIndex>: sealed::Sealed {
    /// Rows.
    fn rows(&self) -> usize;
    /// Columns.
    fn cols(&self) -> usize;
    /// Entries that are stored, zeros among them.
    fn nnz(&self) -> usize;
    #[doc(hidden)]
    fn stored(&self) -> Stored<'_, T, I>;
}

/// A matrix as operand. Opaque.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Stored<'a, T: SparseElement, I: SparseIndex> {
    pub(super) layout: Layout,
    /// What is known of the structure, where that is of use.
    pub(super) structure: Option<Structure>,
    pub(super) first: In<'a, I>,
    pub(super) second: In<'a, I>,
    pub(super) values: In<'a, T>,
}

#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(super) fn register<T: SparseElement, I: SparseIndex>(registry: &mut crate::worker::Registry) {
    registry.call::<validate::Validate<Csr<T, I>>>();
    registry.call::<validate::Validate<Csc<T, I>>>();
    registry.call::<validate::Validate<Coo<T, I>>>();
    registry.call::<validate::Validate<Bsr<T, I>>>();
    registry.call::<vector::ValidateVector<T, I>>();
}
