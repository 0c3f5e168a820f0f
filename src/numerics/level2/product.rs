//! Products of any stored matrix with a vector.

use crate::core::room::{OrUnwind, copied, with_capacity};
use std::ops::Range;

use super::super::Trans;
use super::super::level1::Field;
use super::super::parallel;
use super::dense::{conjugate, dense, holds, modify, scale};
use super::stored::Stored;
use super::walk::Panel;
use super::{At, PARALLEL, TASK};

/// Rows per block: so many that their part of y stays in the nearest cache while the columns are read.
const ROWS: usize = 1024;
/// Up to this many rows, each stretch of columns has a y of its own, which stays in a near cache. Taller matrices are
/// split by rows.
const TALL: usize = 1 << 13;
/// Number of parts into which columns are split, unless the parts would be too small.
const PARTS: usize = 64;
/// Number of stretches of columns.
const STRETCHES: usize = 16;

/// `y = alpha * op(A) * x + beta * y`. Does nothing for a matrix without elements, as BLAS does.
#[expect(clippy::too_many_arguments, reason = "the routine's own")]
pub(crate) fn gemv<T: Field>(
    stored: Stored,
    trans: Trans,
    alpha: T,
    a: &[T],
    x: &[T],
    x_at: At,
    beta: T,
    y: &mut [T],
    y_at: At,
) {
    let (n, m) = if trans == Trans::No { (stored.cols, stored.rows) } else { (stored.rows, stored.cols) };
    let fits = stored.fits(a.len()) && holds(x_at, x.len()) && holds(y_at, y.len()) && (x_at.n, y_at.n) == (n, m);
    if !fits || stored.rows == 0 || stored.cols == 0 {
        return;
    }
    if alpha == T::default() {
        return modify(y, y_at, |y| scale(beta, y));
    }
    let x = dense(x, x_at);
    modify(y, y_at, |y| multiply(stored, trans, alpha, a, &x, |_, y| scale(beta, y), false, y));
}

/// `x = op(A) * x` with a triangular A. If `unit`, its diagonal is all ones and not read.
pub(crate) fn trmv<T: Field>(stored: Stored, trans: Trans, unit: bool, a: &[T], x: &mut [T], at: At) {
    if !stored.fits(a.len()) || !holds(at, x.len()) || at.n != stored.cols || stored.rows != stored.cols {
        return;
    }
    modify(x, at, |y| {
        let x = copied(y).or_unwind();
        // With a unit diagonal y starts as x, to which the rest of the product is added.
        let begin = |_: usize, y: &mut [T]| scale(if unit { T::IDENTITY } else { T::default() }, y);
        multiply(stored, trans, T::IDENTITY, a, &x, begin, unit, y);
    });
}

/// `y = alpha * op(A) * x + y`, where `begin(from, rows)` first sets these rows of y to their start values. If `unit`,
/// only the elements off the diagonal are used.
#[expect(clippy::too_many_arguments, reason = "the routines' own")]
fn multiply<T: Field>(
    stored: Stored,
    trans: Trans,
    alpha: T,
    a: &[T],
    x: &[T],
    begin: impl Fn(usize, &mut [T]) + Sync,
    unit: bool,
    y: &mut [T],
) {
    let parallel = stored.elements() >= PARALLEL;
    let panel = |rows: Range<usize>| Panel { stored: &stored, a, rows, beside: unit };
    if trans != Trans::No {
        let conj = trans == Trans::Conj;
        let x = conjugate(conj, x);
        let sums = |from: usize, y: &mut [T]| {
            begin(from, y);
            panel(0..stored.rows).products(from..from + y.len(), &x, |j, sum| {
                if let Some(y) = y.get_mut(j - from) {
                    *y = *y + alpha * T::rounded(sum).conj_if(conj);
                }
            });
        };
        if !parallel {
            return sums(0, y);
        }
        let worth = TASK.div_ceil((stored.elements() / stored.cols.max(1)).max(1));
        let size = worth.max(stored.cols / PARTS).next_multiple_of(4);
        return each_block(y, size, &sums);
    }
    let factor = |j: usize| alpha * x.get(j).copied().unwrap_or_default();
    if parallel && stored.rows <= TALL && stored.cols >= 4 * STRETCHES {
        // Split by columns, so that whole columns are read. The split is the same for any number of threads.
        begin(0, y);
        return stored.by_stretches(STRETCHES, y, &|stretch, rows, sum| panel(rows).add(stretch, factor, sum));
    }
    let block = |from: usize, y: &mut [T]| {
        let rows = from..from + y.len();
        begin(from, y);
        panel(rows.clone()).add(stored.columns_of(&rows), factor, y);
    };
    if parallel {
        each_block(y, ROWS, &block);
    } else {
        y.chunks_mut(ROWS).enumerate().for_each(|(i, y)| block(i * ROWS, y));
    }
}

/// Calls `f(first, part)` with each part of `size` elements. Parts are taken alternately from both ends: in a triangle
/// one end has little work and the other much, and this balances the threads.
fn each_block<T: Send>(y: &mut [T], size: usize, f: &(impl Fn(usize, &mut [T]) + Sync)) {
    let mut parts = y.chunks_mut(size).enumerate();
    let mut turns = with_capacity(parts.len()).or_unwind();
    while let Some(part) = if turns.len() % 2 == 0 { parts.next() } else { parts.next_back() } {
        turns.push(part);
    }
    parallel::each(turns, 1, &|(i, part)| f(i * size, part));
}
