//! The generalised minimal residual method (Saad and Schultz 1986), restarted.

use super::super::Sparse;
use super::super::element::{SolveElement, SparseIndex};
use super::super::formats::SparseMatrix;
use super::basis::{residual_at, state_len};
use super::iteration::{Iteration, Solution, Unsolved};
use super::precondition::{Preconditioner, factor};
use super::watch::{Verdict, Watch};
use crate::{DeviceBuffer, GpuRef, Result};

/// The result of one restart cycle.
struct Cycle<T: SolveElement> {
    x: DeviceBuffer<T>,
    /// The norm of the residual, computed by the recurrence.
    residual: DeviceBuffer<T>,
    verdict: Verdict,
}

impl Sparse {
    /// Solves `A * x = b` for a general A by the generalised minimal residual method with right preconditioning. The
    /// initial guess is `x`. A new basis begins after every [`restart`](Iteration::restart) iterations. Two passes of
    /// classical Gram-Schmidt make the basis orthogonal; their inner products and the least-squares problem stay on the
    /// device. The host waits as in [`cg`](Self::cg).
    ///
    /// # Errors
    /// As [`cg`](Self::cg).
    pub fn gmres<T: SolveElement, I: SparseIndex>(
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
        let mut watch = Watch::new(self, how, norm, false);
        let mut iterations = 0;
        loop {
            let cycle = self.cycle((a, m), b, x, how, &mut watch, &mut iterations)?;
            x = cycle.x;
            if cycle.verdict == Verdict::Stop || iterations >= how.limit {
                return watch.end(iterations, &cycle.residual, x);
            }
        }
    }

    fn cycle<T: SolveElement, I: SparseIndex>(
        &self,
        (a, m): (&impl SparseMatrix<T, I>, &Preconditioner<T, I>),
        b: &GpuRef<T>,
        x: DeviceBuffer<T>,
        how: &Iteration,
        watch: &mut Watch<'_, T>,
        iterations: &mut usize,
    ) -> Result<Cycle<T>> {
        let (device, blas, restart) = (&self.device, self.device.blas(), how.restart.max(1));
        let r = self.residual(a, &x, b)?;
        let square = self.inner(&r, &r)?;
        let mut state = device.zeros(state_len(restart))?;
        state = self.rotate((restart, None), (&square, &square, &square), state)?;
        let place = residual_at(restart);
        let mut basis = vec![blas.scal_at(factor(&state, place + 1)?, r)?.into_output()];
        let (mut verdict, mut columns) = (Verdict::GoOn, 0);
        while columns < restart && *iterations < how.limit {
            if watch.looks(*iterations) {
                let residual = device.duplicate(factor(&state, place)?)?.into_output();
                verdict = watch.look(*iterations, &residual)?;
                if verdict == Verdict::Stop {
                    break;
                }
            }
            let Some(last) = basis.last() else { break };
            let seen = m.apply(self, last)?;
            let mut w = self.product(a, &seen)?;
            let h = self.dots(&basis, &w, device.zeros(columns + 1)?)?;
            w = self.combine(-T::ONE, (&basis, &h), w)?;
            let again = self.dots(&basis, &w, device.zeros(columns + 1)?)?;
            w = self.combine(-T::ONE, (&basis, &again), w)?;
            let square = self.inner(&w, &w)?;
            state = self.rotate((restart, Some(columns)), (&h, &again, &square), state)?;
            basis.push(blas.scal_at(factor(&state, place + 1)?, w)?.into_output());
            columns += 1;
            *iterations += 1;
        }
        let residual = device.duplicate(factor(&state, place)?)?.into_output();
        let x = if columns == 0 {
            x
        } else {
            let y = self.coefficients(restart, columns, &state)?;
            basis.truncate(columns);
            let step = self.combine(T::ONE, (&basis, &y), device.zeros(x.len())?)?;
            blas.axpy(T::ONE, &m.apply(self, &step)?, x)?.into_output()
        };
        Ok(Cycle { x, residual, verdict })
    }
}
