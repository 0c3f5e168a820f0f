//! Small LU factorizations, and solutions and inverses from them: of matrices, of batches of them, of lists. There is one file each
//! for `getrf`, for `getrs`, and for `getri` with `matinv`. This file has what they share.
//!
//! Row `r` of a matrix was swapped with row `pivots[r]`, counted from 1, as in LAPACK. The info of a matrix is zero, or the index,
//! counted from 1, of a zero on the diagonal of U.

mod getrf;
mod getri;
mod getrs;

#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(super) use {getrf::Factor, getri::Invert, getrs::Solve};

use super::super::prelude::*;
use super::batch::{Operand, check_int};

/// A batch of `n x n` matrices A, read by columns.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
struct Batch {
    n: usize,
    count: usize,
    lda: usize,
    /// Elements from one A to the next, unless each has a buffer of its own.
    stride_a: usize,
}

/// The second matrices of a batch, of as many rows.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
struct Beside {
    cols: usize,
    ld: usize,
    stride: usize,
}

impl Batch {
    /// # Errors
    /// [`Error::InvalidArgument`] for matrices that are not square.
    fn new(of: &Matrices, lda: usize, count: usize) -> Result<Self> {
        if of.rows != of.cols {
            return Err(Error::invalid(
                "a",
                format!("matrices of {} x {}, but they have to be square", of.rows, of.cols),
            ));
        }
        Ok(Batch { n: of.rows, count, lda, stride_a: of.stride })
    }

    /// The second matrices: those of B have any number of columns, those of C as many as A.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the rows, the columns or the number differ.
    fn beside(&self, name: &'static str, of: &Matrices, ld: usize, count: usize) -> Result<Beside> {
        let Batch { n, .. } = *self;
        if of.rows != n || name == "c" && of.cols != n || count != self.count {
            let what = format!(
                "{count} matrices of {} x {}, but those of `a` are {} of {n} x {n}",
                of.rows, of.cols, self.count
            );
            return Err(Error::invalid(name, what));
        }
        Ok(Beside { cols: of.cols, ld, stride: of.stride })
    }

    /// A.
    fn a(&self) -> Operand {
        Operand { name: "a", rows: self.n, cols: self.n, ld: self.lda, stride: self.stride_a }
    }

    /// The second matrix.
    fn b(&self, name: &'static str, of: &Beside) -> Operand {
        Operand { name, rows: self.n, cols: of.cols, ld: of.ld, stride: of.stride }
    }

    fn check_sizes(&self) -> Result<()> {
        check_int("n", self.n)?;
        check_int("count", self.count)?;
        check_int("lda", self.lda)
    }

    fn check_pivots(&self, pivots: usize) -> Result<()> {
        let need = self.n.saturating_mul(self.count);
        if pivots >= need {
            return Ok(());
        }
        let what = format!("{pivots} elements, but {} matrices of {} rows need {need}", self.count, self.n);
        Err(Error::invalid("pivots", what))
    }

    fn check_info(&self, info: usize) -> Result<()> {
        if info >= self.count {
            return Ok(());
        }
        Err(Error::invalid("info", format!("{info} elements, but there are {} matrices", self.count)))
    }

    /// The cost of the batch: for each matrix, `thirds * n^3 / 3` flops (four times that for complex types), and the
    /// memory traffic of `matrices` matrices.
    fn cost<T: BlasElement>(&self, thirds: u64, matrices: u64) -> Cost {
        let (n, count) = (self.n as u64, self.count as u64);
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

/// Checks that pivots or infos are numbers in order, of this shape.
///
/// # Errors
/// [`Error::InvalidArgument`] when they are not.
fn check_numbers(name: &'static str, layout: &Layout, batch: &[usize], each: Option<usize>) -> Result<()> {
    let shape = [batch, each.as_slice()].concat();
    if layout.shape() != shape && !(layout.is_empty() && shape.contains(&0)) {
        return Err(Error::invalid(
            name,
            format!("shape {:?}, but the matrices of `a` take {shape:?}", layout.shape()),
        ));
    }
    if !layout.is_row_major() {
        return Err(Error::invalid(
            name,
            format!("{layout:?} is not in row-major order without gaps; `contiguous` makes a copy that is"),
        ));
    }
    Ok(())
}
