//! Least squares of any rank, by singular values.

use super::number::{Number, real};
use super::spectra;
use crate::numerics::level3::threads as worth;
use crate::numerics::level3::view::{Mat, MatMut};

/// The X of least norm among those that make `||A * X - B||` least, in the first rows of B, with the singular values of
/// A and the sum of squares of each column of `B - A * X`. Values of at most `rcond` times the first count as zero.
/// Returns how many values did not converge, and the rank.
pub(super) fn solve<T: Number>(
    a: Mat<'_, T>,
    mut b: MatMut<'_, T>,
    (s, residuals): (&mut [T::Part], &mut [T::Part]),
    rcond: f64,
    threads: usize,
) -> (i32, i32) {
    let (m, n, columns) = (a.rows(), a.cols(), b.cols());
    let k = m.min(n);
    let room = |rows: usize, cols: usize| vec![T::default(); rows.saturating_mul(cols)];
    let (mut u, mut vh, mut c, mut x) = (room(m, k), room(k, n), room(k, columns), room(n, columns));
    let (Some(mut u), Some(mut vh), Some(mut c), Some(mut x)) = (
        MatMut::new(&mut u, m, k, m.max(1)),
        MatMut::new(&mut vh, k, n, k.max(1)),
        MatMut::new(&mut c, k, columns, k.max(1)),
        MatMut::new(&mut x, n, columns, n.max(1)),
    ) else {
        return (0, 0);
    };
    let Some(power) = spectra::svd_near_one(a, s, Some((u.reborrow(), vh.reborrow())), threads) else {
        return (k as i32, 0);
    };
    let values: Vec<f64> = s.iter().map(|s| (*s).into()).collect();
    let least = rcond * values.first().copied().unwrap_or(0.0);
    let rank = values.iter().filter(|s| **s > least).count();
    let many = threads.min(worth::<T>([m, columns, n]));
    let mut rows = b.reborrow().split_rows(m).0;
    c.product(T::ONE, u.as_ref().t().conj(true), rows.as_ref(), T::default(), many);
    for j in 0..columns {
        let Some(column) = c.column_mut(j) else { break };
        for (i, (x, s)) in column.iter_mut().zip(&values).enumerate() {
            *x = if i < rank { x.over(real(*s)) } else { T::default() };
        }
    }
    x.product(T::ONE, vh.as_ref().t().conj(true), c.as_ref(), T::default(), many);
    x.each(|x| power.inverse().times(x));
    let part = |s: T::Part| crate::numerics::Field::re(power.times(T::from_part(s)));
    s.iter_mut().for_each(|s| *s = part(*s));
    rows.product(-T::ONE, a, x.as_ref(), T::ONE, many);
    for (j, sum) in residuals.iter_mut().enumerate() {
        let rest = rows.as_ref().column(j).unwrap_or_default();
        let square = rest.iter().map(|x| x.wide().norm_sqr()).sum::<f64>();
        *sum = crate::numerics::Field::re(real::<T>(square));
    }
    for j in 0..columns {
        (0..n).for_each(|i| b.set(i, j, x.as_ref().get(i, j)));
    }
    (0, rank as i32)
}
