//! Products of symmetric and Hermitian matrices, of which one triangle is stored.

use std::ops::Range;

use num_complex::Complex64;

use super::super::level1::Field;
use super::dense::{dense, holds, modify, scale};
use super::stored::{Column, Stored, common};
use super::{At, PARALLEL, PIECE};

/// Columns that a stretch has at least, and the most stretches there are.
const STRETCH: usize = 128;
const STRETCHES: usize = 32;
/// Bytes of four columns that are worked on twice while they are in the nearest cache.
const NEAR: usize = 16 << 10;

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
        stored.by_stretches((n / STRETCH).clamp(1, STRETCHES), y, &|stretch, rows, sum| {
            columns(&stored, hermitian, alpha, a, &x, stretch, rows.start, sum);
        });
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
    let finish = |j: usize, mirrored: Complex64, y: &mut [T]| {
        let diagonal = a.get(stored.beside(j).1).copied().unwrap_or_default();
        let factor = alpha * x.get(j).copied().unwrap_or_default();
        let diagonal = if hermitian { factor.times(diagonal.re()) } else { factor * diagonal };
        if let Some(y) = y.get_mut(j.wrapping_sub(base)) {
            *y = *y + diagonal + alpha * T::rounded(mirrored);
        }
    };
    let factor = |j: usize| alpha * x.get(j).copied().unwrap_or_default();
    let mut j = columns.start;
    while j + 4 <= columns.end {
        let four = [j, j + 1, j + 2, j + 3];
        let mirrored = beside_four(four.map(|j| stored.beside(j).0), hermitian, four.map(factor), a, x, base, y);
        four.into_iter().zip(mirrored).for_each(|(j, mirrored)| finish(j, mirrored, y));
        j += 4;
    }
    for j in j..columns.end {
        let mirrored = beside_one(stored.beside(j).0, hermitian, factor(j), a, x, base, y);
        finish(j, mirrored, y);
    }
}

/// Adds a column's elements times its factor to y, and gives the sum of their products with x.
fn beside_one<T: Field>(
    column: Column,
    hermitian: bool,
    factor: T,
    a: &[T],
    x: &[T],
    base: usize,
    y: &mut [T],
) -> Complex64 {
    let (elements, rows) = (column.of(a), column.rows(x));
    let mut mirrored = Complex64::default();
    let target = column.rows_mut(y, base);
    for ((a, x), y) in elements.chunks(PIECE).zip(rows.chunks(PIECE)).zip(target.chunks_mut(PIECE)) {
        T::axpy(factor, a, y);
        mirrored += T::dot(hermitian, a, x);
    }
    mirrored
}

/// The same for four columns: x and y are walked once for all of them, and memory sees each element once, for a piece of
/// four columns stays in the nearest cache between its two uses.
fn beside_four<T: Field>(
    columns: [Column; 4],
    hermitian: bool,
    factors: [T; 4],
    a: &[T],
    x: &[T],
    base: usize,
    y: &mut [T],
) -> [Complex64; 4] {
    let middle = common(&columns);
    let mut mirrored = [Complex64::default(); 4];
    // What not all four have, at the diagonal and at the end of a band.
    for ((column, factor), mirrored) in columns.iter().zip(factors).zip(&mut mirrored) {
        for rows in [column.first..middle.start, middle.end.max(column.first)..column.end()] {
            let part = column.within(&rows);
            if part.len > 0 {
                *mirrored += beside_one(part, hermitian, factor, a, x, base, y);
            }
        }
    }
    let most = NEAR / (4 * size_of::<T>());
    for first in middle.clone().step_by(most) {
        let rows = first..(first + most).min(middle.end);
        let elements = columns.map(|column| column.within(&rows).of(a));
        let piece = Column { first, len: rows.len(), at: 0 };
        let sums = T::axpy_dot4(hermitian, factors, elements, piece.rows(x), piece.rows_mut(y, base));
        mirrored.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
    }
    mirrored
}
