//! Where the columns of a stored matrix lie.

use crate::core::room::{OrUnwind, filled, with_capacity};
use std::ops::Range;

use super::super::level1::Field;
use super::super::parallel::{self, Parts, each_part};

/// Rows per task when the results of the stretches are added.
const SUMS: usize = 512;

/// How the elements of a matrix lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Column-major with a leading dimension.
    Full { ld: usize },
    /// The triangle above or below the diagonal, in a full matrix.
    Triangle { upper: bool, ld: usize },
    /// Diagonals as rows: element (i, j) is at `ku + i - j + j * ld`.
    Band { kl: usize, ku: usize, ld: usize },
    /// The columns of a triangle one after the other.
    Packed { upper: bool },
}

/// A matrix of `rows` x `cols` in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) layout: Layout,
}

/// The stored part of one column: `len` rows from row `first`, at index `at` in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) first: usize,
    pub(super) len: usize,
    pub(super) at: usize,
}

impl Column {
    /// The part of this column in `rows`.
    pub(super) fn within(self, rows: &Range<usize>) -> Column {
        let first = self.first.max(rows.start);
        let end = (self.first + self.len).min(rows.end);
        Column { first, len: end.saturating_sub(first), at: self.at + (first - self.first) }
    }

    /// One past the last row.
    pub(super) fn end(self) -> usize {
        self.first + self.len
    }

    /// The elements.
    pub(super) fn elements<T>(self, a: &[T]) -> &[T] {
        a.get(self.at..).and_then(|a| a.get(..self.len)).unwrap_or_default()
    }

    /// The elements of a vector in this column's rows.
    pub(super) fn rows<T>(self, x: &[T]) -> &[T] {
        x.get(self.first..).and_then(|x| x.get(..self.len)).unwrap_or_default()
    }

    /// The elements in this column's rows of a vector that begins with row `base`.
    pub(super) fn rows_mut<T>(self, x: &mut [T], base: usize) -> &mut [T] {
        x.get_mut(self.first.wrapping_sub(base)..).and_then(|x| x.get_mut(..self.len)).unwrap_or_default()
    }
}

impl Stored {
    /// Whether a slice of `len` elements holds the matrix; false if a size overflows.
    pub(super) fn fits(&self, len: usize) -> bool {
        let Stored { rows, cols, layout } = *self;
        if rows == 0 || cols == 0 {
            return true;
        }
        let columns = |ld: usize, high: usize| {
            if ld < high { None } else { ld.checked_mul(cols - 1)?.checked_add(high) }
        };
        let need = match layout {
            Layout::Full { ld } | Layout::Triangle { ld, .. } => columns(ld, rows),
            Layout::Band { kl, ku, ld } => {
                kl.checked_add(ku).and_then(|k| k.checked_add(1)).and_then(|high| columns(ld, high))
            }
            Layout::Packed { .. } => rows.checked_add(1).and_then(|n| n.checked_mul(rows)).map(|twice| twice / 2),
        };
        let square = rows == cols || matches!(layout, Layout::Full { .. } | Layout::Band { .. });
        square && rows.checked_add(cols).is_some() && need.is_some_and(|need| need <= len)
    }

    /// The stored part of column `j`.
    pub(super) fn column(&self, j: usize) -> Column {
        let n = self.rows;
        match self.layout {
            Layout::Full { ld } => Column { first: 0, len: n, at: j * ld },
            Layout::Triangle { upper: true, ld } => Column { first: 0, len: j + 1, at: j * ld },
            Layout::Triangle { upper: false, ld } => Column { first: j, len: n - j, at: j * ld + j },
            Layout::Band { kl, ku, ld } => {
                let first = j.saturating_sub(ku);
                let end = j.saturating_add(kl).saturating_add(1).min(n);
                Column { first, len: end.saturating_sub(first), at: j * ld + ku - (j - first) }
            }
            Layout::Packed { upper: true } => Column { first: 0, len: j + 1, at: j * (j + 1) / 2 },
            Layout::Packed { upper: false } => Column { first: j, len: n - j, at: j * (2 * n + 1 - j) / 2 },
        }
    }

    /// The column without its diagonal element, and the index of that element. For triangles, where the diagonal is at
    /// an end of the column.
    pub(super) fn beside(&self, j: usize) -> (Column, usize) {
        let column = self.column(j);
        if self.upper() {
            let len = column.len.saturating_sub(1);
            (Column { len, ..column }, column.at + len)
        } else {
            (Column { first: column.first + 1, len: column.len.saturating_sub(1), at: column.at + 1 }, column.at)
        }
    }

    /// For a triangle: whether it is the one above the diagonal.
    pub(super) fn upper(&self) -> bool {
        match self.layout {
            Layout::Full { .. } => false,
            Layout::Triangle { upper, .. } | Layout::Packed { upper } => upper,
            Layout::Band { kl, .. } => kl == 0,
        }
    }

    /// The columns that have stored elements in `rows`.
    pub(super) fn columns_of(&self, rows: &Range<usize>) -> Range<usize> {
        match self.layout {
            Layout::Full { .. } => 0..self.cols,
            Layout::Triangle { upper: true, .. } | Layout::Packed { upper: true } => {
                rows.start.min(self.cols)..self.cols
            }
            Layout::Triangle { upper: false, .. } | Layout::Packed { upper: false } => 0..rows.end.min(self.cols),
            Layout::Band { kl, ku, .. } => {
                let end = rows.end.saturating_add(ku).min(self.cols);
                rows.start.saturating_sub(kl).min(end)..end
            }
        }
    }

    /// The rows that have stored elements in `columns`.
    pub(super) fn rows_of(&self, columns: &Range<usize>) -> Range<usize> {
        match self.layout {
            Layout::Full { .. } => 0..self.rows,
            Layout::Triangle { upper: true, .. } | Layout::Packed { upper: true } => 0..columns.end.min(self.rows),
            Layout::Triangle { upper: false, .. } | Layout::Packed { upper: false } => {
                columns.start.min(self.rows)..self.rows
            }
            Layout::Band { kl, ku, .. } => {
                let end = columns.end.saturating_add(kl).min(self.rows);
                columns.start.saturating_sub(ku).min(end)..end
            }
        }
    }

    /// The approximate number of stored elements.
    pub(super) fn elements(&self) -> usize {
        let all = self.rows.saturating_mul(self.cols);
        match self.layout {
            Layout::Full { .. } => all,
            Layout::Triangle { .. } | Layout::Packed { .. } => all / 2,
            Layout::Band { kl, ku, .. } => self.cols.saturating_mul(kl.saturating_add(ku).saturating_add(1)).min(all),
        }
    }
}

impl Stored {
    /// At most `count` stretches of columns with about as many elements each, in multiples of four columns.
    fn stretches(&self, count: usize) -> Vec<Range<usize>> {
        let all: usize = (0..self.cols).map(|j| self.column(j).len).sum();
        let (mut cuts, mut first, mut seen) = (with_capacity(count).or_unwind(), 0, 0);
        // Divides once per cut. Dividing once per column took as long as the columns of a small matrix.
        let due = |cuts: usize| (all as u128 * (cuts as u128 + 1)).div_ceil(count.max(1) as u128) as usize;
        let mut next = due(0);
        for j in 0..self.cols {
            seen += self.column(j).len;
            if (seen >= next && (j + 1).is_multiple_of(4)) || j + 1 == self.cols {
                cuts.push(first..j + 1);
                (first, next) = (j + 1, due(cuts.len()));
            }
        }
        cuts
    }

    /// For each stretch of columns, in parallel: calls `f(columns, rows, sum)` with the rows in which it has elements
    /// and a zeroed `sum`. Then adds all sums to y. The stretches, and the order in which they are added, depend only
    /// on the sizes.
    pub(super) fn by_stretches<T: Field>(
        &self,
        count: usize,
        y: &mut [T],
        f: &(impl Fn(Range<usize>, Range<usize>, &mut [T]) + Sync),
    ) {
        let stretches = self.stretches(count);
        let sums: Vec<(usize, Vec<T>)> = parallel::map(stretches.len(), &|i| {
            let stretch = stretches.get(i).cloned().unwrap_or_default();
            let rows = self.rows_of(&stretch);
            let mut sum = filled(rows.len(), T::default()).or_unwind();
            f(stretch, rows.clone(), &mut sum);
            (rows.start, sum)
        });
        let add = |base: usize, y: &mut [T]| {
            for (first, sum) in &sums {
                let from = base.max(*first);
                let sum = sum.get(from - first..).unwrap_or_default();
                y.iter_mut().skip(from - base).zip(sum).for_each(|(y, sum)| *y = *y + *sum);
            }
        };
        each_part(y, Parts::with_size(SUMS), &|i, y| add(i * SUMS, y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element that a storage defines is in its column, at the index that BLAS gives it.
    #[test]
    fn columns_are_where_blas_puts_their_elements() {
        let n = 7;
        let place = |layout, i: usize, j: usize| match layout {
            Layout::Full { ld } => Some(i + j * ld),
            Layout::Triangle { upper, ld } => (if upper { i <= j } else { i >= j }).then_some(i + j * ld),
            Layout::Band { kl, ku, ld } => (i <= j + kl && j <= i + ku).then(|| ku + i - j + j * ld),
            Layout::Packed { upper: true } => (i <= j).then(|| i + j * (j + 1) / 2),
            Layout::Packed { upper: false } => (i >= j).then(|| i - j + (0..j).map(|j| n - j).sum::<usize>()),
        };
        let both = |f: fn(bool) -> Layout| [f(true), f(false)];
        let mut layouts = vec![Layout::Full { ld: 9 }, Layout::Band { kl: 2, ku: 1, ld: 4 }];
        layouts.push(Layout::Band { kl: 0, ku: 3, ld: 5 });
        layouts.push(Layout::Band { kl: 9, ku: 0, ld: 10 });
        layouts.extend(both(|upper| Layout::Triangle { upper, ld: 8 }));
        layouts.extend(both(|upper| Layout::Packed { upper }));
        for layout in layouts {
            let stored = Stored { rows: n, cols: n, layout };
            for j in 0..n {
                let column = stored.column(j);
                for i in 0..n {
                    let found =
                        (i >= column.first && i < column.first + column.len).then(|| column.at + i - column.first);
                    assert_eq!(found, place(layout, i, j), "({i}, {j}) of {layout:?}");
                }
            }
            for (from, to) in [(0, 3), (2, 5), (6, 7)] {
                let (columns, rows) = (stored.columns_of(&(from..to)), stored.rows_of(&(from..to)));
                for i in 0..n {
                    let in_rows = (from..to).any(|row| place(layout, row, i).is_some());
                    let in_columns = (from..to).any(|column| place(layout, i, column).is_some());
                    assert!(!in_rows || columns.contains(&i), "column {i} of rows {from}..{to} of {layout:?}");
                    assert!(!in_columns || rows.contains(&i), "row {i} of columns {from}..{to} of {layout:?}");
                }
            }
        }
    }

    /// No column is left out or taken twice, and no stretch is much more than its share.
    #[test]
    fn stretches_are_all_columns_in_even_shares() {
        for n in [1, 3, 4, 64, 100, 2047] {
            for layout in [Layout::Full { ld: n }, Layout::Packed { upper: true }, Layout::Packed { upper: false }] {
                let stored = Stored { rows: n, cols: n, layout };
                let (stretches, elements) = (stored.stretches(16), |j: usize| stored.column(j).len);
                assert!(stretches.len() <= 16 && stretches.iter().flat_map(|s| s.clone()).eq(0..n), "{stretches:?}");
                let all: usize = (0..n).map(elements).sum();
                for stretch in stretches {
                    let share: usize = stretch.clone().map(elements).sum();
                    assert!(share <= all / 16 + 4 * n, "{share} of {all} in {stretch:?} of {layout:?}");
                }
            }
        }
    }

    #[test]
    fn a_matrix_fits_what_holds_its_last_element() {
        let stored = |rows, cols, layout| Stored { rows, cols, layout };
        assert!(stored(3, 4, Layout::Full { ld: 5 }).fits(18) && !stored(3, 4, Layout::Full { ld: 5 }).fits(17));
        assert!(stored(4, 4, Layout::Packed { upper: true }).fits(10));
        assert!(!stored(4, 4, Layout::Packed { upper: true }).fits(9));
        let band = Layout::Band { kl: 1, ku: 2, ld: 4 };
        assert!(stored(9, 3, band).fits(12) && !stored(9, 3, band).fits(11));
        assert!(!stored(3, 3, Layout::Full { ld: 2 }).fits(100), "columns must not overlap");
        assert!(!stored(3, 3, Layout::Full { ld: usize::MAX }).fits(100));
        assert!(stored(0, 9, Layout::Full { ld: 1 }).fits(0));
    }
}
