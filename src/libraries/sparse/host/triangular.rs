//! Triangular systems: solved row by row, or level by level if an analysis was made and its levels are wide.
//!
//! A row depends on the rows of the unknowns that it contains. Its *level* is the largest of their levels plus 1: rows
//! of one level can be solved in parallel (Anderson and Saad 1989). Each row is summed in storage order, so both
//! methods give the same bits.

use super::super::element::{SolveElement, SparseIndex};
use super::{Rows, at, put, split};
use crate::core::room::{OrUnwind, filled, grown};

/// Which triangle is used, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Triangle {
    pub(crate) upper: bool,
    pub(crate) unit: bool,
    pub(crate) conj: bool,
}

/// The number of rows in a level from which it is solved in parallel.
const WIDE: usize = 512;

/// Sorts the rows by level into `order`. `starts` gets the number of levels, then the position where each level begins,
/// and the end.
pub(crate) fn levels<T: SolveElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    upper: bool,
    order: &mut [I],
    starts: &mut [I],
) {
    let mut level = filled(a.count, 0usize).or_unwind();
    let mut counts = filled(a.count + 1, 0usize).or_unwind();
    let mut deepest = 0;
    for step in 0..a.count {
        let row = if upper { a.count - 1 - step } else { step };
        let before = a.row(row).0.iter().map(|column| column.place());
        let before = before.filter(|column| if upper { *column > row } else { *column < row });
        let own = before.map(|column| at(&level, column) + 1).max().unwrap_or(0);
        put(&mut level, row, own);
        let count = at(&counts, own) + 1;
        put(&mut counts, own, count);
        deepest = deepest.max(own + 1);
    }
    put(starts, 0, I::from_place(deepest));
    let (mut total, mut next) = (0, filled(deepest, 0usize).or_unwind());
    for (step, count) in counts.iter().enumerate().take(deepest) {
        put(&mut next, step, total);
        put(starts, step + 1, I::from_place(total));
        total += count;
    }
    starts.iter_mut().skip(deepest + 1).for_each(|start| *start = I::from_place(total));
    for (row, level) in level.iter().enumerate() {
        let place = at(&next, *level);
        put(order, place, I::from_place(row));
        put(&mut next, *level, place + 1);
    }
}

impl Triangle {
    /// Computes one row of the unknowns of `n` systems, from its right-hand sides and the unknowns already solved.
    #[inline]
    fn row<T: SolveElement, I: SparseIndex>(&self, a: &Rows<'_, T, I>, row: usize, n: usize, x: &[T], to: &mut [T]) {
        let mut diagonal = T::default();
        for (column, value) in a.entries(row) {
            let value = value.conj_if(self.conj);
            if column == row {
                diagonal = value;
            } else if (column > row) == self.upper {
                let others = x.get(column * n..(column + 1) * n).unwrap_or_default();
                to.iter_mut().zip(others).for_each(|(x, other)| *x = *x - value * *other);
            }
        }
        if !self.unit {
            to.iter_mut().for_each(|x| *x = x.over(diagonal));
        }
    }

    /// Solves `n` systems in place: `x` holds their right-hand sides side by side, row after row. A zero on the
    /// diagonal is divided by, without an error.
    pub(crate) fn solve<T: SolveElement, I: SparseIndex>(
        &self,
        a: &Rows<'_, T, I>,
        n: usize,
        x: &mut [T],
        levels: Option<(&[I], &[I])>,
    ) {
        if let Some((order, starts)) = levels {
            let count = at(starts, 0).place();
            if rayon::current_num_threads() > 1 && a.count >= count.saturating_mul(WIDE) {
                return self.by_levels(a, n, x, order, starts.get(1..).unwrap_or_default(), count);
            }
        }
        let mut own = filled(n, T::default()).or_unwind();
        for step in 0..a.count {
            let row = if self.upper { a.count - 1 - step } else { step };
            let places = row * n..(row + 1) * n;
            own.copy_from_slice(x.get(places.clone()).unwrap_or_default());
            self.row(a, row, n, x, &mut own);
            x.get_mut(places).unwrap_or_default().copy_from_slice(&own);
        }
    }

    fn by_levels<T: SolveElement, I: SparseIndex>(
        &self,
        a: &Rows<'_, T, I>,
        n: usize,
        x: &mut [T],
        order: &[I],
        starts: &[I],
        count: usize,
    ) {
        let mut solved = Vec::new();
        for level in 0..count {
            let rows = at(starts, level).place()..at(starts, level + 1).place();
            let rows = order.get(rows).unwrap_or_default();
            solved.clear();
            grown(&mut solved, rows.len().saturating_mul(n), T::default()).or_unwind();
            let (known, per_row) = (&*x, n.saturating_mul(8).max(8));
            split::each(&split::evenly(rows.len(), per_row), &mut solved, n, &|range, solved| {
                for (row, to) in rows.get(range).unwrap_or_default().iter().zip(solved.chunks_mut(n.max(1))) {
                    let row = row.place();
                    to.copy_from_slice(known.get(row * n..(row + 1) * n).unwrap_or_default());
                    self.row(a, row, n, known, to);
                }
            });
            for (row, solved) in rows.iter().zip(solved.chunks(n.max(1))) {
                let row = row.place();
                x.get_mut(row * n..(row + 1) * n).unwrap_or_default().copy_from_slice(solved);
            }
        }
    }
}
