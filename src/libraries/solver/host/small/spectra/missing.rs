//! Orthonormal columns where some are missing.

use super::super::wide::{Real, Wide};
use super::singular::MOST;

/// In place of each missing column, which is zero, what two passes of Gram and Schmidt's method leave of the unit vector that has most
/// left. There are no more columns than rows, so that is at least one over the number of rows, squared.
#[inline(always)]
pub(super) fn complete<T: Real, const L: usize>(x: &mut [Wide<T, L>], rows: usize, missing: &[Wide<T, L>]) {
    let wanted = missing.len();
    for (slot, missing) in missing.iter().enumerate().filter(|(_, missing)| missing.any()) {
        let mut y = [Wide::zero(); MOST];
        for (y, i) in y.iter_mut().zip(0..rows) {
            for x in x.iter().skip(i).step_by(rows).take(wanted) {
                *y = x.fma(*x, *y);
            }
        }
        let (mut least, mut at) = (y[0], [0; L]);
        for (i, y) in y.iter().enumerate().take(rows) {
            for ((least, at), y) in least.0.iter_mut().zip(&mut at).zip(y.0) {
                (*least, *at) = if y < *least { (y, i) } else { (*least, *at) };
            }
        }
        for (i, y) in y.iter_mut().enumerate() {
            *y = Wide(at.map(|at| if at == i { T::ONE } else { T::default() }));
        }
        for _ in 0..2 {
            let mut sums = [Wide::zero(); MOST];
            for (sum, x) in sums.iter_mut().zip(x.chunks_exact(rows)).take(wanted) {
                for (x, y) in x.iter().zip(&y) {
                    *sum = x.fma(*y, *sum);
                }
            }
            for (sum, x) in sums.iter().zip(x.chunks_exact(rows)).take(wanted) {
                for (x, y) in x.iter().zip(&mut y) {
                    *y = sum.negative().fma(*x, *y);
                }
            }
        }
        let mut squares = Wide::zero();
        for y in y.iter().take(rows) {
            squares = y.fma(*y, squares);
        }
        let norm = squares.map(T::root);
        for (x, y) in x.iter_mut().skip(slot * rows).take(rows).zip(y) {
            *x = y.over(norm).or(*x, *missing);
        }
    }
}
