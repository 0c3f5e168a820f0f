//! The minimal residual method for symmetric matrices (Paige and Saunders 1975).

use super::super::Sparse;
use super::super::element::{SolveElement, SparseIndex};
use super::super::formats::SparseMatrix;
use super::iteration::{Iteration, Solution, Unsolved};
use super::precondition::{Preconditioner, factor};
use super::scalars::{Stage, state};
use super::watch::{Verdict, Watch};
use crate::{DeviceBuffer, Error, GpuRef};

impl Sparse {
    /// Solves `A * x = b` for a symmetric or Hermitian A, which may be indefinite, by the minimal residual method. The
    /// initial guess is `x`. The preconditioner must be positive definite; residuals are measured in the norm of its
    /// inverse. The host waits as in [`cg`](Self::cg).
    ///
    /// # Errors
    /// As [`cg`](Self::cg).
    pub fn minres<T: SolveElement, I: SparseIndex>(
        &self,
        a: &impl SparseMatrix<T, I>,
        m: &Preconditioner<T, I>,
        b: &GpuRef<T>,
        mut x: DeviceBuffer<T>,
        how: &Iteration,
    ) -> Result<Solution<T>, Unsolved<T>> {
        let (device, blas) = (&self.device, self.device.blas());
        let norm = self.begin(a, b, &x)?;
        if norm == 0.0 {
            let x = device.fill(x, T::default())?.into_output();
            return Ok(Solution { x, iterations: 0, residual: 0.0, history: Vec::new() });
        }
        let copy = device.duplicate(b)?.into_output();
        let seen = m.apply(self, &copy)?;
        let square = blas.dotc(&copy, &seen)?.await_result().map_err(Error::from)?;
        let mut watch = Watch::new(self, how, square.re().abs().sqrt(), false);

        let mut newer = self.residual(a, &x, b)?;
        let mut older = device.zeros(x.len())?;
        let mut y = m.apply(self, &newer)?;
        let mut scalars = device.zeros(state::LEN)?;
        scalars = self.lanczos(Stage::Begin, &self.inner(&newer, &y)?, scalars)?;
        // The directions of the last two iterations.
        let (mut w, mut before) = (device.zeros(x.len())?, device.zeros(x.len())?);
        let mut iterations = 0;
        while iterations < how.limit {
            if watch.looks(iterations) {
                let residual = device.duplicate(factor(&scalars, state::RESIDUAL)?)?.into_output();
                if watch.look(iterations, &residual)? == Verdict::Stop {
                    break;
                }
            }
            let v = blas.scal_at(factor(&scalars, state::INVERSE)?, y)?.into_output();
            y = self.product(a, &v)?;
            y = self.plus(factor(&scalars, state::BACK)?, &older, y)?;
            let alpha = self.inner(&v, &y)?;
            scalars = self.lanczos(Stage::Alpha, &alpha, scalars)?;
            y = self.plus(factor(&scalars, state::ALPHA)?, &newer, y)?;
            (older, newer) = (newer, y);
            y = m.apply(self, &newer)?;
            scalars = self.lanczos(Stage::Beta, &self.inner(&newer, &y)?, scalars)?;
            let mut next = self.plus(factor(&scalars, state::EPSILON)?, &before, v)?;
            next = self.plus(factor(&scalars, state::DELTA)?, &w, next)?;
            next = blas.scal_at(factor(&scalars, state::GAMMA)?, next)?.into_output();
            x = self.plus(factor(&scalars, state::PHI)?, &next, x)?;
            (before, w) = (w, next);
            iterations += 1;
        }
        let residual = device.duplicate(factor(&scalars, state::RESIDUAL)?)?.into_output();
        watch.end(iterations, &residual, x)
    }
}
