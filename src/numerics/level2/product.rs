//! Products of any stored matrix with a vector.

use std::ops::Range;

use super::super::Trans;
use super::super::level1::Field;
use super::super::parallel::{Parts, each_part};
use super::dense::{dense, holds, modify, scale};
use super::stored::{Column, Stored, common};
use super::{At, PARALLEL, TASK};

/// Rows whose part of y stays in the nearest cache while columns go by.
const ROWS: usize = 1024;
/// Up to so many rows a y of its own for each stretch of columns stays in a near cache; beyond, rows are cut.
const TALL: usize = 1 << 13;
/// Stretches of columns.
const STRETCHES: usize = 16;

/// `y = alpha * op(A) * x + beta * y`. Nothing happens for a matrix without elements, as BLAS has it.
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

/// `x = op(A) * x` with a triangle A, whose diagonal is taken as ones if `unit`.
pub(crate) fn trmv<T: Field>(stored: Stored, trans: Trans, unit: bool, a: &[T], x: &mut [T], at: At) {
    if !stored.fits(a.len()) || !holds(at, x.len()) || at.n != stored.cols || stored.rows != stored.cols {
        return;
    }
    modify(x, at, |y| {
        let x = y.to_vec();
        // The ones of the diagonal are what y begins with.
        let begin = |_: usize, y: &mut [T]| scale(if unit { T::IDENTITY } else { T::default() }, y);
        multiply(stored, trans, T::IDENTITY, a, &x, begin, unit, y);
    });
}

/// `y = alpha * op(A) * x + y`, where `begin` makes of the rows of y from one on what they begin with.
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
    let parallel = stored.elements() >= PARALLEL && rayon::current_num_threads() > 1;
    let column = |j: usize| if unit { stored.beside(j).0 } else { stored.column(j) };
    if trans != Trans::No {
        let sums = |from: usize, y: &mut [T]| {
            begin(from, y);
            dots(from, trans == Trans::Conj, a, x, &column, &|y, sum| y + alpha * sum, y);
        };
        if !parallel {
            return sums(0, y);
        }
        let least = TASK.div_ceil((stored.elements() / stored.cols.max(1)).max(1)).next_multiple_of(4);
        return each_part(y, Parts::of(least), &|i, y| sums(i * least, y));
    }
    let add = |rows: Range<usize>, columns: Range<usize>, y: &mut [T]| {
        let factor = |j: usize| alpha * x.get(j).copied().unwrap_or_default();
        axpys(rows, columns, a, &factor, &column, y);
    };
    if stored.rows <= TALL && stored.elements() >= PARALLEL && stored.cols >= 4 * STRETCHES {
        // Cut by columns, which are read from end to end, the same way for any number of threads.
        begin(0, y);
        return stored.by_stretches(STRETCHES, y, &|stretch, rows, sum| add(rows, stretch, sum));
    }
    let block = |from: usize, y: &mut [T]| {
        for (i, y) in y.chunks_mut(ROWS).enumerate() {
            let from = from + i * ROWS;
            let rows = from..from + y.len();
            begin(from, y);
            add(rows.clone(), stored.columns_of(&rows), y);
        }
    };
    if parallel {
        let rows = stored.rows.div_ceil(4 * rayon::current_num_threads()).next_multiple_of(64).min(ROWS);
        each_part(y, Parts::of(rows), &|i, y| block(i * rows, y));
    } else {
        block(0, y);
    }
}

/// `y_i = put(y_i, (column from + i) . x)`, four columns at a time.
pub(super) fn dots<T: Field>(
    from: usize,
    conj: bool,
    a: &[T],
    x: &[T],
    column: &impl Fn(usize) -> Column,
    put: &impl Fn(T, T) -> T,
    y: &mut [T],
) {
    let dot = |column: Column| T::dot(conj, column.of(a), column.rows(x));
    let (fours, rest) = y.as_chunks_mut::<4>();
    let done = from + 4 * fours.len();
    for (i, y) in fours.iter_mut().enumerate() {
        let j = from + 4 * i;
        let columns = [column(j), column(j + 1), column(j + 2), column(j + 3)];
        let rows = common(&columns);
        let middle = Column { first: rows.start, len: rows.len(), at: 0 };
        let sums = T::dot4(conj, columns.map(|c| c.within(&rows).of(a)), middle.rows(x));
        for ((y, sum), c) in y.iter_mut().zip(sums).zip(columns) {
            let ends = [c.within(&(c.first..rows.start)), c.within(&(rows.end.max(c.first)..c.end()))];
            let [head, tail] = ends.map(|part| if part.len == 0 { Default::default() } else { dot(part) });
            *y = put(*y, T::rounded(head + sum + tail));
        }
    }
    for (i, y) in rest.iter_mut().enumerate() {
        *y = put(*y, T::rounded(dot(column(done + i))));
    }
}

/// `y += factor(j) * column j` for each of these columns, four at a time; y begins with the first of `rows`.
pub(super) fn axpys<T: Field>(
    rows: Range<usize>,
    columns: Range<usize>,
    a: &[T],
    factor: &impl Fn(usize) -> T,
    column: &impl Fn(usize) -> Column,
    y: &mut [T],
) {
    let part = |j: usize| column(j).within(&rows);
    let add = |factor: T, part: Column, y: &mut [T]| T::axpy(factor, part.of(a), part.rows_mut(y, rows.start));
    let mut j = columns.start;
    while j + 4 <= columns.end {
        let (columns, factors) = ([j, j + 1, j + 2, j + 3].map(part), [j, j + 1, j + 2, j + 3].map(factor));
        let middle = common(&columns);
        for (c, factor) in columns.iter().zip(factors) {
            add(factor, c.within(&(c.first..middle.start)), y);
            add(factor, c.within(&(middle.end.max(c.first)..c.end())), y);
        }
        let target = Column { first: middle.start, len: middle.len(), at: 0 };
        T::axpy4(factors, columns.map(|c| c.within(&middle).of(a)), target.rows_mut(y, rows.start));
        j += 4;
    }
    (j..columns.end).for_each(|j| add(factor(j), part(j), y));
}
