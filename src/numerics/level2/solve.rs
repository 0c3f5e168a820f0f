//! Triangular systems with one right-hand side.
//!
//! Unknowns are solved in blocks. Inside a block one thread works alone, because a fork would cost more than it saves.
//! The matrix outside the diagonal blocks, which is most of it, is the work of all threads, once per block.
//! Contributions are subtracted by columns as stored. Not transposed: after a block is solved, its columns times its
//! unknowns are subtracted from the unknowns that follow. Transposed: before a block is solved, the dot products of its
//! columns with the known unknowns are subtracted from its own. So columns are read in long pieces, because memory is
//! slow to begin each piece.
//!
//! The split depends only on the sizes, so the result is the same for any number of threads.

use std::ops::Range;

use super::super::Trans;
use super::super::level1::Field;
use super::super::parallel::{Parts, each_part};
use super::dense::{holds, modify};
use super::stored::Stored;
use super::walk::Panel;
use super::{At, PARALLEL, TASK};

/// Unknowns per block, that is, between two forks.
const BLOCK: usize = 256;
/// Minimum number of bytes of a column per thread.
const PIECE: usize = 4096;
/// Maximum number of parts into which unknowns, or columns, are split.
const PARTS: usize = 16;
/// Unknowns that are solved one by one; all other contributions are subtracted for this many together.
const FEW: usize = 4;

/// `x = op(A)^-1 * x` with a triangular A. If `unit`, its diagonal is all ones and not read. A zero on the diagonal is
/// not detected: it is divided by.
pub(crate) fn trsv<T: Field>(stored: Stored, trans: Trans, unit: bool, a: &[T], x: &mut [T], at: At) {
    let n = stored.cols;
    if !stored.fits(a.len()) || !holds(at, x.len()) || at.n != n || stored.rows != n {
        return;
    }
    // An upper triangle, or a transposed lower one, is solved from its last unknown to its first.
    let system = System { stored: &stored, a, trans, unit, backwards: stored.upper() == (trans == Trans::No) };
    let conjugate = |x: &mut [T]| x.iter_mut().for_each(|x| *x = x.conj_if(trans == Trans::Conj));
    modify(x, at, |x| {
        conjugate(x);
        system.solve(x);
        conjugate(x);
    });
}

/// A triangular system, and the direction in which it is solved.
struct System<'s, T> {
    stored: &'s Stored,
    a: &'s [T],
    trans: Trans,
    unit: bool,
    backwards: bool,
}

impl<T: Field> System<'_, T> {
    fn solve(&self, x: &mut [T]) {
        let all = 0..x.len();
        if self.stored.elements() < PARALLEL {
            return self.diagonal(&all, 0, x);
        }
        for block in self.blocks(&all, BLOCK) {
            let (before, after) = self.around(&block, &all);
            if self.trans == Trans::No {
                self.diagonal(&block, 0, x);
                let rows = meeting(&after, &self.stored.rows_of(&block));
                let (known, rest) = apart(x, 0, &block, &rows);
                let least = (PIECE / size_of::<T>()).max(TASK.div_ceil(block.len())).max(rows.len().div_ceil(PARTS));
                self.shared(rest, least, &|i, x| {
                    self.take(&block, known, &(rows.start + i..rows.start + i + x.len()), x)
                });
            } else {
                let rows = meeting(&before, &self.stored.rows_of(&block));
                let (known, rest) = apart(x, 0, &rows, &block);
                // In multiples of eight, because eight columns are processed together.
                let least = TASK.div_ceil(rows.len().max(1)).max(block.len().div_ceil(PARTS)).next_multiple_of(8);
                self.shared(rest, least, &|j, x| {
                    self.take(&rows, known, &(block.start + j..block.start + j + x.len()), x)
                });
                self.diagonal(&block, 0, x);
            }
        }
    }

    /// Calls `f(first, part)` with parts of `size` unknowns, in parallel.
    fn shared(&self, x: &mut [T], size: usize, f: &(impl Fn(usize, &mut [T]) + Sync)) {
        each_part(x, Parts::with_size(size), &|i, x| f(i * size, x));
    }

    /// The blocks of `size` unknowns, in the order in which they are solved.
    fn blocks(&self, all: &Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> + use<T> {
        let (Range { start, end }, backwards) = (all.clone(), self.backwards);
        let count = end.saturating_sub(start).div_ceil(size);
        (0..count).map(move |i| {
            let from = start + size * if backwards { count - 1 - i } else { i };
            from..(from + size).min(end)
        })
    }

    /// The unknowns that are solved before a block, and those after it.
    fn around(&self, block: &Range<usize>, all: &Range<usize>) -> (Range<usize>, Range<usize>) {
        let (below, above) = (all.start..block.start, block.end..all.end);
        if self.backwards { (above, below) } else { (below, above) }
    }

    /// Subtracts the contributions of the solved unknowns `at` from the unknowns `block`.
    fn take(&self, at: &Range<usize>, known: &[T], block: &Range<usize>, unknown: &mut [T]) {
        let panel = |rows: &Range<usize>| Panel { stored: self.stored, a: self.a, rows: rows.clone(), beside: true };
        if self.trans == Trans::No {
            let factor = |j: usize| -known.get(j - at.start).copied().unwrap_or_default();
            panel(block).add(at.clone(), factor, unknown);
        } else {
            panel(at).products(block.clone(), known, |j, sum| {
                if let Some(x) = unknown.get_mut(j - block.start) {
                    *x = *x - T::rounded(sum);
                }
            });
        }
    }

    /// Solves for the unknowns of a block, from which the contributions of all earlier ones have been subtracted;
    /// `x[0]` is unknown `base`.
    fn diagonal(&self, block: &Range<usize>, base: usize, x: &mut [T]) {
        for few in self.blocks(block, FEW) {
            let (before, after) = self.around(&few, block);
            if self.trans == Trans::No {
                self.few(&few, base, x);
                let (known, rest) = apart(x, base, &few, &after);
                self.take(&few, known, &after, rest);
            } else {
                let (known, rest) = apart(x, base, &before, &few);
                self.take(&before, known, &few, rest);
                self.few(&few, base, x);
            }
        }
    }

    /// Solves for unknowns one after the other; `x[0]` is unknown `base`.
    fn few(&self, few: &Range<usize>, base: usize, x: &mut [T]) {
        let element = |at: usize| self.a.get(at).copied().unwrap_or_default();
        let value = |x: &[T], i: usize| x.get(i - base).copied().unwrap_or_default();
        for j in self.blocks(few, 1).map(|one| one.start) {
            let (column, diagonal) = self.stored.beside(j);
            let column = column.within(few);
            let rows = (column.first..column.end()).zip(column.at..);
            let mut unknown = value(x, j);
            if self.trans != Trans::No {
                unknown = rows.clone().fold(unknown, |unknown, (i, at)| unknown - element(at) * value(x, i));
            }
            if !self.unit {
                unknown = unknown.over(element(diagonal));
            }
            if let Some(x) = x.get_mut(j - base) {
                *x = unknown;
            }
            if self.trans == Trans::No {
                for (i, at) in rows {
                    if let Some(x) = x.get_mut(i - base) {
                        *x = *x - element(at) * unknown;
                    }
                }
            }
        }
    }
}

/// The intersection of two ranges.
fn meeting(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    let start = one.start.max(other.start).min(one.end);
    start..one.end.min(other.end).max(start)
}

/// The disjoint parts `one` and `two` of x; `x[0]` is unknown `base`.
fn apart<'x, T>(x: &'x mut [T], base: usize, one: &Range<usize>, two: &Range<usize>) -> (&'x mut [T], &'x mut [T]) {
    let first = one.start < two.start;
    let (low, high) = if first { (one, two) } else { (two, one) };
    let (below, above) = x.split_at_mut((high.start - base).min(x.len()));
    let low = below.get_mut(low.start - base..low.end - base).unwrap_or_default();
    let high = above.get_mut(..high.len()).unwrap_or_default();
    if first { (low, high) } else { (high, low) }
}
