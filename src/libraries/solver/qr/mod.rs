//! QR by Householder reflectors: the factors, with column pivoting if asked for, and what is made of them.

mod apply;
mod factor;
mod generate;
mod solve;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use {apply::Ormqr, factor::Geqrf, solve::Qrs};

pub(super) use generate::Orgqr;

use super::Solution;
use super::given::sizes;
use super::prelude::*;
use crate::core::dispatch::PendingDispatch;
use crate::core::op::Verdict;
use crate::libraries::flags::Side;

/// The factors `A = Q * R` of a matrix, or of each of a batch, or `A * P = Q * R` with column pivoting. They are in
/// the memory of A.
///
/// R is on and above the diagonal. `Q = H_1 * H_2 * ...` with `H_i = I - tau_i * v_i * v_i^H`, where `v_i` has a one in
/// row `i` and the rest of it below the diagonal of column `i`, as in LAPACK.
#[derive(Debug)]
pub struct Qr<T: SolverElement> {
    reflectors: Tensor<T>,
    tau: Tensor<T>,
    columns: Option<Tensor<i64>>,
}

impl<T: SolverElement> Qr<T> {
    /// Factors that were made elsewhere. The operations that use them check them.
    pub fn from_parts(reflectors: Tensor<T>, tau: Tensor<T>, columns: Option<Tensor<i64>>) -> Self {
        Qr { reflectors, tau, columns }
    }

    /// R and the reflectors below it.
    pub fn factors(&self) -> &Tensor<T> {
        &self.reflectors
    }

    /// A factor for each reflector, `min(rows, cols)` for each matrix.
    pub fn tau(&self) -> &Tensor<T> {
        &self.tau
    }

    /// With column pivoting: which column of A, counted from 1, became each column of `A * P`. Of matrices without rows
    /// no column is moved, and the tensor is empty.
    pub fn columns(&self) -> Option<&Tensor<i64>> {
        self.columns.as_ref()
    }

    /// The factors, tau, and the columns if they were pivoted.
    pub fn into_parts(self) -> (Tensor<T>, Tensor<T>, Option<Tensor<i64>>) {
        (self.reflectors, self.tau, self.columns)
    }

    /// `op(Q) * C` or `C * op(Q)` (`ormqr`, `unmqr`; `cusolverDn<t>ormqr`, `cusolverDn<t>unmqr`), in the memory of C if it is given
    /// by value. Q is square and has as many rows as A. From the left a C of one axis is a vector.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], with both shapes, when C has another size or batch, or when `trans` is a plain transpose of a complex Q; a stale
    /// or foreign tensor. C comes back.
    pub fn apply<'c>(
        &self,
        solver: &Solver,
        side: Side,
        trans: Transpose,
        c: impl GivenTensor<'c, T>,
    ) -> Submitted<Tensor<T>> {
        self.ormqr(solver, (side, trans), c.into())
    }

    /// The first `min(rows, cols)` columns of Q (`orgqr`, `ungqr`; `cusolverDn<t>orgqr`, `cusolverDn<t>ungqr`), as a new tensor. All
    /// columns are what [`apply`](Self::apply) makes of an identity.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for factors that were put together of parts that do not agree; [`Error::OutOfMemory`] for the
    /// new tensor; a stale or foreign one.
    pub fn q(&self, solver: &Solver) -> Result<PendingDispatch<Tensor<T>>> {
        let (batch, of) = sizes("a", self.reflectors.layout())?;
        let q = solver.new_matrices(batch, of.rows, of.size())?;
        let (a, reflectors) = matrices_of("a", &self.reflectors)?;
        let op = Orgqr { a, q: Matrix::of("q", q.layout())?, _type: PhantomData };
        Ok(solver.submit(op, (reflectors, elements_of("tau", &self.tau)?), (q,))?)
    }

    /// Least squares: the X that makes `||A * X - B||` least, for an A of full rank with at least as many rows as columns, in the
    /// first rows of the memory of B if it is given by value. Below them are the coefficients of the residual. A B of one axis is
    /// a vector.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when A has less rows than columns, or, with both shapes, when B has not as many rows as A, or
    /// another batch; at the wait [`Error::Singular`] if a column is by rounding a combination of those before it, as in
    /// [`Solver::solve`]; use [`Solver::lstsq`] then. B comes back.
    pub fn solve<'b>(&self, solver: &Solver, b: impl GivenTensor<'b, T>) -> Submitted<Solution<T>, Verdict> {
        self.geqrs(solver, b.into())
    }
}
