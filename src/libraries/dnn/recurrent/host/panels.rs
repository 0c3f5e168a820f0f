//! A matrix that many products share, in panels of columns that lie as the products read them.
//!
//! The product of a few rows with a large matrix reads the matrix once, and costs what that costs: in a panel it reads one element
//! after the other, where the rows of the whole matrix lie a page apart.

use super::cells::Cellular;
use super::lost;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::{Matrix, product};
use rayon::prelude::*;

/// Columns of a panel.
const WIDTH: usize = 128;
/// Multiplications that are worth a second thread.
const MANY: usize = 1 << 18;

/// A matrix of `inner` rows and `columns` columns.
pub(super) struct Panels<A> {
    all: Vec<A>,
    inner: usize,
    columns: usize,
}

impl<A: Cellular> Panels<A> {
    pub(super) fn new((inner, columns): (usize, usize), from: &[A], of: Matrix) -> Result<Self> {
        let mut all = room::zeroed(inner * columns)?;
        all.par_chunks_mut(inner.max(1) * WIDTH).enumerate().for_each(|(panel, to)| {
            let width = to.len() / inner.max(1);
            let first = of.first + panel * WIDTH * of.right;
            for (row, to) in to.chunks_mut(width.max(1)).enumerate() {
                let line = from.get(first + row * of.down..).unwrap_or_default().iter().step_by(of.right.max(1));
                to.iter_mut().zip(line).for_each(|(to, from)| *to = *from);
            }
        });
        Ok(Panels { all, inner, columns })
    }

    /// Elements of the products of so many rows.
    pub(super) fn count(&self, rows: usize) -> usize {
        rows * self.columns
    }

    /// The products of rows, panel after panel.
    pub(super) fn multiply(&self, rows: usize, a: &[A], to: &mut [A]) -> Result<()> {
        let size = (rows * WIDTH).max(1);
        let panel = |(panel, to): (usize, &mut [A])| {
            let width = to.len() / rows.max(1);
            let of_panel = Matrix { first: panel * WIDTH * self.inner, down: width, right: 1 };
            let (c, of_rows) = ((to, Matrix::rows(0, width)), (a, Matrix::rows(0, self.inner)));
            product((rows, width, self.inner), c, of_rows, (&self.all, of_panel), false, false)
        };
        let to = to.get_mut(..self.count(rows)).ok_or_else(lost)?;
        match rows * self.all.len() >= MANY {
            true => to.par_chunks_mut(size).enumerate().try_for_each(panel),
            false => to.chunks_mut(size).enumerate().try_for_each(panel),
        }
    }

    /// Adds the products of one of the rows.
    pub(super) fn add(&self, (rows, row): (usize, usize), products: &[A], to: &mut [A]) {
        for (panel, to) in to.chunks_mut(WIDTH).enumerate() {
            let from = products.get(panel * rows * WIDTH + row * to.len()..).unwrap_or_default();
            to.iter_mut().zip(from).for_each(|(sum, product)| *sum = *sum + *product);
        }
    }
}
