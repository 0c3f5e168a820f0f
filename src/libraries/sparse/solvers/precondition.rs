//! Preconditioners: approximate inverses with which an iteration converges sooner.

use super::super::element::{SolveElement, SparseIndex};
use super::super::{Csr, Sparse, SparseTriangular, Spmv};
use crate::core::buffer::{DeviceBuffer, GpuRef};
use crate::core::error::Result;
use crate::libraries::flags::{Diag, Transpose, Uplo};

/// An approximation of the inverse of a matrix. It is made once and applied in each iteration, without a wait.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Preconditioner<T: SolveElement, I: SparseIndex = i32> {
    /// None: the identity.
    Identity,
    /// The reciprocals of the diagonal, and one where the diagonal is zero.
    Jacobi(GpuRef<T>),
    /// A solve with a lower triangle, then with an upper one: [`Sparse::ilu0_preconditioner`],
    /// [`Sparse::ic0_preconditioner`].
    Triangles(Box<[SparseTriangular<T, I>; 2]>),
    /// The sum of the powers of `1 - D^-1 * A` from 0 to `degree`, times `D^-1`: some steps of the Jacobi iteration.
    Polynomial {
        /// The matrix.
        a: Csr<T, I>,
        /// The reciprocals of its diagonal.
        inverse: GpuRef<T>,
        /// The highest power.
        degree: usize,
    },
}

impl<T: SolveElement, I: SparseIndex> Preconditioner<T, I> {
    /// `z = M^-1 * r`.
    pub(super) fn apply(&self, sparse: &Sparse, r: &DeviceBuffer<T>) -> Result<DeviceBuffer<T>> {
        let device = &sparse.device;
        let fresh = || device.unwritten(r.len());
        match self {
            Preconditioner::Identity => Ok(device.duplicated(r)?),
            Preconditioner::Jacobi(inverse) => sparse.times(inverse.as_in(), r.as_in(), fresh()?),
            Preconditioner::Triangles(pair) => {
                let [lower, upper] = &**pair;
                let half = sparse.spsv(lower, T::ONE, r, fresh()?)?;
                Ok(sparse.spsv(upper, T::ONE, &half, fresh()?)?.into_buffer())
            }
            Preconditioner::Polynomial { a, inverse, degree } => {
                let mut z = sparse.times(inverse.as_in(), r.as_in(), fresh()?)?;
                for _ in 0..*degree {
                    let rest = device.duplicated(r)?;
                    let rest = sparse.spmv(Spmv::new().alpha(-T::ONE).beta(T::ONE), a, &z, rest)?.into_buffer();
                    let step = sparse.times(inverse.as_in(), rest.as_in(), fresh()?)?;
                    z = device.blas().axpy(T::ONE, &step, z)?.into_buffer();
                }
                Ok(z)
            }
        }
    }
}

impl Sparse {
    /// The Jacobi preconditioner: the reciprocals of A's diagonal, and one where the diagonal is zero, so that it never
    /// hides a row.
    ///
    /// # Errors
    /// A stale or foreign matrix; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn jacobi<T: SolveElement, I: SparseIndex>(&self, a: &Csr<T, I>) -> Result<Preconditioner<T, I>> {
        Ok(Preconditioner::Jacobi(self.reciprocal(self.diagonal(a, 0)?.into_buffer())?.share()))
    }

    /// [`ilu0`](Self::ilu0) as a preconditioner, for general matrices.
    ///
    /// # Errors
    /// As [`ilu0`](Self::ilu0).
    pub fn ilu0_preconditioner<T: SolveElement, I: SparseIndex>(&self, a: &Csr<T, I>) -> Result<Preconditioner<T, I>> {
        let factors = self.ilu0(a)?;
        let lower = self.triangular(&factors, Uplo::Lower, Diag::Unit, Transpose::No)?;
        let upper = self.triangular(&factors, Uplo::Upper, Diag::NonUnit, Transpose::No)?;
        Ok(Preconditioner::Triangles(Box::new([lower, upper])))
    }

    /// [`ic0`](Self::ic0) as a preconditioner, for positive definite matrices.
    ///
    /// # Errors
    /// As [`ic0`](Self::ic0).
    pub fn ic0_preconditioner<T: SolveElement, I: SparseIndex>(&self, a: &Csr<T, I>) -> Result<Preconditioner<T, I>> {
        let factor = self.ic0(a)?;
        let lower = self.triangular(&factor, Uplo::Lower, Diag::NonUnit, Transpose::No)?;
        let upper = self.triangular(&factor, Uplo::Lower, Diag::NonUnit, Transpose::Conjugate)?;
        Ok(Preconditioner::Triangles(Box::new([lower, upper])))
    }

    /// The sum of the powers of `1 - D^-1 * A` from 0 to `degree`, times `D^-1`, where D is the diagonal of A. It needs
    /// only matrix products, so it suits GPUs. The sum converges for diagonally dominant matrices.
    ///
    /// # Errors
    /// As [`jacobi`](Self::jacobi).
    pub fn polynomial<T: SolveElement, I: SparseIndex>(
        &self,
        a: &Csr<T, I>,
        degree: usize,
    ) -> Result<Preconditioner<T, I>> {
        let inverse = self.reciprocal(self.diagonal(a, 0)?.into_buffer())?.share();
        Ok(Preconditioner::Polynomial { a: a.clone(), inverse, degree })
    }

    /// The inner product `x^H * y`, left on the device.
    pub(super) fn inner<T: SolveElement>(&self, x: &DeviceBuffer<T>, y: &DeviceBuffer<T>) -> Result<DeviceBuffer<T>> {
        Ok(self.device.blas().dotc_into(x, y, self.device.unwritten(1)?)?.into_buffer())
    }

    /// `y + s * x`, with s in device memory.
    pub(super) fn plus<T: SolveElement>(
        &self,
        s: crate::core::buffer::In<'_, T>,
        x: &DeviceBuffer<T>,
        y: DeviceBuffer<T>,
    ) -> Result<DeviceBuffer<T>> {
        Ok(self.device.blas().axpy(s, x, y)?.into_buffer())
    }
}

/// One scalar of a buffer of factors: `place` is 0 or 1.
pub(super) fn factor<T: SolveElement>(q: &DeviceBuffer<T>, place: usize) -> Result<crate::core::buffer::In<'_, T>> {
    q.as_in().slice(place..place + 1)
}
