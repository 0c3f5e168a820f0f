//! Rank-1 and rank-2 updates of a matrix.

use super::super::level1::Field;
use super::super::parallel::both;
use super::dense::{dense, holds};
use super::stored::Stored;
use super::{At, PARALLEL, TASK};

/// Calls `f(j, first row, elements)` with the stored part of each column, in parallel for large matrices.
fn each_column<T: Field>(stored: &Stored, a: &mut [T], f: &(impl Fn(usize, usize, &mut [T]) + Sync)) {
    if stored.elements() < PARALLEL {
        return some_columns(stored, a, 0, 0, stored.cols, stored.cols, f);
    }
    let most = TASK.div_ceil((stored.elements() / stored.cols.max(1)).max(1));
    some_columns(stored, a, 0, 0, stored.cols, most, f);
}

/// The same for the columns `from..to`, in tasks of at most `most` columns; `a[0]` is element `base` of the matrix.
fn some_columns<T: Field>(
    stored: &Stored,
    a: &mut [T],
    base: usize,
    from: usize,
    to: usize,
    most: usize,
    f: &(impl Fn(usize, usize, &mut [T]) + Sync),
) {
    if to - from <= most {
        for j in from..to {
            let column = stored.column(j);
            if let Some(elements) = a.get_mut(column.at - base..).and_then(|a| a.get_mut(..column.len)) {
                f(j, column.first, elements);
            }
        }
        return;
    }
    let middle = from + (to - from) / 2;
    let at = stored.column(middle).at;
    let Some((left, right)) = a.split_at_mut_checked(at - base) else {
        return;
    };
    both(
        || some_columns(stored, left, base, from, middle, most, f),
        || some_columns(stored, right, at, middle, to, most, f),
    );
}

/// `A = alpha * x * y^T + A`, or `alpha * x * y^H + A`.
#[expect(clippy::too_many_arguments, reason = "the routine's own")]
pub(crate) fn ger<T: Field>(stored: Stored, conj: bool, alpha: T, x: &[T], x_at: At, y: &[T], y_at: At, a: &mut [T]) {
    let fits = (x_at.n, y_at.n) == (stored.rows, stored.cols) && holds(x_at, x.len()) && holds(y_at, y.len());
    if alpha == T::default() || !fits || !stored.fits(a.len()) || stored.rows == 0 {
        return;
    }
    let (x, y) = (dense(x, x_at), dense(y, y_at));
    each_column(&stored, a, &|j, _, column| {
        let factor = y.get(j).copied().unwrap_or_default().conj_if(conj);
        T::axpy(alpha * factor, &x, column);
    });
}

/// `A = alpha * x * x^T + A`, or `alpha * x * x^H + A` with the real part of `alpha`, on a triangle.
pub(crate) fn syr<T: Field>(stored: Stored, hermitian: bool, alpha: T, x: &[T], at: At, a: &mut [T]) {
    if alpha == T::default() || !holds(at, x.len()) || at.n != stored.cols || !stored.fits(a.len()) {
        return;
    }
    let x = dense(x, at);
    each_column(&stored, a, &|j, first, column| {
        let factor = x.get(j).copied().unwrap_or_default().conj_if(hermitian);
        let factor = if hermitian { factor.times(alpha.re()) } else { alpha * factor };
        T::axpy(factor, x.get(first..).unwrap_or_default(), column);
        if hermitian {
            real_diagonal(column, j - first);
        }
    });
}

/// `A = alpha * x * y^T + alpha * y * x^T + A`, or `alpha * x * y^H + conj(alpha) * y * x^H + A`, on a triangle.
#[expect(clippy::too_many_arguments, reason = "the routine's own")]
pub(crate) fn syr2<T: Field>(
    stored: Stored,
    hermitian: bool,
    alpha: T,
    x: &[T],
    x_at: At,
    y: &[T],
    y_at: At,
    a: &mut [T],
) {
    let n = stored.cols;
    let fits = (x_at.n, y_at.n) == (n, n) && holds(x_at, x.len()) && holds(y_at, y.len()) && stored.fits(a.len());
    if alpha == T::default() || !fits {
        return;
    }
    let (x, y) = (dense(x, x_at), dense(y, y_at));
    each_column(&stored, a, &|j, first, column| {
        let at = |x: &[T]| x.get(j).copied().unwrap_or_default().conj_if(hermitian);
        T::axpy(alpha * at(&y), x.get(first..).unwrap_or_default(), column);
        T::axpy(alpha.conj_if(hermitian) * at(&x), y.get(first..).unwrap_or_default(), column);
        if hermitian {
            real_diagonal(column, j - first);
        }
    });
}

/// Sets the imaginary part of a Hermitian diagonal element to zero.
fn real_diagonal<T: Field>(column: &mut [T], at: usize) {
    if let Some(diagonal) = column.get_mut(at) {
        *diagonal = T::from_part(diagonal.re());
    }
}
