//! The conjugate gradient method (Hestenes and Stiefel 1952).

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
    /// Solves `A * x = b` for a positive definite (symmetric or Hermitian) A by the preconditioned conjugate gradient
    /// method. b and x are tensors of one axis, whose elements must be neighbours. The initial guess is `x`. The host waits for the norms of A, of b and of the first residual before the
    /// first iteration, and for the residual of the result. In between it waits only for residuals that were sent to it
    /// `every` iterations earlier.
    ///
    /// A solution is returned only if its residual, computed from x at the end, is small enough:
    /// [`Iteration::tolerance`] says how small. The right-hand side, and A if it needs it, are scaled by powers of two,
    /// so that inner products neither overflow nor underflow. Singular systems that have a solution are solved.
    ///
    /// # Errors
    /// [`Unsolved::NotConverged`] with the last iterate, also for a system without a solution; [`Unsolved::Broken`] if
    /// the residual becomes NaN because A or the preconditioner is not positive definite, or is not finite;
    /// [`Unsolved::Failed`] if sizes do not fit, elements are not neighbours, or an operation fails.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, sparse::Iteration};
    /// let device = Device::host()?;
    /// let sparse = device.sparse();
    /// let a = sparse.upload_csr(2, 2, &[0, 2, 4], &[0, 1, 0, 1], &[4.0f64, 1.0, 1.0, 3.0])?;
    /// let b = device.tensor([2], [1.0f64, 2.0])?;
    /// let solution = sparse.cg(&a, &sparse.jacobi(&a)?, &b, device.zeros([2])?, &Iteration::new())?;
    /// let x = device.to_vec(&solution.x)?;
    /// assert!((x[0] - 1.0 / 11.0).abs() < 1e-7 && (x[1] - 7.0 / 11.0).abs() < 1e-7);
    /// # Ok(()) }
    /// ```
    pub fn cg<'b, T: SolveElement, I: SparseIndex>(
        &self,
        a: &impl SparseMatrix<T, I>,
        m: &Preconditioner<T, I>,
        b: impl ReadableTensor<'b, T>,
        x: impl WritableTensor<T>,
        how: &Iteration,
    ) -> Result<IterativeSolution<T>, Unsolved<T>> {
        let b = b.into();
        self.by_passes((a, m), unknowns(&b, x.into())?, (how, AtLimit::Last), pass)
    }
}

fn pass<T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>>(
    system: &System<'_, T, I, A>,
    mut x: DeviceBuffer<T>,
    watch: &mut Watch<'_, T>,
) -> Result<DeviceBuffer<T>> {
    let sparse = system.sparse;
    let mut r = system.residual(&x)?;
    let mut z = system.apply(&r)?;
    let mut p = sparse.device.duplicated(&z)?;
    let mut rz = sparse.inner(&r, &z)?;
    while watch.goes_on() {
        if watch.looks() {
            let square = sparse.inner(&r, &r)?;
            if watch.look(Sent::Square(square.as_in()), Some(&x))? == Verdict::Stop {
                break;
            }
        }
        let q = system.product(&p)?;
        let curvature = sparse.inner(&p, &q)?;
        let alpha = sparse.quotient((rz.as_in(), curvature.as_in()), None)?;
        x = sparse.plus(factor(&alpha, 0)?, &p, x)?;
        r = sparse.plus(factor(&alpha, 1)?, &q, r)?;
        drop(z);
        z = system.apply(&r)?;
        let next = sparse.inner(&r, &z)?;
        let beta = sparse.quotient((next.as_in(), rz.as_in()), None)?;
        p = sparse.xpby(&z, factor(&beta, 0)?, p)?;
        rz = next;
        watch.iterations += 1;
    }
    Ok(x)
}
