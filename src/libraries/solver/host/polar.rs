//! Singular values by the polar decomposition `A = U * H` and the eigenvalues of H: Nakatsukasa and Higham ("Stable and efficient
//! spectral divide and conquer algorithms", SIAM J. Sci. Comput. 35, 2013), with the weighted Halley iteration by QR.

use super::super::method::Reached;
use super::number::{Number, norm, re, real};
use super::qr;
use super::singular::{Tall, Thin, ordered};
use super::spectra;
use crate::core::room::{OrUnwind, collected, copied, filled};
use crate::numerics::level3::threads as worth;
use crate::numerics::level3::view::{Mat, MatMut};

/// More iterations than any matrix needs.
const MOST: usize = 12;

/// Singular values of a tall matrix.
pub(super) fn svd<T: Number>(a: Tall<T>, threads: usize) -> (Thin<T>, i32, Reached) {
    let n = a.cols;
    let (reduced, tau, r) = a.reduced(threads);
    let largest = norm(&r);
    let unitary = factor(&r, n, largest, threads);
    let mut h = filled(n * n, T::default()).or_unwind();
    let mut w = filled(n, T::Part::default()).or_unwind();
    let many = threads.min(worth::<T>([n, n, n]));
    let mut info = 0;
    if let (Some(u), Some(r), Some(mut h)) =
        (Mat::new(&unitary, n, n, n), Mat::new(&r, n, n, n), MatMut::new(&mut h, n, n, n))
    {
        h.product(T::ONE, u.t().conj(true), r, T::default(), many);
        for j in 0..n {
            for i in j..n {
                let mean = (h.get(i, j) + super::number::conj(h.get(j, i))) * real::<T>(0.5);
                h.set(i, j, mean);
            }
        }
        info = spectra::eigh(&mut h, &mut w, true, threads);
    }
    let values: Vec<f64> = collected(w.iter().map(|w| (*w).into())).or_unwind();
    let size = |i: &usize| values.get(*i).map_or(0.0, |w| w.abs());
    let mut order: Vec<usize> = collected(0..n).or_unwind();
    order.sort_unstable_by(|i, j| size(j).total_cmp(&size(i)).then(i.cmp(j)));
    let s: Vec<f64> = collected(order.iter().map(size)).or_unwind();
    let v = ordered(&h, n, &order);
    let mut u = filled(n * n, T::default()).or_unwind();
    if let (Some(q), Some(v), Some(mut u)) =
        (Mat::new(&unitary, n, n, n), Mat::new(&v, n, n, n), MatMut::new(&mut u, n, n, n))
    {
        u.product(T::ONE, q, v, T::default(), many);
    }
    for (column, i) in u.chunks_exact_mut(n).zip(&order) {
        if values.get(*i).is_some_and(|w| *w < 0.0) {
            column.iter_mut().for_each(|x| *x = -*x);
        }
    }
    // If a value is near zero, the factor may not be unitary: make each column orthogonal to those before it.
    orthonormal(&mut u, n, threads);
    (Thin { s, u: reduced.lifted(&tau, &u, threads), v }, info, Reached { sweeps: None, error: Some(0.0) })
}

/// Replaces a square matrix by the Q of its `Q * R`, with a positive diagonal of R.
fn orthonormal<T: Number>(x: &mut [T], n: usize, threads: usize) {
    let mut tau = filled(n, T::default()).or_unwind();
    let Some(mut q) = MatMut::new(x, n, n, n) else { return };
    qr::factor(q.reborrow(), &mut tau, threads);
    let signs: Vec<bool> = collected((0..n).map(|j| re(q.get(j, j)) < 0.0)).or_unwind();
    qr::generate(q, &tau, threads);
    for (column, _) in x.chunks_exact_mut(n).zip(signs).filter(|(_, negative)| *negative) {
        column.iter_mut().for_each(|x| *x = -*x);
    }
}

/// The unitary factor of a square matrix, whose largest singular value is at most `largest`.
fn factor<T: Number>(a: &[T], n: usize, largest: f64, threads: usize) -> Vec<T> {
    let mut x = copied(a).or_unwind();
    if largest == 0.0 {
        return x;
    }
    x.iter_mut().for_each(|x| *x = x.over(real(largest)));
    // The value that is assumed for the smallest singular value.
    let mut least = T::EPSILON;
    let many = threads.min(worth::<T>([n, n, n]));
    for _ in 0..MOST {
        if (1.0 - least).abs() <= 10.0 * f64::EPSILON {
            break;
        }
        let square = least * least;
        let d = (4.0 * (1.0 - square) / (square * square)).cbrt();
        let root = (1.0 + d).sqrt();
        let one = root + 0.5 * (8.0 - 4.0 * d + 8.0 * (2.0 - square) / (square * root)).max(0.0).sqrt();
        let two = (one - 1.0) * (one - 1.0) / 4.0;
        let three = one + two - 1.0;
        // [sqrt(c) X; I] = Q * R, and X = b/c X + (a - b/c)/sqrt(c) Q1 * Q2^H.
        let mut stacked = filled(2 * n * n, T::default()).or_unwind();
        for (j, (to, from)) in stacked.chunks_exact_mut(2 * n).zip(x.chunks_exact(n)).enumerate() {
            to.iter_mut().zip(from).for_each(|(to, x)| *to = *x * real::<T>(three.sqrt()));
            to.iter_mut().skip(n + j).take(1).for_each(|x| *x = T::ONE);
        }
        let mut tau = filled(n, T::default()).or_unwind();
        let Some(mut q) = MatMut::new(&mut stacked, 2 * n, n, 2 * n) else { return x };
        qr::factor(q.reborrow(), &mut tau, threads);
        qr::generate(q.reborrow(), &tau, threads);
        let (top, low) = q.as_ref().split_rows(n);
        let Some(mut next) = MatMut::new(&mut x, n, n, n) else { return x };
        let factor = (one - two / three) / three.sqrt();
        next.product(real(factor), top, low.t().conj(true), real(two / three), many);
        least = (least * (one + two * square) / (1.0 + three * square)).min(1.0);
    }
    debug_assert!(x.iter().all(|x| !re(*x).is_nan()), "internal error: the iteration turned finite numbers into NaN");
    x
}
