//! A matrix that many products share, in panels of columns that lie as the products read them.
//!
//! The product of a few rows with a large matrix reads the matrix once, and costs what that costs: in a panel it reads one element
//! after the other, where the rows of the whole matrix lie a page apart.

use super::scratch::Scratch;
use super::tiles::{Factors, Offsets, SLACK, Shared, multiply_into};
use super::{Matrix, Real};
use crate::core::error::Result;
use crate::numerics::parallel::try_each_number;
use std::ops::Range;

/// Columns of a panel: three of the longest vectors.
const WIDTH: usize = 48;
/// Rows that a thread multiplies at once.
const ROWS: usize = 64;
/// Multiplications that are worth a second thread.
const MANY: usize = 1 << 18;

/// A matrix of `inner` rows and `columns` columns.
pub(in super::super) struct Panels<A: Real> {
    all: Scratch<A>,
    inner: usize,
    columns: usize,
    offsets: Offsets,
}

impl<A: Real> Panels<A> {
    pub(in super::super) fn new((inner, columns): (usize, usize), from: &[A], of: Matrix) -> Result<Self> {
        let len = columns.div_ceil(WIDTH) * WIDTH * inner + SLACK;
        let all = Scratch::new(len, inner * WIDTH, &|panel, to| {
            for column in panel * WIDTH..columns.min((panel + 1) * WIDTH) {
                let to = to.get_mut(column % WIDTH..).unwrap_or_default().iter_mut().step_by(WIDTH);
                let line = from.get(of.first + column * of.right..).unwrap_or_default();
                to.zip(line.iter().step_by(of.down.max(1))).take(inner).for_each(|(to, from)| *to = *from);
            }
        })?;
        Ok(Panels { all, inner, columns, offsets: Offsets::even(inner, WIDTH)? })
    }

    /// Elements of the products of so many rows.
    pub(in super::super) fn count(&self, rows: usize) -> usize {
        rows * self.columns
    }

    /// The products of rows.
    pub(in super::super) fn multiply(&self, rows: usize, a: &[A], to: &mut [A]) -> Result<()> {
        self.block((rows, 0..self.columns), (a, Matrix::rows(0, self.inner)), (to, self.columns), (false, true))
    }

    /// The products of rows with some of the columns, or their sums with what is there; by all threads, or by this one. `to` has lines
    /// of a length.
    pub(in super::super) fn block(
        &self,
        (rows, columns): (usize, Range<usize>),
        (a, of_a): (&[A], Matrix),
        (to, line): (&mut [A], usize),
        (adds, parallel): (bool, bool),
    ) -> Result<()> {
        let (first, to) = (columns.start / WIDTH, Shared::new(to));
        let (panels, parts) = (columns.end.div_ceil(WIDTH).saturating_sub(first), rows.div_ceil(ROWS));
        let block = |index: usize| -> Result<()> {
            let (panel, row) = (first + index / parts, index % parts * ROWS);
            let own = columns.start.max(panel * WIDTH)..columns.end.min((panel + 1) * WIDTH);
            let a = (a, Matrix { first: of_a.first + row * of_a.down, ..of_a });
            let b = (&self.all[..], panel * WIDTH * self.inner + own.start % WIDTH);
            let of_c = Matrix::rows(row * line + own.start - columns.start, line);
            let sizes = [ROWS.min(rows - row), own.len()];
            // SAFETY: these rows of these columns belong to this block.
            unsafe { multiply_into(sizes, Factors { a, b, offsets: &self.offsets }, &to, of_c, adds) }
        };
        match parallel && rows * columns.len() * self.inner >= MANY {
            true => try_each_number(panels * parts, 1, &block),
            false => (0..panels * parts).try_for_each(block),
        }
    }

    /// Adds the products of one of the rows.
    pub(in super::super) fn add(&self, row: usize, products: &[A], to: &mut [A]) {
        let from = products.get(row * self.columns..).unwrap_or_default();
        to.iter_mut()
            .zip(from.get(..self.columns).unwrap_or_default())
            .for_each(|(sum, product)| *sum = *sum + *product);
    }
}
