//! LU factors with partial pivoting of matrices of any shape, on the recursion of `numerics::level3::lu`.

use super::number::Number;
use crate::core::room::{OrUnwind, collected, filled};
use crate::numerics::level3::lu;
use crate::numerics::level3::threads as worth;
use crate::numerics::level3::triangle::{Action, Triangle, apply};
use crate::numerics::level3::view::{Mat, MatMut};

/// `P * A = L * U` in place of an `m x n` A. Row `i` was swapped with row `pivots[i]`, counted from 1. Returns the
/// first zero on the diagonal of U, counted from 1, or 0.
pub(super) fn factor<T: Number>(mut a: MatMut<'_, T>, pivots: &mut [i64], threads: usize) -> i32 {
    let (m, n) = (a.rows(), a.cols());
    let size = m.min(n);
    if size == 0 {
        return 0; // nothing to do, whatever the other size is
    }
    let mut short = filled(size, 0i32).or_unwind();
    let info = if m >= n {
        lu::factor(a, &mut short, threads)
    } else {
        let (mut left, mut right) = a.reborrow().split_cols(m);
        let info = lu::factor(left.reborrow(), &mut short, threads);
        lu::swap_rows(&mut right, &short, false);
        let threads = threads.min(worth::<T>([m, m, n - m]));
        apply(Action::Solve, Triangle { matrix: left.as_ref(), lower: true, unit: true }, T::ONE, right, threads);
        info
    };
    pivots.iter_mut().zip(short).for_each(|(long, short)| *long = i64::from(short));
    info
}

/// Pivots in the type of the recursion. One that is not a row number becomes 0, which swaps nothing.
fn short(pivots: &[i64]) -> Vec<i32> {
    collected(pivots.iter().map(|pivot| i32::try_from(*pivot).unwrap_or(0))).or_unwind()
}

/// Solves `op(A) * X = B` in place of B.
pub(super) fn solve<T: Number>(
    factors: Mat<'_, T>,
    (transpose, conj): (bool, bool),
    pivots: &[i64],
    b: MatMut<'_, T>,
    threads: usize,
) {
    lu::solve(factors, (transpose, conj), &short(pivots), b, threads);
}

/// Writes the inverse to `c`: U^-1 * L^-1 * P. Returns the first zero on the diagonal of U, counted from 1, or 0; if it
/// is not 0, c is the identity.
pub(super) fn invert<T: Number>(factors: Mat<'_, T>, pivots: &[i64], mut c: MatMut<'_, T>, threads: usize) -> i32 {
    let n = factors.rows();
    for j in 0..n {
        for i in 0..n {
            c.set(i, j, if i == j { T::ONE } else { T::default() });
        }
    }
    let zero = lu::first_zero(factors);
    if zero == 0 {
        lu::solve(factors, (false, false), &short(pivots), c, threads);
    }
    zero
}

/// Solves `A * X = B`: the factors replace A, and the solutions replace B unless A is singular.
pub(super) fn both<T: Number>(mut a: MatMut<'_, T>, pivots: &mut [i64], b: MatMut<'_, T>, threads: usize) -> i32 {
    let info = factor(a.reborrow(), pivots, threads);
    if info == 0 {
        solve(a.as_ref(), (false, false), pivots, b, threads);
    }
    info
}
