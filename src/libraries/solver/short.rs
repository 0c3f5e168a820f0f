//! The calls that programs make most, on the device itself.

use super::prelude::*;
use super::{Eigh, EighSpec, Inverse, Solved, Structure, Svd, Vectors};
use crate::core::dispatch::PendingDispatch;
use crate::core::op::Verdict;
use crate::device::Device;

/// Dense linear algebra.
impl Device {
    /// Solves `A * X = B` by LU, or by QR if A is not square: [`Solver::solve`] with [`Structure::General`].
    ///
    /// # Errors
    /// As there.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (a, b) = (device.tensor([2, 2], [3.0, 1.0, 1.0, 2.0])?, device.tensor([2], [9.0, 8.0])?);
    /// let x = device.solve(&a, &b)?.await_result()?.x;
    /// assert!(device.allclose(&x, &device.tensor([2], [2.0, 3.0])?, 1e-14, 0.0)?);
    /// # Ok(()) }
    /// ```
    pub fn solve<'a, 'b, T: SolverElement>(
        &self,
        a: impl GivenTensor<'a, T>,
        b: impl GivenTensor<'b, T>,
    ) -> Submitted<Solved<T>, Verdict> {
        self.solver().solve(Structure::General, a, b)
    }

    /// The inverse of each matrix: [`Solver::inverse`].
    ///
    /// # Errors
    /// As there.
    pub fn inverse<'a, T: SolverElement>(
        &self,
        a: impl GivenTensor<'a, T>,
    ) -> Result<PendingDispatch<Inverse<T>, Verdict>> {
        self.solver().inverse(a)
    }

    /// Singular values and vectors: [`Solver::svd`].
    ///
    /// # Errors
    /// As there.
    pub fn svd<'a, T: SolverElement>(
        &self,
        vectors: Vectors,
        a: impl GivenTensor<'a, T>,
    ) -> Submitted<Svd<T>, Verdict> {
        self.solver().svd(vectors, a)
    }

    /// All eigenvalues and vectors of symmetric or Hermitian matrices that are given by this triangle: [`Solver::eigh`].
    ///
    /// # Errors
    /// As there.
    pub fn eigh<'a, T: SolverElement>(&self, uplo: Uplo, a: impl GivenTensor<'a, T>) -> Submitted<Eigh<T>, Verdict> {
        self.solver().eigh(EighSpec::new(uplo), a)
    }
}
