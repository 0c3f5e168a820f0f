//! LU with partial pivoting: the factors and what is made of them.

mod factor;
mod invert;
mod solve;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use {factor::Getrf, invert::Getri, solve::Getrs};

use super::{Solver, SolverElement};
use crate::core::error::Result;
use crate::device::tensor::Tensor;

/// The factors `P * A = L * U` of a matrix, or of each of a batch. They are in the memory of A.
///
/// L (without its ones) is below the diagonal and U on and above it. Row `i` was swapped with row `pivots[i]`, counted
/// from 1, for `i` from first to last, as in LAPACK.
#[derive(Debug)]
pub struct Lu<T: SolverElement> {
    factors: Tensor<T>,
    pivots: Tensor<i64>,
    info: Tensor<i32>,
}

impl<T: SolverElement> Lu<T> {
    /// Factors that were made elsewhere, or taken apart by [`into_parts`](Self::into_parts). The operations that use
    /// them check them.
    pub fn from_parts(factors: Tensor<T>, pivots: Tensor<i64>, info: Tensor<i32>) -> Self {
        Lu { factors, pivots, info }
    }

    /// L and U.
    pub fn factors(&self) -> &Tensor<T> {
        &self.factors
    }

    /// The pivots, `min(rows, cols)` for each matrix.
    pub fn pivots(&self) -> &Tensor<i64> {
        &self.pivots
    }

    /// For each matrix the first zero on the diagonal of U, counted from 1, or 0.
    pub fn info(&self) -> &Tensor<i32> {
        &self.info
    }

    /// Factors, pivots and infos.
    pub fn into_parts(self) -> (Tensor<T>, Tensor<i64>, Tensor<i32>) {
        (self.factors, self.pivots, self.info)
    }

    /// The determinants, with their logarithms; see [`Determinant`](super::Determinant).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for factors that are not square; the device's own error.
    pub fn det(&self, solver: &Solver) -> Result<super::PendingDeterminants<T>> {
        super::determinant::of_lu(solver, self)
    }
}
