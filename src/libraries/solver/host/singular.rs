//! Singular values by a given method. Each method decomposes a dense matrix with at least as many rows as columns,
//! whose largest number is near one, into thin factors. This file transposes and scales the matrix, and completes and
//! writes out the factors.

use super::super::method::Reached;
use super::super::method::SvdMethod;
use super::number::{Number, conj, is_finite, modulus, norm, real};
use super::{jacobi, polar, qr, randomized, spectra};
use crate::core::room::{OrUnwind, collected, copied, filled, grown, with_capacity};
use crate::numerics::level3::view::{Mat, MatMut};

/// A dense matrix with at least as many rows as columns.
pub(super) struct Tall<T> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) x: Vec<T>,
}

/// Descending values, and as many columns of U and V.
pub(super) struct Thin<T> {
    pub(super) s: Vec<f64>,
    pub(super) u: Vec<T>,
    pub(super) v: Vec<T>,
}

/// As [`spectra::svd`], by `method`.
pub(super) fn svd_by<T: Number>(
    a: Mat<'_, T>,
    s: &mut [T::Part],
    mut vectors: Option<(MatMut<'_, T>, MatMut<'_, T>)>,
    method: &SvdMethod,
    threads: usize,
) -> (i32, Reached) {
    let (m, n) = (a.rows(), a.cols());
    let size = m.min(n);
    if size == 0 || matches!(method, SvdMethod::Auto | SvdMethod::Bidiagonal) {
        return (spectra::svd(a, s, vectors, threads), Reached::default());
    }
    let Some((dense, power)) = spectra::scaled(a, false) else {
        s.iter_mut().for_each(|s| *s = crate::numerics::Field::re(real::<T>(f64::NAN)));
        if let Some((u, vh)) = &mut vectors {
            spectra::nan(u);
            spectra::nan(vh);
        }
        return (size as i32, Reached::default());
    };
    let tall = if m >= n { Tall { rows: m, cols: n, x: dense } } else { turned(&dense, m, n) };
    let wanted = vectors.is_some();
    let (mut thin, info, mut reached) = match method {
        SvdMethod::Auto | SvdMethod::Bidiagonal => return (0, Reached::default()),
        SvdMethod::Jacobi(how) => jacobi::svd(tall, *how, wanted, threads),
        SvdMethod::Polar => polar::svd(tall, threads),
        SvdMethod::Randomized(how) => randomized::svd(tall, *how, threads),
    };
    reached.error = reached.error.map(|error| power.of(error));
    for (s, value) in s.iter_mut().zip(&thin.s) {
        *s = crate::numerics::Field::re(real::<T>(power.of(*value)));
    }
    if let Some((u, vh)) = &mut vectors {
        let k = thin.s.len();
        let (left, right) = if m >= n { (&mut thin.u, &mut thin.v) } else { (&mut thin.v, &mut thin.u) };
        complete(left, m, k, u.cols(), threads);
        complete(right, n, k, vh.rows(), threads);
        for (j, column) in left.chunks_exact(m).enumerate() {
            column.iter().enumerate().for_each(|(i, x)| u.set(i, j, *x));
        }
        for (j, column) in right.chunks_exact(n).enumerate() {
            column.iter().enumerate().for_each(|(i, x)| vh.set(j, i, conj(*x)));
        }
    }
    (info, reached)
}

/// The adjoint of a dense `m x n`.
fn turned<T: Number>(x: &[T], m: usize, n: usize) -> Tall<T> {
    let at = |i: usize, j: usize| x.get(i + j * m).copied().map_or(T::default(), conj);
    Tall { rows: n, cols: m, x: collected((0..m * n).map(|k| at(k / n, k % n))).or_unwind() }
}

/// Extends the first `have` of orthonormal columns of `rows` elements to `want` orthonormal columns.
pub(super) fn complete<T: Number>(x: &mut Vec<T>, rows: usize, have: usize, want: usize, threads: usize) {
    if have >= want {
        return;
    }
    x.truncate(rows.saturating_mul(have));
    let (given, mut tau) = (copied(x).or_unwind(), filled(have, T::default()).or_unwind());
    if let Some(v) = MatMut::new(x, rows, have, rows.max(1)) {
        qr::factor(v, &mut tau, threads);
    }
    grown(x, rows.saturating_mul(want), T::default()).or_unwind();
    if let Some(q) = MatMut::new(x, rows, want, rows.max(1)) {
        qr::generate(q, &tau, threads);
    }
    // The first ones of Q differ from the given ones only in sign: keep the given ones.
    x.iter_mut().zip(given).for_each(|(x, given)| *x = given);
}

/// Makes columns of `rows` elements orthonormal, from the first to the last, by two passes of Gram and Schmidt's method.
/// A column of which nothing is left, or that is not finite, is replaced by one that is orthogonal to those before it.
///
/// One-sided rotations make columns orthogonal relative to their norms. But a column that depends on others becomes
/// smaller in each sweep until it underflows; then it has no direction of its own.
pub(super) fn orthonormalize<T: Number>(x: &mut [T], rows: usize) {
    let count = x.len().checked_div(rows).unwrap_or(0);
    // The sum of squares of each row over the columns so far: a unit vector of a row with a small sum has most left.
    let mut weights = vec![0.0; rows];
    for j in 0..count {
        let (before, rest) = x.split_at_mut(j * rows);
        let Some(column) = rest.get_mut(..rows) else { return };
        let size = norm(column);
        if !(project(before, column, size) > 0.5 && column.iter().all(|x| is_finite(*x))) {
            let mut least: Vec<usize> = (0..rows).collect();
            least.sort_by(|i, k| {
                let weight = |i: &usize| weights.get(*i).copied().unwrap_or(0.0);
                f64::total_cmp(&weight(i), &weight(k))
            });
            for place in least {
                column.iter_mut().enumerate().for_each(|(i, x)| *x = if i == place { T::ONE } else { T::default() });
                // At least one unit vector keeps this much, since fewer columns than rows are taken.
                if project(before, column, 1.0) > 0.5 / (rows as f64).sqrt() {
                    break;
                }
            }
        }
        let size = norm(column);
        column.iter_mut().for_each(|x| *x = x.over(real(size)));
        weights.iter_mut().zip(column.iter()).for_each(|(weight, x)| *weight += modulus(*x).powi(2));
    }
}

/// Subtracts the projections on orthonormal columns, twice. Returns the part of `size` that the first pass has left, or
/// 0 if the second one takes away more than rounding.
fn project<T: Number>(before: &[T], column: &mut [T], size: f64) -> f64 {
    let rows = column.len();
    let mut left = [size; 3];
    for pass in 1..3 {
        for other in before.chunks_exact(rows.max(1)) {
            let along = T::dotc(rows, other, 1, column, 1);
            <T as crate::numerics::Field>::axpy(-along, other, column);
        }
        if let Some(left) = left.get_mut(pass) {
            *left = norm(column);
        }
    }
    let [all, first, second] = left;
    if second > 0.5 * first && all > 0.0 { first / all } else { 0.0 }
}

impl<T: Number> Tall<T> {
    /// The QR factors: the reflectors, tau, and R.
    pub(super) fn reduced(mut self, threads: usize) -> (Tall<T>, Vec<T>, Vec<T>) {
        let (rows, cols) = (self.rows, self.cols);
        let mut tau = filled(cols, T::default()).or_unwind();
        if let Some(a) = MatMut::new(&mut self.x, rows, cols, rows) {
            qr::factor(a, &mut tau, threads);
        }
        let at = |k: usize| (k % cols, k / cols);
        let of = |(i, j): (usize, usize)| if i > j { None } else { self.x.get(i + j * rows).copied() };
        let r = collected((0..cols * cols).map(|k| of(at(k)).unwrap_or_default())).or_unwind();
        (self, tau, r)
    }

    /// `Q * U` for a square U.
    pub(super) fn lifted(&self, tau: &[T], u: &[T], threads: usize) -> Vec<T> {
        let (rows, cols) = (self.rows, self.cols);
        let mut all = filled(rows * cols, T::default()).or_unwind();
        for (to, from) in all.chunks_exact_mut(rows).zip(u.chunks_exact(cols)) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
        if let (Some(v), Some(c)) = (Mat::new(&self.x, rows, cols, rows), MatMut::new(&mut all, rows, cols, rows)) {
            qr::multiply(qr::Apply { left: true, adjoint: false }, v, tau, c, threads);
        }
        all
    }
}

/// The columns in the given order.
pub(super) fn ordered<T: Copy>(x: &[T], rows: usize, order: &[usize]) -> Vec<T> {
    let mut all = with_capacity(rows.saturating_mul(order.len())).or_unwind();
    let columns = order.iter().flat_map(|j| x.get(j * rows..(j + 1) * rows).unwrap_or_default());
    all.extend(columns.copied());
    all
}
