//! Products of any stored matrix with a vector.

use std::ops::Range;

use rayon::prelude::*;

use super::super::Trans;
use super::super::level1::Field;
use super::dense::{dense, holds, modify, scale};
use super::stored::Stored;
use super::{At, PARALLEL, TASK};

/// Rows whose part of y stays in the nearest cache while columns go by.
const ROWS: usize = 1024;
/// Fewer rows than this are not worth cutting: then the columns are.
const FLAT: usize = 64;
/// Stretches of columns that a flat matrix is cut into.
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
    if trans != Trans::No {
        let conj = trans == Trans::Conj;
        let each = |j: usize, y: &mut T| {
            let column = if unit { stored.beside(j).0 } else { stored.column(j) };
            *y = *y + alpha * T::rounded(T::dot(conj, column.of(a), column.rows(x)));
        };
        if !parallel {
            begin(0, y);
            return y.iter_mut().enumerate().for_each(|(j, y)| each(j, y));
        }
        let least = TASK.div_ceil((stored.elements() / stored.cols.max(1)).max(1));
        y.par_chunks_mut(least).enumerate().for_each(|(i, y)| {
            begin(i * least, y);
            y.iter_mut().enumerate().for_each(|(j, y)| each(i * least + j, y));
        });
        return;
    }
    let columns = |rows: Range<usize>, columns: Range<usize>, y: &mut [T]| {
        for j in columns {
            let column = if unit { stored.beside(j).0 } else { stored.column(j) }.within(&rows);
            let factor = alpha * x.get(j).copied().unwrap_or_default();
            T::axpy(factor, column.of(a), column.rows_mut(y, rows.start));
        }
    };
    let block = |from: usize, y: &mut [T]| {
        for (i, y) in y.chunks_mut(ROWS).enumerate() {
            let from = from + i * ROWS;
            let rows = from..from + y.len();
            begin(from, y);
            columns(rows.clone(), stored.columns_of(&rows), y);
        }
    };
    if stored.rows <= FLAT && stored.elements() >= PARALLEL {
        // Cut by columns, the same way for any number of threads.
        begin(0, y);
        let least = stored.cols.div_ceil(STRETCHES);
        let sums: Vec<Vec<T>> = (0..STRETCHES)
            .into_par_iter()
            .map(|i| {
                let mut sum = vec![T::default(); stored.rows];
                let stretch = (i * least).min(stored.cols)..((i + 1) * least).min(stored.cols);
                columns(0..stored.rows, stretch, &mut sum);
                sum
            })
            .collect();
        sums.iter().for_each(|sum| T::axpy(T::IDENTITY, sum, y));
    } else if parallel {
        let rows = stored.rows.div_ceil(4 * rayon::current_num_threads()).next_multiple_of(64).min(ROWS);
        y.par_chunks_mut(rows).enumerate().for_each(|(i, y)| block(i * rows, y));
    } else {
        block(0, y);
    }
}
