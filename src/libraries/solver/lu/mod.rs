//! LU with partial pivoting: the factors and what is made of them.

mod factor;
mod invert;
mod solve;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use {factor::Getrf, invert::Getri, solve::Getrs};

use super::matrix::Matrix;
use super::{Solver, SolverElement};
use crate::core::buffer::DeviceBuffer;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::Result;
use crate::core::op::Verdict;
use crate::device::dispatch::Submitted;
use crate::libraries::flags::Transpose;

/// The factors `P * A = L * U` of a matrix, or of each of a batch. They own the buffer that held A.
///
/// L (without its ones) is below the diagonal and U on and above it. Row `i` was swapped with row `pivots[i]`, counted
/// from 1, for `i` from first to last, as in LAPACK.
#[derive(Debug)]
pub struct Lu<T: SolverElement> {
    factors: DeviceBuffer<T>,
    pivots: DeviceBuffer<i64>,
    info: DeviceBuffer<i32>,
    matrix: Matrix,
}

impl<T: SolverElement> Lu<T> {
    /// Factors that were made elsewhere, or taken apart by [`into_parts`](Self::into_parts). The operations that use
    /// them check them.
    pub fn from_parts(
        matrix: Matrix,
        factors: DeviceBuffer<T>,
        pivots: DeviceBuffer<i64>,
        info: DeviceBuffer<i32>,
    ) -> Self {
        Lu { factors, pivots, info, matrix }
    }

    /// L and U.
    pub fn factors(&self) -> &DeviceBuffer<T> {
        &self.factors
    }

    /// The pivots, `min(rows, cols)` for each matrix.
    pub fn pivots(&self) -> &DeviceBuffer<i64> {
        &self.pivots
    }

    /// For each matrix the first zero on the diagonal of U, counted from 1, or 0.
    pub fn info(&self) -> &DeviceBuffer<i32> {
        &self.info
    }

    /// Where the factors lie in their buffer.
    pub fn matrix(&self) -> Matrix {
        self.matrix
    }

    /// Factors, pivots and infos.
    pub fn into_parts(self) -> (DeviceBuffer<T>, DeviceBuffer<i64>, DeviceBuffer<i32>) {
        (self.factors, self.pivots, self.info)
    }

    /// Solves `op(A) * X = B` in place of B with these factors, as [`Solver::getrs`] does.
    ///
    /// # Errors
    /// As [`Solver::getrs`].
    pub fn solve(
        &self,
        solver: &Solver,
        trans: Transpose,
        of_b: Matrix,
        b: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        solver.getrs(trans, self.matrix, &self.factors, &self.pivots, of_b, b)
    }

    /// The inverses, into a new buffer without gaps ([`Solver::getri`]).
    ///
    /// # Errors
    /// As [`Solver::getri`]; [`Error::OutOfMemory`](crate::Error::OutOfMemory) for the new buffer.
    pub fn inverse(&self, solver: &Solver) -> Result<PendingDispatch<super::Inverse<T>, Verdict>> {
        let Matrix { rows: n, count, .. } = self.matrix;
        self.matrix.check_shape("a")?;
        let of_c = Matrix::square(n).batch(count);
        let c = solver.device.uninit(of_c.len().unwrap_or(usize::MAX))?;
        Ok(solver.getri(self.matrix, &self.factors, &self.pivots, of_c, c)?)
    }

    /// The determinants, with their logarithms; see [`Determinant`](super::Determinant).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for factors that are not square; the device's own error.
    pub fn det(&self, solver: &Solver) -> Result<super::PendingDeterminants<T>> {
        super::determinant::of_lu(solver, self)
    }
}
