//! Products of symmetric and Hermitian matrices, of which one triangle is stored.

use std::ops::Range;

use num_complex::Complex64;

use super::super::level1::Field;
use super::super::parallel;
use super::dense::{dense, holds, modify, scale};
use super::stored::Stored;
use super::{At, PARALLEL, PIECE};

/// Columns that a stretch has at least, and the most stretches there are.
const STRETCH: usize = 128;
const STRETCHES: usize = 32;

/// `y = alpha * A * x + beta * y`. A Hermitian diagonal counts as real.
#[expect(clippy::too_many_arguments, reason = "the routine's own")]
pub(crate) fn symv<T: Field>(
    stored: Stored,
    hermitian: bool,
    alpha: T,
    a: &[T],
    x: &[T],
    x_at: At,
    beta: T,
    y: &mut [T],
    y_at: At,
) {
    let n = stored.cols;
    let fits = stored.fits(a.len()) && holds(x_at, x.len()) && holds(y_at, y.len()) && (x_at.n, y_at.n) == (n, n);
    if n == 0 || stored.rows != n || !fits {
        return;
    }
    if alpha == T::default() {
        return modify(y, y_at, |y| scale(beta, y));
    }
    let x = dense(x, x_at);
    modify(y, y_at, |y| {
        scale(beta, y);
        if stored.elements() < PARALLEL {
            return columns(&stored, hermitian, alpha, a, &x, 0..n, 0, y);
        }
        let stretches = (n / STRETCH).clamp(1, STRETCHES);
        let least = n.div_ceil(stretches);
        let sums: Vec<(usize, Vec<T>)> = parallel::map(stretches, &|i| {
            let stretch = (i * least).min(n)..((i + 1) * least).min(n);
            let rows = stored.rows_of(&stretch);
            let mut sum = vec![T::default(); rows.len()];
            columns(&stored, hermitian, alpha, a, &x, stretch, rows.start, &mut sum);
            (rows.start, sum)
        });
        for (first, sum) in sums {
            T::axpy(T::IDENTITY, &sum, y.get_mut(first..).unwrap_or_default());
        }
    });
}

/// Adds what these columns, and the rows that mirror them, contribute to y, which begins with row `base`.
#[expect(clippy::too_many_arguments, reason = "the routine's own")]
fn columns<T: Field>(
    stored: &Stored,
    hermitian: bool,
    alpha: T,
    a: &[T],
    x: &[T],
    columns: Range<usize>,
    base: usize,
    y: &mut [T],
) {
    for j in columns {
        let (column, diagonal) = stored.beside(j);
        let factor = alpha * x.get(j).copied().unwrap_or_default();
        let (elements, rows) = (column.of(a), column.rows(x));
        let mut mirrored = Complex64::default();
        let target = column.rows_mut(y, base);
        for ((a, x), y) in elements.chunks(PIECE).zip(rows.chunks(PIECE)).zip(target.chunks_mut(PIECE)) {
            T::axpy(factor, a, y);
            mirrored += T::dot(hermitian, a, x);
        }
        let diagonal = a.get(diagonal).copied().unwrap_or_default();
        let diagonal = if hermitian { factor.times(diagonal.re()) } else { factor * diagonal };
        if let Some(y) = y.get_mut(j.wrapping_sub(base)) {
            *y = *y + diagonal + alpha * T::rounded(mirrored);
        }
    }
}
