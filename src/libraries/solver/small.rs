//! What is done with small matrices by kernels and loops of our own, in f32 and f64, which take many matrices at once and have the same
//! bits: QR of at most 64 rows and columns; systems, eigenvalues and singular values of at most 32. They are chosen by the
//! operation, the sizes and the type, never by how many matrices there are, so a matrix has the same bits alone and in a batch.
//!
//! | operation | kernel | host half |
//! |---|---|---|
//! | QR, Q, products with Q, least squares | `small_qr` | `host/small/steps` |
//! | systems by LU | `small_lu` | `host/small/lu` |
//! | eigenvalues, singular values | `small_spectra` | `host/small/spectra` |

#[cfg(test)]
#[cfg(all(feature = "cuda", feature = "host"))]
mod spectra_tests;
pub(super) mod systems;
#[cfg(test)]
#[cfg(all(feature = "cuda", feature = "host"))]
mod tests;

use super::matrix::Matrix;
use crate::core::element::{DType, Element};

/// The most rows, and columns; those of QR.
const MOST: usize = 32;
const MOST_QR: usize = 64;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// `geqrf`.
    Factor,
    /// The first columns of Q into B: `orgqr`.
    Generate,
    /// `op(Q) * B`: `ormqr` from the left.
    Multiply {
        /// `Q^T` rather than Q.
        adjoint: bool,
    },
    /// Least squares from the factors.
    Solve,
    /// Factors and least squares, or the solution of least norm of a wide matrix, whose memory stays as it was.
    Least,
}

/// What is done with each matrix, and how it lies in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) task: Task,
    /// Of A as it lies in memory.
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Columns of B, which has `max(rows, cols)` rows if A is solved, else those of A.
    pub(super) right: usize,
    /// Reflectors that are made, or used.
    pub(super) reflectors: usize,
    pub(super) lda: usize,
    pub(super) ldb: usize,
    /// From the tau of one matrix to that of the next.
    pub(super) step_tau: usize,
}

/// Whether matrices of these sizes have a kernel and loops of their own.
pub(super) fn fits<T: Element>(sizes: &[usize]) -> bool {
    matches!(T::DTYPE, DType::F32 | DType::F64) && sizes.iter().all(|size| *size <= MOST)
}

/// The same for QR, and for what is made of its factors.
pub(super) fn fits_qr<T: Element>(sizes: &[usize]) -> bool {
    matches!(T::DTYPE, DType::F32 | DType::F64) && sizes.iter().all(|size| *size <= MOST_QR)
}

impl Job {
    /// For matrices A, with as many reflectors as they have, and without a B.
    pub(super) fn new(task: Task, a: &Matrix) -> Self {
        let (reflectors, lda) = (a.size(), a.leading());
        Job { task, rows: a.rows, cols: a.cols, right: 0, reflectors, lda, ldb: 1, step_tau: reflectors }
    }

    /// With a B beside each.
    pub(super) fn beside(self, b: &Matrix) -> Self {
        Job { right: b.cols, ldb: b.leading(), ..self }
    }

    /// With no more than so many of the reflectors.
    pub(super) fn first(self, reflectors: usize) -> Self {
        Job { cols: reflectors, reflectors, ..self }
    }

    /// Whether the adjoint is factored: of a system with fewer equations than unknowns.
    pub(super) fn is_wide(&self) -> bool {
        self.task == Task::Least && self.rows < self.cols
    }

    /// Rows and columns of what is factored.
    pub(super) fn factored(&self) -> (usize, usize) {
        if self.is_wide() { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    /// Elements of what is factored, and of B.
    pub(super) fn elements(&self) -> usize {
        let (m, n) = self.factored();
        m * (n + self.right)
    }

    /// Multiplications and additions for one matrix, about.
    pub(super) fn work(&self) -> usize {
        self.elements().saturating_mul(2 * self.reflectors.max(1))
    }
}
