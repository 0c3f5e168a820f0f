//! The steps of LU with partial pivoting, of matrices side by side; each element sees one fused step for each column, in their order, as
//! in the kernel `small_lu`.

use super::steps::{MOST, Panel};
use super::wide::{Real, Wide};

/// The factors in place of A, as LAPACK's `getrf`, and the rows that the first ones were swapped with. Returns the first zero on the
/// diagonal of U of each matrix, counted from 1, or 0.
#[inline(always)]
pub(super) fn factor<T: Real, const L: usize>(a: &mut Panel<'_, T, L>, pivots: &mut [[usize; L]; MOST]) -> [i32; L] {
    let (rows, mut infos) = (a.rows, [0; L]);
    let size = rows.min(a.x.len() / rows.max(1));
    for (k, pivots) in pivots.iter_mut().enumerate().take(size) {
        // The largest number, and the lowest of its rows; a NaN is none.
        #[expect(clippy::eq_op, reason = "a NaN alone is not itself")]
        let size = |x: T| if x == x { x.size() } else { -T::ONE };
        let mut most = Wide::<T, L>::of(-T::ONE);
        *pivots = [k; L];
        for (x, i) in a.column(k).iter().zip(0..).skip(k) {
            for ((most, at), x) in most.0.iter_mut().zip(pivots.iter_mut()).zip(x.0) {
                (*most, *at) = if size(x) > *most { (size(x), i) } else { (*most, *at) };
            }
        }
        for (info, most) in infos.iter_mut().zip(most.0) {
            *info = if *info == 0 && most == T::default() { k as i32 + 1 } else { *info };
        }
        a.columns().for_each(|column| swap(column, k, pivots));
        let Some((_, rest)) = a.x.split_at_mut_checked(k * rows) else { break };
        let Some((own, others)) = rest.split_at_mut_checked(rows) else { break };
        let Some((pivot, below)) = own.get_mut(k..).and_then(|c| c.split_first_mut()) else { break };
        // Below a zero there are zeros, which stay.
        let divisor = pivot.or(Wide::of(T::ONE), most.map(|x| if x == T::default() { x } else { T::ONE }));
        below.iter_mut().for_each(|x| *x = x.over(divisor));
        for column in others.chunks_exact_mut(rows) {
            let Some((head, tail)) = column.get_mut(k..).and_then(|c| c.split_first_mut()) else { break };
            for (y, l) in tail.iter_mut().zip(&*below) {
                *y = l.negative().fma(*head, *y);
            }
        }
    }
    infos
}

/// Swaps row `k` of each matrix with its pivot.
#[inline(always)]
pub(super) fn swap<T: Real, const L: usize>(column: &mut [Wide<T, L>], k: usize, pivots: &[usize; L]) {
    for (l, pivot) in pivots.iter().enumerate() {
        let one = column.get(k).and_then(|x| x.0.get(l)).copied();
        let other = column.get(*pivot).and_then(|x| x.0.get(l)).copied();
        if let (Some(one), Some(other)) = (one, other) {
            column.get_mut(k).and_then(|x| x.0.get_mut(l)).into_iter().for_each(|x| *x = other);
            column.get_mut(*pivot).and_then(|x| x.0.get_mut(l)).into_iter().for_each(|x| *x = one);
        }
    }
}
