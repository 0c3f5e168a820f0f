//! The stabilised biconjugate gradient method (van der Vorst 1992).

use super::super::Sparse;
use super::super::element::{SolveElement, SparseIndex};
use super::super::formats::SparseMatrix;
use super::iteration::{Iteration, Solution, Unsolved};
use super::precondition::{Preconditioner, factor};
use super::watch::{Verdict, Watch};
use crate::{DeviceBuffer, GpuRef};

impl Sparse {
    /// Solves `A * x = b` for a general A by the stabilised biconjugate gradient method with right preconditioning. The
    /// initial guess is `x`. The host waits as in [`cg`](Self::cg).
    ///
    /// # Errors
    /// As [`cg`](Self::cg).
    pub fn bicgstab<T: SolveElement, I: SparseIndex>(
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
        let shadow = self.device.duplicate(&r)?.into_output();
        let mut p = self.device.duplicate(&r)?.into_output();
        let mut rho = self.inner(&shadow, &r)?;
        let mut iterations = 0;
        while iterations < how.limit {
            if watch.looks(iterations) && watch.look(iterations, &self.inner(&r, &r)?)? == Verdict::Stop {
                break;
            }
            let direction = m.apply(self, &p)?;
            let v = self.product(a, &direction)?;
            let along = self.inner(&shadow, &v)?;
            let alpha = self.quotient((rho.as_in(), along.as_in()), None)?;
            let s = self.plus(factor(&alpha, 1)?, &v, r)?;
            x = self.plus(factor(&alpha, 0)?, &direction, x)?;
            let smooth = m.apply(self, &s)?;
            let t = self.product(a, &smooth)?;
            let (top, bottom) = (self.inner(&t, &s)?, self.inner(&t, &t)?);
            let omega = self.quotient((top.as_in(), bottom.as_in()), None)?;
            x = self.plus(factor(&omega, 0)?, &smooth, x)?;
            r = self.plus(factor(&omega, 1)?, &t, s)?;
            let next = self.inner(&shadow, &r)?;
            let ratio = (factor(&alpha, 0)?, factor(&omega, 0)?);
            let beta = self.quotient((next.as_in(), rho.as_in()), Some(ratio))?;
            p = self.plus(factor(&omega, 1)?, &v, p)?;
            p = self.xpby(&r, factor(&beta, 0)?, p)?;
            rho = next;
            iterations += 1;
        }
        let residual = self.inner(&r, &r)?;
        watch.end(iterations, &residual, x)
    }
}
