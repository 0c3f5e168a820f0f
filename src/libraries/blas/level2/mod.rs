//! Matrices and vectors: level 2.
//!
//! The banded and packed forms of a routine are the same operation on another storage, which the specification selects:
//! `Symv::banded` for what BLAS calls `sbmv`, `Symv::packed` for `spmv`.
//!
//! | file | routines |
//! |---|---|
//! | `gemv`, `gemv_batched` | general and band matrices times a vector; batches |
//! | `symv`, `trmv` | products with symmetric, Hermitian and triangular matrices; solutions of triangular systems |
//! | `ger`, `syr`, `syr2` | updates by the products of one vector or of two |
//! | `triangle` | how a triangle is stored: in a full matrix, by bands, packed |
//! | `turn` | whether a matrix is transposed and conjugated |

mod gemv;
mod gemv_batched;
mod ger;
mod symv;
mod syr;
mod syr2;
mod triangle;
mod trmv;
mod turn;

pub use gemv::Gemv;
pub use ger::Ger;
pub use symv::Symv;
pub use syr::Syr;
pub use trmv::Trmv;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
use super::{BlasElement, ComplexElement};
#[cfg(all(feature = "every-operation", target_os = "linux"))]
use crate::engines::worker::Registry;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn matrix_vectors<T: BlasElement>(registry: &mut Registry) {
    registry.routine::<gemv::Product<T>>();
    registry.routine::<gemv_batched::Batch<T>>();
    registry.routine::<ger::Update<T, false>>();
    registry.routine::<ger::Update<T, true>>();
    registry.routine::<symv::Product<T, false>>();
    registry.routine::<syr::SyrUpdate<T>>();
    registry.routine::<syr2::Update<T, false>>();
    registry.routine::<trmv::Triangular<T, false>>();
    registry.routine::<trmv::Triangular<T, true>>();
}

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) fn matrix_vectors_of_complex<T: ComplexElement>(registry: &mut Registry) {
    registry.routine::<symv::Product<T, true>>();
    registry.routine::<syr::HerUpdate<T>>();
    registry.routine::<syr2::Update<T, true>>();
}
