//! Batches of small LU factorizations, and solutions and inverses from them, at even distances in one buffer or each
//! matrix in a buffer of its own. There is one file each for `getrf`, for `getrs`, and for `getri` with `matinv`. This
//! file has the specification, which they share.

mod getrf;
mod getri;
mod getrs;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use {getrf::Factor, getri::Invert, getrs::Solve};

use super::super::prelude::*;
use super::batch::{Operand, check_int};
use super::spread::Spread;

/// A batch of `n x n` matrices A, and for each a second matrix: the right-hand sides of [`Blas::getrs_batched`], the
/// inverse of [`Blas::getri_batched`] and [`Blas::matinv_batched`] (and of the same routines ending in
/// `_strided_batched`).
///
/// The pivots of matrix `i` are the `n` numbers from `i * n` on: row `r` was swapped with row `pivots[r]`, counted from
/// 1, as in LAPACK. The info of matrix `i` is number `i`: zero, or the index, counted from 1, of a zero on the diagonal
/// of U, which makes the matrix singular: its factors are complete, its inverse is not. No call waits for the infos:
/// they stay on the device like any result.
///
/// Unless set: leading dimensions leave no gaps and each matrix begins where the previous one ends. Matrices in buffers
/// of their own have no distance; a distance that is set is refused. Matrices are column-major: the library sees a
/// row-major A as its transpose, which has different factors. But the inverse of the transpose is the transposed
/// inverse, so `matinv` takes row-major matrices as they are. All sizes must fit 32-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct LuBatch {
    n: usize,
    count: Option<usize>,
    lda: Option<usize>,
    stride_a: Option<usize>,
    ldb: Option<usize>,
    stride_b: Option<usize>,
}

impl LuBatch {
    /// Matrices of `n x n`: one, or as many as there are buffers, unless [`batch`](Self::batch) sets the number.
    pub fn new(n: usize) -> Self {
        LuBatch { n, count: None, lda: None, stride_a: None, ldb: None, stride_b: None }
    }
}

impl LuBatch {
    /// `count` matrices.
    pub fn batch(mut self, count: usize) -> Self {
        self.count = Some(count);
        self
    }

    fn count(&self) -> usize {
        self.count.unwrap_or(1)
    }

    /// Sets the number of matrices to that of their buffers. Keeps another number that was set; the check refuses it.
    fn listed(self, buffers: usize) -> Self {
        self.batch(self.count.unwrap_or(buffers))
    }
}

setters!(LuBatch {
    /// Elements between the columns of A.
    lda: usize;
    /// Elements from one A to the next.
    stride_a: usize;
    /// Elements between the columns of the second matrix.
    ldb: usize;
    /// Elements from one second matrix to the next.
    stride_b: usize;
});

impl LuBatch {
    /// A.
    fn a(&self) -> Operand {
        let ld = self.lda.unwrap_or(self.n.max(1));
        let stride = self.stride_a.unwrap_or(ld.saturating_mul(self.n));
        Operand { name: "a", rows: self.n, cols: self.n, ld, stride }
    }

    /// The second matrix, with this number of columns.
    fn b(&self, name: &'static str, cols: usize) -> Operand {
        let ld = self.ldb.unwrap_or(self.n.max(1));
        Operand { name, rows: self.n, cols, ld, stride: self.stride_b.unwrap_or(ld.saturating_mul(cols)) }
    }

    fn check_sizes<L: Spread>(&self) -> Result<()> {
        check_int("n", self.n)?;
        check_int("count", self.count())?;
        check_int("lda", self.a().ld)?;
        for (name, stride) in [("stride_a", self.stride_a), ("stride_b", self.stride_b)] {
            if let (true, Some(stride)) = (L::LISTED, stride) {
                return Err(Error::invalid(name, format!("{stride}, but each matrix has a buffer of its own")));
            }
        }
        Ok(())
    }

    fn check_pivots(&self, pivots: usize) -> Result<()> {
        let need = self.n.saturating_mul(self.count());
        if pivots >= need {
            return Ok(());
        }
        let what = format!("{pivots} elements, but {} matrices of {} rows need {need}", self.count(), self.n);
        Err(Error::invalid("pivots", what))
    }

    fn check_info(&self, info: usize) -> Result<()> {
        if info >= self.count() {
            return Ok(());
        }
        Err(Error::invalid("info", format!("{info} elements, but there are {} matrices", self.count())))
    }

    /// The cost of the batch: for each matrix, `thirds * n^3 / 3` flops (four times that for complex types), and the
    /// memory traffic of `matrices` matrices.
    fn cost<T: BlasElement>(&self, thirds: u64, matrices: u64) -> Cost {
        let (n, count) = (self.n as u64, self.count() as u64);
        let each = if T::DTYPE.is_complex() { 4 } else { 1 };
        let square = n.saturating_mul(n).saturating_mul(count);
        let flops = square.saturating_mul(n).saturating_mul(thirds * each) / 3;
        Cost { flops, bytes: square.saturating_mul(matrices).saturating_mul(size_of::<T>() as u64) }
    }

    /// Multiply-adds of one matrix.
    #[cfg(feature = "host")]
    fn work(&self) -> usize {
        self.n.saturating_mul(self.n).saturating_mul(self.n)
    }
}

/// Sets the infos of matrices without elements, whose number is not limited, to zero.
#[cfg(feature = "host")]
fn regular(info: &mut [i32], count: usize) -> Result<()> {
    info.iter_mut().take(count).for_each(|info| *info = 0);
    Ok(())
}
