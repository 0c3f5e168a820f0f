//! Products of symmetric and Hermitian matrices, of which one triangle is stored.

use std::ops::Range;

use super::super::level1::Field;
use super::dense::{conjugate, dense, holds, modify, scale};
use super::stored::Stored;
use super::walk::Panel;
use super::{At, PARALLEL};

/// Minimum number of columns per stretch; below, the maximum number of stretches.
const STRETCH: usize = 128;
const STRETCHES: usize = 16;

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
    let factor = |j: usize| alpha * x.get(j).copied().unwrap_or_default();
    let beside = conjugate(hermitian, &x);
    // Adds to these rows of y the contribution of these columns, and of the rows that mirror them.
    let add = |columns: Range<usize>, rows: Range<usize>, y: &mut [T]| {
        let (base, x) = (rows.start, beside.get(rows.clone()).unwrap_or_default());
        let panel = Panel { stored: &stored, a, rows, beside: true };
        panel.both(columns, factor, x, y, |j, mirrored, y| {
            let diagonal = a.get(stored.beside(j).1).copied().unwrap_or_default();
            let diagonal = if hermitian { factor(j).times(diagonal.re()) } else { factor(j) * diagonal };
            if let Some(y) = y.get_mut(j.wrapping_sub(base)) {
                *y = *y + diagonal + alpha * T::rounded(mirrored).conj_if(hermitian);
            }
        });
    };
    modify(y, y_at, |y| {
        scale(beta, y);
        if stored.elements() < PARALLEL {
            return add(0..n, 0..n, y);
        }
        stored.by_stretches((n / STRETCH).clamp(1, STRETCHES), y, &add);
    });
}
