//! The minimal residual method for symmetric matrices (Paige and Saunders 1975).

use super::super::Sparse;
use super::super::element::{SolveElement, SparseIndex};
use super::super::formats::SparseMatrix;
use super::iteration::{Iteration, IterativeSolution, Unsolved};
use super::passes::AtLimit;
use super::precondition::{Preconditioner, factor};
use super::scalars::{Stage, state};
use super::system::{System, unknowns};
use super::watch::{Sent, Verdict, Watch};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::Result;
use crate::device::tensor::{ReadableTensor, WritableTensor};

impl Sparse {
    /// Solves `A * x = b` for a symmetric or Hermitian A, which may be indefinite, by the minimal residual method. The
    /// initial guess is `x`. The preconditioner must be positive definite; residuals are measured in the norm of its
    /// inverse. The host waits as in [`cg`](Self::cg).
    ///
    /// # Errors
    /// As [`cg`](Self::cg).
    pub fn minres<'b, T: SolveElement, I: SparseIndex>(
        &self,
        a: &impl SparseMatrix<T, I>,
        m: &Preconditioner<T, I>,
        b: impl ReadableTensor<'b, T>,
        x: impl WritableTensor<T>,
        how: &Iteration,
    ) -> Result<IterativeSolution<T>, Unsolved<T>> {
        let b = b.into();
        self.by_passes((a, m), unknowns(&b, x.into())?, (how, AtLimit::Best), pass)
    }
}

fn pass<T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>>(
    system: &System<'_, T, I, A>,
    mut x: DeviceBuffer<T>,
    watch: &mut Watch<'_, T>,
) -> Result<DeviceBuffer<T>> {
    let (sparse, device) = (system.sparse, &system.sparse.device);
    let blas = device.blas();
    // The norm of b in which this method measures residuals.
    let copy = device.duplicated(system.b())?;
    let square = blas.dotc(&copy, &system.apply(&copy)?)?.await_result()?;
    watch.begin(square.re().abs().sqrt());

    let mut newer = system.residual(&x)?;
    let mut older = device.zeroed(x.len())?;
    let mut y = system.apply(&newer)?;
    let mut scalars = device.zeroed(state::LEN)?;
    scalars = sparse.lanczos(Stage::Begin, &sparse.inner(&newer, &y)?, scalars)?;
    // The directions of the last two iterations.
    let (mut w, mut before) = (device.zeroed(x.len())?, device.zeroed(x.len())?);
    while watch.goes_on() {
        if watch.looks() {
            let sent = Sent::Norm(factor(&scalars, state::RESIDUAL)?, factor(&scalars, state::INVERSE)?);
            if watch.look(sent, Some(&x))? == Verdict::Stop {
                break;
            }
        }
        let v = blas.scal(factor(&scalars, state::INVERSE)?, y)?.into_buffer();
        y = system.product(&v)?;
        y = sparse.plus(factor(&scalars, state::BACK)?, &older, y)?;
        let alpha = sparse.inner(&v, &y)?;
        scalars = sparse.lanczos(Stage::Alpha, &alpha, scalars)?;
        y = sparse.plus(factor(&scalars, state::ALPHA)?, &newer, y)?;
        (older, newer) = (newer, y);
        y = system.apply(&newer)?;
        scalars = sparse.lanczos(Stage::Beta, &sparse.inner(&newer, &y)?, scalars)?;
        let mut next = sparse.plus(factor(&scalars, state::EPSILON)?, &before, v)?;
        next = sparse.plus(factor(&scalars, state::DELTA)?, &w, next)?;
        next = blas.scal(factor(&scalars, state::GAMMA)?, next)?.into_buffer();
        x = sparse.plus(factor(&scalars, state::PHI)?, &next, x)?;
        (before, w) = (w, next);
        watch.iterations += 1;
    }
    Ok(x)
}
