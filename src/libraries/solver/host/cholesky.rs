//! Cholesky factors, and triangular inverses. All of it is written for lower triangles: the transpose of an upper triangle
//! is a lower one, and it holds the factor of the conjugate matrix.

use super::number::{Number, re, real};
use super::part;
use crate::core::room::{OrUnwind, filled};
use crate::numerics::level3::rank::{self, Terms};
use crate::numerics::level3::threads as worth;
use crate::numerics::level3::triangle::{Action, Triangle, apply};
use crate::numerics::level3::view::{Mat, MatMut};

/// Up to this many rows are factored column by column.
const LEAF: usize = 32;

/// `A = L * L^H` in place of the lower triangle. Returns the order of the leading minor that is not positive, or 0.
pub(super) fn factor<T: Number>(mut a: MatMut<'_, T>, threads: usize) -> i32 {
    let n = a.rows();
    if n <= LEAF {
        return leaf(&mut a);
    }
    let at = (n / 2).next_multiple_of(LEAF).min(n - 1);
    let (top, low) = a.reborrow().split_rows(at);
    let (mut first, (mut square, mut last)) = (top.split_cols(at).0, low.split_cols(at));
    let info = factor(first.reborrow(), threads);
    if info != 0 {
        return info;
    }
    let many = threads.min(worth::<T>([n - at, at, at]));
    // X * L^H = A21, so conj(L) * X^T = A21^T.
    let l = Triangle { matrix: first.as_ref().conj(true), lower: true, unit: false };
    apply(Action::Solve, l, T::ONE, square.reborrow().t(), many);
    let (x, minus) = (square.as_ref(), -T::ONE);
    rank::lower(last.reborrow(), Terms { alpha: minus, a: x, b: x, two: false, hermitian: true }, T::ONE, many);
    match factor(last, threads) {
        0 => 0,
        info => info + at as i32,
    }
}

/// Factors column by column, in a local copy.
fn leaf<T: Number>(a: &mut MatMut<'_, T>) -> i32 {
    let n = a.rows();
    let mut room = [T::default(); LEAF * LEAF];
    for (j, column) in room.chunks_exact_mut(LEAF).enumerate().take(n) {
        column.iter_mut().enumerate().take(n).skip(j).for_each(|(i, x)| *x = a.get(i, j));
    }
    let mut info = 0;
    for j in 0..n {
        let (before, rest) = room.split_at_mut(j * LEAF);
        let Some(column) = rest.get_mut(..n) else { break };
        for earlier in before.chunks_exact(LEAF) {
            let factor = super::number::conj(earlier.get(j).copied().unwrap_or_default());
            let tail = column.iter_mut().zip(earlier).skip(j);
            tail.for_each(|(x, l)| *x = *x - *l * factor);
        }
        let pivot = column.get(j).map_or(0.0, |x| re(*x));
        if pivot <= 0.0 || pivot.is_nan() {
            info = j as i32 + 1;
            break;
        }
        let root = pivot.sqrt();
        column.iter_mut().skip(j + 1).for_each(|x| *x = x.over(real(root)));
        if let Some(x) = column.get_mut(j) {
            *x = real(root);
        }
    }
    for (j, column) in room.chunks_exact(LEAF).enumerate().take(n) {
        column.iter().enumerate().take(n).skip(j).for_each(|(i, x)| a.set(i, j, *x));
    }
    info
}

/// Solves `L * L^H * X = B` in place of B.
pub(super) fn solve<T: Number>(l: Mat<'_, T>, mut b: MatMut<'_, T>, threads: usize) {
    let threads = threads.min(worth::<T>([l.rows(), l.rows(), b.cols()]));
    apply(Action::Solve, Triangle { matrix: l, lower: true, unit: false }, T::ONE, b.reborrow(), threads);
    apply(Action::Solve, Triangle { matrix: l.t().conj(true), lower: false, unit: false }, T::ONE, b, threads);
}

/// Returns the first zero on the diagonal, counted from 1, or 0.
pub(super) fn first_zero<T: Number>(a: Mat<'_, T>) -> i32 {
    (0..a.rows()).find(|i| a.get(*i, *i) == T::default()).map_or(0, |i| i as i32 + 1)
}

/// Inverts a lower triangle in place. No element of its diagonal is zero.
pub(super) fn invert_triangle<T: Number>(mut a: MatMut<'_, T>, unit: bool, threads: usize) {
    let n = a.rows();
    if n <= LEAF {
        return invert_leaf(&mut a, unit);
    }
    let at = (n / 2).next_multiple_of(LEAF).min(n - 1);
    let (top, low) = a.reborrow().split_rows(at);
    let (first, (mut square, last)) = (top.split_cols(at).0, low.split_cols(at));
    let many = threads.min(worth::<T>([n - at, at, at]));
    let below = Triangle { matrix: last.as_ref(), lower: true, unit };
    apply(Action::Solve, below, -T::ONE, square.reborrow(), many);
    let beside = Triangle { matrix: first.as_ref().t(), lower: false, unit };
    apply(Action::Solve, beside, T::ONE, square.t(), many);
    invert_triangle(first, unit, threads);
    invert_triangle(last, unit, threads);
}

fn invert_leaf<T: Number>(a: &mut MatMut<'_, T>, unit: bool) {
    let n = a.rows();
    for j in (0..n).rev() {
        let diagonal = if unit { T::ONE } else { T::ONE.over(a.get(j, j)) };
        if !unit {
            a.set(j, j, diagonal);
        }
        // Column j below the diagonal: -L22^-1 * l * d, where L22^-1 has been computed already.
        for i in (j + 1..n).rev() {
            let mut sum = T::default();
            for k in j + 1..=i {
                let l = if unit && k == i { T::ONE } else { a.get(i, k) };
                sum += l * a.get(k, j);
            }
            a.set(i, j, -(sum * diagonal));
        }
    }
}

/// `A^-1 = L^-H * L^-1` in place of L, in its triangle. Returns the first zero on the diagonal, counted from 1, or 0.
pub(super) fn invert<T: Number>(mut a: MatMut<'_, T>, threads: usize) -> i32 {
    let (n, zero) = (a.rows(), first_zero(a.as_ref()));
    if zero != 0 || n == 0 {
        return zero;
    }
    let mut room = filled(n.saturating_mul(n), T::default()).or_unwind();
    let Some(mut w) = MatMut::new(&mut room, n, n, n) else { return 0 };
    for j in 0..n {
        (j..n).for_each(|i| w.set(i, j, a.get(i, j)));
    }
    invert_triangle(w.reborrow(), false, threads);
    let many = threads.min(worth::<T>([n, n, n]));
    let w = w.as_ref().t().conj(true);
    rank::lower(
        part(a.reborrow(), (0, 0), (n, n)),
        Terms { alpha: T::ONE, a: w, b: w, two: false, hermitian: true },
        T::default(),
        many,
    );
    0
}
