//! The stabilised biconjugate gradient method (van der Vorst 1992).

use super::super::Sparse;
use super::super::element::{SolveElement, SparseIndex};
use super::super::formats::SparseMatrix;
use super::iteration::{Iteration, IterativeSolution, Unsolved};
use super::passes::AtLimit;
use super::precondition::{Preconditioner, factor};
use super::system::{System, unknowns};
use super::watch::{Sent, Verdict, Watch};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::Result;
use crate::device::tensor::{ReadableTensor, WritableTensor};

impl Sparse {
    /// Solves `A * x = b` for a general A by the stabilised biconjugate gradient method with right preconditioning. The
    /// initial guess is `x`. The host waits as in [`cg`](Self::cg).
    ///
    /// # Errors
    /// As [`cg`](Self::cg).
    pub fn bicgstab<'b, T: SolveElement, I: SparseIndex>(
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
    let sparse = system.sparse;
    let mut r = system.residual(&x)?;
    let shadow = sparse.device.duplicated(&r)?;
    let mut p = sparse.device.duplicated(&r)?;
    let mut rho = sparse.inner(&shadow, &r)?;
    while watch.goes_on() {
        if watch.looks() {
            let square = sparse.inner(&r, &r)?;
            if watch.look(Sent::Square(square.as_in()), Some(&x))? == Verdict::Stop {
                break;
            }
        }
        let direction = system.apply(&p)?;
        let v = system.product(&direction)?;
        let along = sparse.inner(&shadow, &v)?;
        let alpha = sparse.quotient((rho.as_in(), along.as_in()), None)?;
        let s = sparse.plus(factor(&alpha, 1)?, &v, r)?;
        x = sparse.plus(factor(&alpha, 0)?, &direction, x)?;
        let smooth = system.apply(&s)?;
        let t = system.product(&smooth)?;
        let (top, bottom) = (sparse.inner(&t, &s)?, sparse.inner(&t, &t)?);
        let omega = sparse.quotient((top.as_in(), bottom.as_in()), None)?;
        x = sparse.plus(factor(&omega, 0)?, &smooth, x)?;
        r = sparse.plus(factor(&omega, 1)?, &t, s)?;
        let next = sparse.inner(&shadow, &r)?;
        let ratio = (factor(&alpha, 0)?, factor(&omega, 0)?);
        let beta = sparse.quotient((next.as_in(), rho.as_in()), Some(ratio))?;
        p = sparse.plus(factor(&omega, 1)?, &v, p)?;
        p = sparse.xpby(&r, factor(&beta, 0)?, p)?;
        rho = next;
        watch.iterations += 1;
    }
    Ok(x)
}
