//! LU factorization of one matrix with partial pivoting, and solutions and inverses from it: getrf, getrs, getri.
//!
//! The columns are split in half, recursively, down to a few columns: the left half is factored; its row interchanges
//! and its elimination are applied to the right half (by `triangle` and a product); then the right half is factored.

use pulp::{Arch, Simd, WithSimd};

use super::super::gemm::Native;
use super::super::simd::Lanes;
use super::triangle::{Action, Triangle, apply};
use super::view::{Mat, MatMut};

/// Up to this many columns are eliminated one by one.
const LEAF: usize = 16;

/// `P * A = L * U`, both stored in A, L without its diagonal of ones. Row `i` was swapped with row `pivots[i]`, counted
/// from 1 as in LAPACK. Returns the index of the first zero on the diagonal of U, counted from 1, or 0. A has at least
/// as many rows as columns; large products use up to `threads` threads.
pub(crate) fn factor<T: Native>(mut a: MatMut<'_, T>, pivots: &mut [i32], threads: usize) -> i32 {
    let n = a.cols();
    if n <= LEAF {
        return Arch::new().dispatch(Columns { a, pivots });
    }
    let at = n / 2;
    let (mut left, mut right) = a.reborrow().split_cols(at);
    let Some((first, last)) = pivots.split_at_mut_checked(at) else { return 0 };
    let mut info = factor(left.reborrow(), first, threads);
    swap_rows(&mut right, first, false);
    let (corner, below) = left.as_ref().split_rows(at);
    let (mut top, mut low) = right.reborrow().split_rows(at);
    let many = threads.min(super::threads::<T>([low.rows(), low.cols(), at]));
    apply(Action::Solve, Triangle { matrix: corner, lower: true, unit: true }, T::ONE, top.reborrow(), many);
    low.product(-T::ONE, below, top.as_ref(), T::ONE, many);
    let rest = factor(low, last, threads);
    if info == 0 && rest > 0 {
        info = rest + at as i32;
    }
    swap_rows(&mut left.split_rows(at).1, last, false);
    last.iter_mut().for_each(|pivot| *pivot += at as i32);
    info
}

/// Swaps row `i` with row `pivots[i]` for each i in turn, or from the last to the first.
pub(crate) fn swap_rows<T: Native>(x: &mut MatMut<'_, T>, pivots: &[i32], backward: bool) {
    let rows = x.rows();
    for j in 0..x.cols() {
        let Some(column) = x.column_mut(j) else { return };
        let mut swap = |(i, pivot): (usize, &i32)| {
            let to = usize::try_from(*pivot).unwrap_or(0).wrapping_sub(1);
            if i < rows && to < rows {
                column.swap(i, to);
            }
        };
        if backward {
            pivots.iter().enumerate().rev().for_each(&mut swap);
        } else {
            pivots.iter().enumerate().for_each(&mut swap);
        }
    }
}

/// The elimination of a few columns, one by one.
struct Columns<'a, 'p, T> {
    a: MatMut<'a, T>,
    pivots: &'p mut [i32],
}

/// `|re| + |im|`, by which LAPACK chooses pivots.
fn size<T: Native>(x: T) -> T::Real {
    let [re, im] = x.parts();
    re.abs() + im.abs()
}

impl<T: Native> WithSimd for Columns<'_, '_, T> {
    type Output = i32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> i32 {
        // Plain loops, which the compiler vectorizes: `dispatch` compiles them for the machine's instructions.
        if S::IS_SCALAR { self.eliminate::<false>() } else { self.eliminate::<true>() }
    }
}

impl<T: Native> Columns<'_, '_, T> {
    #[inline(always)]
    fn eliminate<const FMA: bool>(self) -> i32 {
        let Columns { mut a, pivots } = self;
        let mut info = 0;
        for (j, pivot) in pivots.iter_mut().enumerate().take(a.cols()) {
            let Some(column) = a.column_mut(j) else { return info };
            let (mut at, mut most) = (j, column.get(j).map_or(T::Real::default(), |x| size(*x)));
            for (i, x) in column.iter().enumerate().skip(j + 1) {
                if size(*x) > most {
                    (at, most) = (i, size(*x));
                }
            }
            *pivot = at as i32 + 1;
            if most == T::Real::default() {
                info = if info == 0 { j as i32 + 1 } else { info };
                continue;
            }
            for k in 0..a.cols() {
                if let Some(column) = a.column_mut(k) {
                    column.swap(j, at);
                }
            }
            let diagonal = a.get(j, j);
            if let Some((_, below)) = a.column_mut(j).and_then(|c| c.split_at_mut_checked(j + 1)) {
                below.iter_mut().for_each(|x| *x = quotient(*x, diagonal));
            }
            for k in j + 1..a.cols() {
                let Some((column, target)) = a.two_columns(j, k) else { return info };
                let Some((head, tail)) = target.split_at_mut_checked(j + 1) else { return info };
                let (Some(factor), Some(column)) = (head.last(), column.get(j + 1..)) else { return info };
                let factor = -*factor;
                tail.iter_mut().zip(column).for_each(|(y, x)| *y = y.add_product::<FMA>(*x, factor));
            }
        }
        info
    }
}

/// `x / y`; complex quotients without avoidable overflow.
#[inline(always)]
fn quotient<T: Native>(x: T, y: T) -> T {
    if T::WEIGHT > 1 {
        let [one, _] = T::ONE.parts();
        let (inverse, rest) = super::leaf::inverse(y.parts(), one);
        return T::of_parts((x * T::of_parts(inverse)).parts().map(|part| part / rest));
    }
    let ([x, zero], [y, _]) = (x.parts(), y.parts());
    T::of_parts([x / y, zero])
}

/// Solves `op(A) * X = B` from the factors of A, in place of B.
pub(crate) fn solve<T: Native>(
    lu: Mat<'_, T>,
    (transpose, conj): (bool, bool),
    pivots: &[i32],
    mut b: MatMut<'_, T>,
    threads: usize,
) {
    let threads = threads.min(super::threads::<T>([lu.rows(), lu.rows(), b.cols()]));
    let mut by =
        |matrix, lower, unit| apply(Action::Solve, Triangle { matrix, lower, unit }, T::ONE, b.reborrow(), threads);
    if transpose {
        // (P^T L U)^T = U^T L^T P, so the steps run in reverse order.
        let matrix = lu.t().conj(conj);
        by(matrix, true, false);
        by(matrix, false, true);
        return swap_rows(&mut b, pivots, true);
    }
    swap_rows(&mut b, pivots, false);
    apply(Action::Solve, Triangle { matrix: lu, lower: true, unit: true }, T::ONE, b.reborrow(), threads);
    apply(Action::Solve, Triangle { matrix: lu, lower: false, unit: false }, T::ONE, b, threads);
}

/// The index of the first zero on the diagonal of U, counted from 1, or 0.
pub(crate) fn first_zero<T: Native>(lu: Mat<'_, T>) -> i32 {
    (0..lu.rows().min(lu.cols())).find(|i| lu.get(*i, *i) == T::default()).map_or(0, |i| i as i32 + 1)
}

/// Computes the inverse from the factors, into `x`. If U has a zero on its diagonal, x becomes NaN and infinities.
pub(crate) fn invert<T: Native>(lu: Mat<'_, T>, pivots: &[i32], mut x: MatMut<'_, T>) {
    for j in 0..x.cols() {
        for i in 0..x.rows() {
            x.set(i, j, if i == j { T::ONE } else { T::default() });
        }
    }
    solve(lu, (false, false), pivots, x, 1);
}
