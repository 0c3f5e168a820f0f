//! Many small LU factorizations, and solutions and inverses from them, at even distances in one buffer or each matrix in
//! a buffer of its own: a file each for `getrf`, `getrs`, and `getri` with `matinv`. Here is what they share, the
//! specification.

mod getrf;
mod getri;
mod getrs;

#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(super) use {getrf::Factor, getri::Invert, getrs::Solve};

use super::super::prelude::*;
use super::batch::{Operand, check_int};
use super::spread::Spread;

/// A batch of `n x n` matrices A, and beside each a second matrix: the right sides of [`Blas::getrs_batched`], the inverse
/// of [`Blas::getri_batched`] and [`Blas::matinv_batched`] (and of the same routines ending in `_strided_batched`).
///
/// The pivots of matrix `i` are the `n` numbers from `i * n` on: row `r` was swapped with row `pivots[r]`, counted from 1,
/// as LAPACK has it. The info of matrix `i` is number `i`: zero, or the place, counted from 1, of a zero on the diagonal of
/// U, which makes the matrix singular: its factors are complete, its inverse is not. Nothing waits to look at them: they
/// stay on the device like any result.
///
/// Unless set: leading dimensions leave no gaps and each matrix begins where the one before it ends. Matrices in buffers
/// of their own have no distance, and one that is set is refused. Matrices are column-major: a row-major A is the transpose of
/// what the library sees, whose factors are others. Its inverse is the transposed inverse, so `matinv` takes row-major matrices
/// as they are. All sizes fit 32-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Lu {
    n: usize,
    count: Option<usize>,
    lda: Option<usize>,
    stride_a: Option<usize>,
    ldb: Option<usize>,
    stride_b: Option<usize>,
}

impl Lu {
    /// Matrices of `n x n`: one, or as many as there are buffers; [`batch`](Self::batch) says another number.
    pub fn new(n: usize) -> Self {
        Lu { n, count: None, lda: None, stride_a: None, ldb: None, stride_b: None }
    }
}

impl Lu {
    /// `count` matrices.
    pub fn batch(mut self, count: usize) -> Self {
        self.count = Some(count);
        self
    }

    fn count(&self) -> usize {
        self.count.unwrap_or(1)
    }

    /// Of `buffers` matrices in buffers of their own, unless another number is set, which the check refuses.
    fn listed(self, buffers: usize) -> Self {
        self.batch(self.count.unwrap_or(buffers))
    }
}

setters!(Lu {
    /// Elements between the columns of A.
    lda: usize;
    /// Elements from one A to the next.
    stride_a: usize;
    /// Elements between the columns of the second matrix.
    ldb: usize;
    /// Elements from one second matrix to the next.
    stride_b: usize;
});

impl Lu {
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
        let what = format!("{pivots} elements, but {} matrices of {} rows have {need}", self.count(), self.n);
        Err(Error::invalid("pivots", what))
    }

    fn check_info(&self, info: usize) -> Result<()> {
        if info >= self.count() {
            return Ok(());
        }
        Err(Error::invalid("info", format!("{info} elements, but there are {} matrices", self.count())))
    }

    /// `times` for each matrix, in thirds of the cube of `n`.
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

/// The infos of matrices without elements: of each, whatever their number.
#[cfg(feature = "host")]
fn regular(info: &mut [i32], count: usize) -> Result<()> {
    info.iter_mut().take(count).for_each(|info| *info = 0);
    Ok(())
}
