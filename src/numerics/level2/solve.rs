//! Triangular systems of one right-hand side.
//!
//! Unknowns are found in blocks of blocks. Inside a large block one thread goes on alone, for what a fork costs it would
//! not get back; what lies outside, most of the matrix, is the work of all threads, once for each large block. What a
//! matrix gives up is subtracted by its columns as stored: a block's columns from the unknowns to come, or, transposed, the
//! products of its columns with the unknowns that are known from its own.

use std::ops::Range;

use super::super::Trans;
use super::super::level1::Field;
use super::super::parallel::{Parts, each_part};
use super::dense::{holds, modify};
use super::product::{axpys, dots};
use super::stored::{Column, Stored};
use super::{At, PARALLEL, TASK};

/// Unknowns between two forks.
const LARGE: usize = 256;
/// Unknowns that are solved for one after the other.
const SMALL: usize = 64;

/// `x = op(A)^-1 * x` with a triangle A, whose diagonal is taken as ones if `unit`. A zero on the diagonal divides.
pub(crate) fn trsv<T: Field>(stored: Stored, trans: Trans, unit: bool, a: &[T], x: &mut [T], at: At) {
    let n = stored.cols;
    if !stored.fits(a.len()) || !holds(at, x.len()) || at.n != n || stored.rows != n {
        return;
    }
    // An upper triangle is solved from its last unknown on, a transposed one from its first.
    let system = System { stored: &stored, a, unit, backwards: stored.upper() == (trans == Trans::No) };
    modify(x, at, |x| match trans {
        Trans::No => system.forward(x),
        Trans::Yes => system.transposed(x, false),
        Trans::Conj => system.transposed(x, true),
    });
}

/// A triangle, and from which end it is solved.
struct System<'s, T> {
    stored: &'s Stored,
    a: &'s [T],
    unit: bool,
    backwards: bool,
}

impl<T: Field> System<'_, T> {
    fn forward(&self, x: &mut [T]) {
        let all = 0..self.stored.cols;
        for large in self.blocks(&all, LARGE) {
            for small in self.blocks(&large, SMALL) {
                self.columns(x, &small);
                self.subtract(x, &small, self.after(&small, &large), false);
            }
            let rows = self.after(&large, &all);
            let stored = self.stored.rows_of(&large);
            let rows = rows.start.max(stored.start)..rows.end.min(stored.end);
            self.subtract(x, &large, rows, true);
        }
    }

    fn transposed(&self, x: &mut [T], conj: bool) {
        let all = 0..self.stored.cols;
        for large in self.blocks(&all, LARGE) {
            self.take(x, &large, self.before(&large, &all), conj, true);
            for small in self.blocks(&large, SMALL) {
                self.take(x, &small, self.before(&small, &large), conj, false);
                self.rows(x, &small, conj);
            }
        }
    }

    /// The blocks of so many unknowns, in the order in which they are solved for.
    fn blocks(&self, all: &Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> + use<T> {
        let (Range { start, end }, backwards) = (all.clone(), self.backwards);
        let count = end.saturating_sub(start).div_ceil(size);
        (0..count).map(move |i| {
            let from = start + size * if backwards { count - 1 - i } else { i };
            from..(from + size).min(end)
        })
    }

    /// What is solved for after a block.
    fn after(&self, block: &Range<usize>, all: &Range<usize>) -> Range<usize> {
        if self.backwards { all.start..block.start } else { block.end..all.end }
    }

    /// What is solved for before a block.
    fn before(&self, block: &Range<usize>, all: &Range<usize>) -> Range<usize> {
        if self.backwards { block.end..all.end } else { all.start..block.start }
    }

    fn diagonal(&self, at: usize) -> T {
        self.a.get(at).copied().unwrap_or_default()
    }

    /// A block's unknowns, one after the other, from a triangle as stored.
    fn columns(&self, x: &mut [T], block: &Range<usize>) {
        for j in self.blocks(block, 1).map(|one| one.start) {
            let (column, diagonal) = self.stored.beside(j);
            let column = column.within(block);
            let Some(unknown) = x.get_mut(j) else { return };
            if !self.unit {
                *unknown = unknown.over(self.diagonal(diagonal));
            }
            let factor = -*unknown;
            T::axpy(factor, column.of(self.a), column.rows_mut(x, 0));
        }
    }

    /// A block's unknowns, one after the other, from a triangle transposed.
    fn rows(&self, x: &mut [T], block: &Range<usize>, conj: bool) {
        for j in self.blocks(block, 1).map(|one| one.start) {
            let (column, diagonal) = self.stored.beside(j);
            let column = column.within(block);
            let known = T::rounded(T::dot(conj, column.of(self.a), column.rows(x)));
            let Some(unknown) = x.get_mut(j) else { return };
            *unknown = *unknown - known;
            if !self.unit {
                *unknown = unknown.over(self.diagonal(diagonal).conj_if(conj));
            }
        }
    }

    /// What is known of a block, taken from these rows.
    fn subtract(&self, x: &mut [T], block: &Range<usize>, rows: Range<usize>, threads: bool) {
        let (known, others) = apart(x, block, &rows);
        let known: &[T] = known;
        let subtract = |first: usize, x: &mut [T]| {
            let factor = |j: usize| -known.get(j - block.start).copied().unwrap_or_default();
            axpys(first..first + x.len(), block.clone(), self.a, &factor, &|j| self.stored.beside(j).0, x);
        };
        if threads && shared(others.len(), block.len()) {
            let least = (TASK / LARGE).max(others.len().div_ceil(4 * rayon::current_num_threads()));
            each_part(others, Parts::of(least), &|i, x| subtract(rows.start + i * least, x));
        } else {
            subtract(rows.start, others);
        }
    }

    /// What is known of these rows, taken from a block.
    fn take(&self, x: &mut [T], block: &Range<usize>, rows: Range<usize>, conj: bool, threads: bool) {
        let (known, unknown) = apart(x, &rows, block);
        let known: &[T] = known;
        let take = |first: usize, x: &mut [T]| {
            let column = |j: usize| {
                let column = self.stored.beside(j).0.within(&rows);
                Column { first: column.first - rows.start, ..column }
            };
            dots(first, conj, self.a, known, &column, &|x, sum| x - sum, x);
        };
        if threads && shared(known.len(), block.len()) {
            // In multiples of four, which go together: the same four for any number of threads.
            let least = TASK.div_ceil(known.len()).next_multiple_of(4);
            each_part(unknown, Parts::of(least), &|i, x| take(block.start + i * least, x));
        } else {
            take(block.start, unknown);
        }
    }
}

/// Whether so many rows and columns are worth a fork.
fn shared(rows: usize, columns: usize) -> bool {
    rows.saturating_mul(columns) >= PARALLEL && rayon::current_num_threads() > 1
}

/// Two parts of x that do not overlap.
fn apart<'x, T>(x: &'x mut [T], one: &Range<usize>, two: &Range<usize>) -> (&'x mut [T], &'x mut [T]) {
    let first = one.start < two.start;
    let (low, high) = if first { (one, two) } else { (two, one) };
    let (below, above) = x.split_at_mut(high.start.min(x.len()));
    let low = below.get_mut(low.clone()).unwrap_or_default();
    let high = above.get_mut(..high.len()).unwrap_or_default();
    if first { (low, high) } else { (high, low) }
}
