//! The generalised minimal residual method (Saad and Schultz 1986), restarted.

use super::super::Sparse;
use super::super::element::{SolveElement, SparseIndex};
use super::super::formats::SparseMatrix;
use super::basis::{residual_at, state_len};
use super::iteration::{Iteration, IterativeSolution, Unsolved};
use super::passes::AtLimit;
use super::precondition::{Preconditioner, factor};
use super::system::{System, unknowns};
use super::watch::{Sent, Verdict, Watch};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::Result;
use crate::device::tensor::{ReadableTensor, WritableTensor};

impl Sparse {
    /// Solves `A * x = b` for a general A by the generalised minimal residual method with right preconditioning. The
    /// initial guess is `x`. A new basis begins after every [`restart`](Iteration::restart) iterations. Two passes of
    /// classical Gram-Schmidt make the basis orthogonal; their inner products and the least-squares problem stay on the
    /// device. The host waits as in [`cg`](Self::cg).
    ///
    /// # Errors
    /// As [`cg`](Self::cg).
    pub fn gmres<'b, T: SolveElement, I: SparseIndex>(
        &self,
        a: &impl SparseMatrix<T, I>,
        m: &Preconditioner<T, I>,
        b: impl ReadableTensor<'b, T>,
        x: impl WritableTensor<T>,
        how: &Iteration,
    ) -> Result<IterativeSolution<T>, Unsolved<T>> {
        let b = b.into();
        // More vectors than the matrix has rows, or than there will be iterations, are never used.
        let restart = how.restart.min(b.len()).min(how.limit).max(1);
        self.by_passes((a, m), unknowns(&b, x.into())?, (how, AtLimit::Best), |system, mut x, watch| {
            let mut verdict = Verdict::GoOn;
            while verdict == Verdict::GoOn && watch.goes_on() {
                (x, verdict) = cycle(system, x, restart, watch)?;
            }
            Ok(x)
        })
    }
}

/// One restart cycle.
fn cycle<T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>>(
    system: &System<'_, T, I, A>,
    x: DeviceBuffer<T>,
    restart: usize,
    watch: &mut Watch<'_, T>,
) -> Result<(DeviceBuffer<T>, Verdict)> {
    let (sparse, device) = (system.sparse, &system.sparse.device);
    let blas = device.blas();
    let r = system.residual(&x)?;
    let square = sparse.inner(&r, &r)?;
    let mut state = device.zeroed(state_len(restart))?;
    state = sparse.rotate((restart, None), (&square, &square, &square), state)?;
    let place = residual_at(restart);
    let mut basis = vec![blas.scal(factor(&state, place + 1)?, r)?.into_buffer()];
    let (mut verdict, mut columns) = (Verdict::GoOn, 0);
    while columns < restart && watch.goes_on() {
        if watch.looks() {
            // The reciprocal of the norm of the new vector is zero if the method has broken down.
            verdict = watch.look(Sent::Norm(factor(&state, place)?, factor(&state, place + 1)?), None)?;
            if verdict == Verdict::Stop {
                break;
            }
        }
        let Some(last) = basis.last() else { break };
        let seen = system.apply(last)?;
        let mut w = system.product(&seen)?;
        let h = sparse.dots(&basis, &w, device.zeroed(columns + 1)?)?;
        w = sparse.combine(-T::ONE, (&basis, &h), w)?;
        let again = sparse.dots(&basis, &w, device.zeroed(columns + 1)?)?;
        w = sparse.combine(-T::ONE, (&basis, &again), w)?;
        let square = sparse.inner(&w, &w)?;
        state = sparse.rotate((restart, Some(columns)), (&h, &again, &square), state)?;
        basis.push(blas.scal(factor(&state, place + 1)?, w)?.into_buffer());
        columns += 1;
        watch.iterations += 1;
    }
    if columns == 0 {
        return Ok((x, verdict));
    }
    let y = sparse.coefficients(restart, columns, &state)?;
    basis.truncate(columns);
    let step = sparse.combine(T::ONE, (&basis, &y), device.zeroed(x.len())?)?;
    Ok((blas.axpy(T::ONE, &system.apply(&step)?, x)?.into_buffer(), verdict))
}
