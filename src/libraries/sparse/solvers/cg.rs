//! The conjugate gradient method (Hestenes and Stiefel 1952).

use super::super::Sparse;
use super::super::element::{SolveElement, SparseIndex};
use super::super::formats::SparseMatrix;
use super::iteration::{Iteration, Solution, Unsolved};
use super::precondition::{Preconditioner, factor};
use super::watch::{Verdict, Watch};
use crate::{DeviceBuffer, GpuRef};

impl Sparse {
    /// Solves `A * x = b` for a positive definite (symmetric or Hermitian) A by the preconditioned conjugate gradient
    /// method. The initial guess is `x`. The host waits twice before the first iteration. After that it waits only for
    /// residuals that were sent to it `every` iterations earlier.
    ///
    /// # Errors
    /// [`Unsolved::NotConverged`] with the last iterate; [`Unsolved::Broken`] if the residual becomes NaN because A or
    /// the preconditioner is not positive definite; [`Unsolved::Failed`] if sizes do not fit or an operation fails.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, sparse::Iteration};
    /// let device = Device::host()?;
    /// let sparse = device.sparse();
    /// let a = sparse.upload_csr(2, 2, &[0, 2, 4], &[0, 1, 0, 1], &[4.0f64, 1.0, 1.0, 3.0])?;
    /// let b = device.upload([1.0f64, 2.0])?.into_output().share();
    /// let solution = sparse.cg(&a, &sparse.jacobi(&a)?, &b, device.zeros(2)?, &Iteration::new())?;
    /// let x = device.download(&solution.x)?.await_result()?;
    /// assert!((x[0] - 1.0 / 11.0).abs() < 1e-7 && (x[1] - 7.0 / 11.0).abs() < 1e-7);
    /// # Ok(()) }
    /// ```
    pub fn cg<T: SolveElement, I: SparseIndex>(
        &self,
        a: &impl SparseMatrix<T, I>,
        m: &Preconditioner<T, I>,
        b: &GpuRef<T>,
        mut x: DeviceBuffer<T>,
        how: &Iteration,
    ) -> Result<Solution<T>, Unsolved<T>> {
        let norm = self.begin(a, b, &x)?;
        if norm == 0.0 {
            let x = self.device.fill(x, T::default())?.into_output();
            return Ok(Solution { x, iterations: 0, residual: 0.0, history: Vec::new() });
        }
        let mut watch = Watch::new(self, how, norm, true);
        let mut r = self.residual(a, &x, b)?;
        let mut z = m.apply(self, &r)?;
        let mut p = self.device.duplicate(&z)?.into_output();
        let mut rz = self.inner(&r, &z)?;
        let mut iterations = 0;
        while iterations < how.limit {
            if watch.looks(iterations) && watch.look(iterations, &self.inner(&r, &r)?)? == Verdict::Stop {
                break;
            }
            let q = self.product(a, &p)?;
            let curvature = self.inner(&p, &q)?;
            let alpha = self.quotient((rz.as_in(), curvature.as_in()), None)?;
            x = self.plus(factor(&alpha, 0)?, &p, x)?;
            r = self.plus(factor(&alpha, 1)?, &q, r)?;
            drop(z);
            z = m.apply(self, &r)?;
            let next = self.inner(&r, &z)?;
            let beta = self.quotient((next.as_in(), rz.as_in()), None)?;
            p = self.xpby(&z, factor(&beta, 0)?, p)?;
            rz = next;
            iterations += 1;
        }
        let residual = self.inner(&r, &r)?;
        watch.end(iterations, &residual, x)
    }
}
