//! Processes columns eight at a time.

use std::array::from_fn;
use std::ops::Range;

use num_complex::Complex64;

use super::super::level1::Field;
use super::kernel::Pass;
use super::stored::{Column, Stored};

/// Some rows of a stored matrix. The vectors that go with it begin with the first of these rows.
#[derive(Clone)]
pub(super) struct Panel<'s, T> {
    pub(super) stored: &'s Stored,
    pub(super) a: &'s [T],
    pub(super) rows: Range<usize>,
    /// For a triangle: use only the elements off the diagonal.
    pub(super) beside: bool,
}

impl<T: Field> Panel<'_, T> {
    /// `y += factor(j) * column j` for each of these columns.
    pub(super) fn add(&self, columns: Range<usize>, factor: impl Fn(usize) -> T, y: &mut [T]) {
        self.pass::<false, true>(columns, factor, &[], y, |_, _, _| ());
    }

    /// `put(j, column j . x)` for each of these columns.
    pub(super) fn products(&self, columns: Range<usize>, x: &[T], mut put: impl FnMut(usize, Complex64)) {
        self.pass::<true, false>(columns, |_| T::IDENTITY, x, &mut [], |j, sum, _| put(j, sum));
    }

    /// Both in one pass, which reads each element of A once. `put` is called when the contribution of its column is in
    /// y.
    pub(super) fn both(
        &self,
        columns: Range<usize>,
        factor: impl Fn(usize) -> T,
        x: &[T],
        y: &mut [T],
        put: impl FnMut(usize, Complex64, &mut [T]),
    ) {
        self.pass::<true, true>(columns, factor, x, y, put);
    }

    fn pass<const DOT: bool, const AXPY: bool>(
        &self,
        columns: Range<usize>,
        factor: impl Fn(usize) -> T,
        x: &[T],
        y: &mut [T],
        mut put: impl FnMut(usize, Complex64, &mut [T]),
    ) {
        let (mut j, end) = (columns.start, columns.end);
        while j < end {
            let count = match end - j {
                8.. => 8,
                4.. => 4,
                _ => 1,
            };
            match count {
                8 => self.group::<8, DOT, AXPY>(j, &factor, x, y, &mut put),
                4 => self.group::<4, DOT, AXPY>(j, &factor, x, y, &mut put),
                _ => self.group::<1, DOT, AXPY>(j, &factor, x, y, &mut put),
            }
            j += count;
        }
    }

    fn column(&self, j: usize) -> Column {
        let column = if self.beside { self.stored.beside(j).0 } else { self.stored.column(j) };
        column.within(&self.rows)
    }

    /// Processes `C` columns from column `j`: together in the rows that all of them have, and one element after the
    /// other at the ends, where a triangle or a band is cut off.
    fn group<const C: usize, const DOT: bool, const AXPY: bool>(
        &self,
        j: usize,
        factor: impl Fn(usize) -> T,
        x: &[T],
        y: &mut [T],
        mut put: impl FnMut(usize, Complex64, &mut [T]),
    ) {
        let (columns, base): ([Column; C], _) = (from_fn(|c| self.column(j + c)), self.rows.start);
        let factors: [T; C] = from_fn(|c| factor(j + c));
        let first = columns.iter().map(|c| c.first).max().unwrap_or(0);
        let end = columns.iter().map(|c| c.end()).min().unwrap_or(0).max(first);
        let middle = Column { first: first - base, len: end - first, at: 0 };
        let a = columns.map(|c| c.within(&(first..end)).elements(self.a));
        let pass = Pass::<T, C, DOT, AXPY> { a, factors, x: middle.rows(x), y: middle.rows_mut(y, 0) };
        let mut sums = pass.run();
        for ((column, factor), sum) in columns.into_iter().zip(factors).zip(&mut sums) {
            let rows = (column.first..first.min(column.end())).chain(end.max(column.first)..column.end());
            for i in rows {
                let a = self.a.get(column.at + (i - column.first)).copied().unwrap_or_default();
                if DOT {
                    *sum += (a * x.get(i - base).copied().unwrap_or_default()).wide();
                }
                if AXPY && let Some(y) = y.get_mut(i - base) {
                    *y = *y + factor * a;
                }
            }
        }
        sums.into_iter().zip(j..).for_each(|(sum, j)| put(j, sum, y));
    }
}
