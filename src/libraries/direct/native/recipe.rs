//! A system as plain data, and the library's numbers for it.

use crate::core::element::DType;
use crate::libraries::direct::Factorization;
use crate::libraries::flags::{Symmetry, Uplo};
use crate::libraries::sparse::{SolveElement, SparseIndex};

/// A system: its factorization, its size and its types.
#[derive(Clone, Copy)]
pub(in super::super) struct Recipe {
    pub(in super::super) factorization: Factorization,
    pub(in super::super) n: usize,
    pub(in super::super) nnz: usize,
    pub(super) dtype: DType,
    /// Whether offsets and indices are i64.
    pub(super) wide: bool,
}

impl Recipe {
    pub(in super::super) fn new<T: SolveElement, I: SparseIndex>(
        factorization: Factorization,
        n: usize,
        nnz: usize,
    ) -> Self {
        Recipe { factorization, n, nnz, dtype: T::DTYPE, wide: size_of::<I>() == 8 }
    }

    /// Bytes of an index.
    pub(super) fn index_bytes(self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    /// `cudaDataType` of the indices.
    pub(super) fn index_type(self) -> i32 {
        if self.wide { 24 } else { 10 }
    }

    /// `cudaDataType` of the values.
    pub(super) fn value_type(self) -> i32 {
        match self.dtype {
            DType::F32 => 0,
            DType::F64 => 1,
            DType::C32 => 4,
            _ => 5,
        }
    }

    /// The distance of 1 to the next larger number.
    pub(super) fn epsilon(self) -> f64 {
        if matches!(self.dtype, DType::F32 | DType::C32) { f64::from(f32::EPSILON) } else { f64::EPSILON }
    }

    /// `cudssMatrixType_t`.
    pub(super) fn kind(self) -> i32 {
        match (self.factorization, self.dtype.is_complex()) {
            (Factorization::Cholesky(_), false) => 3,
            (Factorization::Cholesky(_), true) => 4,
            (Factorization::Ldl(_, Symmetry::Hermitian), true) => 2,
            (Factorization::Ldl(..), _) => 1,
            (Factorization::Lu | Factorization::Qr, _) => 0,
        }
    }

    /// `cudssMatrixViewType_t`; our kernels count so too: all entries, those on and below the diagonal, those on and above it.
    pub(super) fn view(self) -> i32 {
        match self.factorization {
            Factorization::Cholesky(Uplo::Lower) | Factorization::Ldl(Uplo::Lower, _) => 1,
            Factorization::Cholesky(Uplo::Upper) | Factorization::Ldl(Uplo::Upper, _) => 2,
            Factorization::Lu | Factorization::Qr => 0,
        }
    }

    /// Whether the inertia has a meaning.
    pub(super) fn has_inertia(self) -> bool {
        matches!(self.factorization, Factorization::Ldl(..)) && (self.kind() == 2 || !self.dtype.is_complex())
    }

    /// Where the plan has the offsets of the rows: behind the order and the parents.
    pub(in super::super) fn offsets_of(self, plan: u64) -> u64 {
        plan + (2 * self.n * self.index_bytes()) as u64
    }
}
