//! QR by Householder reflectors: the factors, with column pivoting if asked for, and what is made of them.

mod apply;
mod factor;
mod generate;
mod solve;

pub use apply::ApplyQ;
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use {apply::Ormqr, factor::Geqrf, generate::Orgqr, solve::Qrs};

use super::Solution;
use super::matrix::Matrix;
use super::prelude::*;
use crate::core::dispatch::PendingDispatch;
use crate::core::op::Verdict;
use crate::libraries::flags::Side;

/// The factors `A = Q * R` of a matrix, or of each of a batch, or `A * P = Q * R` with column pivoting. They own the
/// buffer that held A.
///
/// R is on and above the diagonal. `Q = H_1 * H_2 * ...` with `H_i = I - tau_i * v_i * v_i^H`, where `v_i` has a one in
/// row `i` and the rest of it below the diagonal of column `i`, as in LAPACK.
#[derive(Debug)]
pub struct Qr<T: SolverElement> {
    reflectors: DeviceBuffer<T>,
    tau: DeviceBuffer<T>,
    columns: Option<DeviceBuffer<i64>>,
    matrix: Matrix,
}

impl<T: SolverElement> Qr<T> {
    /// Factors that were made elsewhere. The operations that use them check them.
    pub fn from_parts(
        matrix: Matrix,
        reflectors: DeviceBuffer<T>,
        tau: DeviceBuffer<T>,
        columns: Option<DeviceBuffer<i64>>,
    ) -> Self {
        Qr { reflectors, tau, columns, matrix }
    }

    /// R and the reflectors below it.
    pub fn factors(&self) -> &DeviceBuffer<T> {
        &self.reflectors
    }

    /// A factor for each reflector, `min(rows, cols)` for each matrix.
    pub fn tau(&self) -> &DeviceBuffer<T> {
        &self.tau
    }

    /// With column pivoting: which column of A, counted from 1, became each column of `A * P`. Of matrices without rows
    /// no column is moved, and the buffer is empty.
    pub fn columns(&self) -> Option<&DeviceBuffer<i64>> {
        self.columns.as_ref()
    }

    /// Where the factors lie in their buffer.
    pub fn matrix(&self) -> Matrix {
        self.matrix
    }

    /// The factors, tau, and the columns if they were pivoted.
    pub fn into_parts(self) -> (DeviceBuffer<T>, DeviceBuffer<T>, Option<DeviceBuffer<i64>>) {
        (self.reflectors, self.tau, self.columns)
    }

    /// `op(Q) * C` or `C * op(Q)` in place of C ([`Solver::ormqr`]).
    ///
    /// # Errors
    /// As [`Solver::ormqr`].
    pub fn apply(
        &self,
        solver: &Solver,
        side: Side,
        trans: Transpose,
        of_c: Matrix,
        c: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let spec = ApplyQ::new(self.matrix, of_c).side(side).trans(trans);
        solver.ormqr(spec, &self.reflectors, &self.tau, c)
    }

    /// The first `min(rows, cols)` columns of Q in a new buffer without gaps ([`Solver::orgqr`]).
    ///
    /// # Errors
    /// As [`Solver::orgqr`]; [`Error::OutOfMemory`] for the new buffer.
    pub fn q(&self, solver: &Solver) -> Result<PendingDispatch<DeviceBuffer<T>>> {
        self.matrix.check_shape("a")?;
        let of_q = Matrix::new(self.matrix.rows, self.matrix.size()).batch(self.matrix.count);
        let q = solver.device.uninit(of_q.len().unwrap_or(usize::MAX))?;
        Ok(solver.orgqr(self.matrix, &self.reflectors, &self.tau, of_q, q)?)
    }

    /// Least squares: the X that makes `||A * X - B||` least, in the first `cols` rows of B, for an A of full rank with at least
    /// as many rows as columns. Below them are the coefficients of the residual.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the shapes do not agree or something does not lie inside its buffer; at the wait
    /// [`Error::Singular`] if a column is by rounding a combination of those before it, as in [`Solver::solve`]; use
    /// [`Solver::lstsq`] then. B comes back.
    pub fn solve(&self, solver: &Solver, of_b: Matrix, b: DeviceBuffer<T>) -> Submitted<Solution<T>, Verdict> {
        let columns = self.columns.as_ref().map(DeviceBuffer::as_in);
        solve::submit(solver, self.matrix, (self.reflectors.as_in(), self.tau.as_in(), columns), of_b, b)
    }
}
