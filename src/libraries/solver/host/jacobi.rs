//! Rotations: one-sided ones (Hestenes) make columns orthogonal and give singular values; two-sided ones make a matrix
//! diagonal and give eigenvalues.

use super::super::method::Jacobi;
use super::super::method::Reached;
use super::number::{Number, conj, modulus, norm, re, real};
use super::singular::{Tall, Thin, ordered, orthonormalize};
use crate::core::room::{OrUnwind, collected, filled};
use crate::numerics::level3::view::MatMut;
use num_complex::Complex64;

/// The rotation that makes the off-diagonal element of `[alpha g; conj(g) beta]` zero: cosine, and the sine with the phase of g.
#[derive(Clone, Copy)]
struct Rotation<T> {
    c: T,
    s: T,
    phase: T,
    tangent: f64,
}

impl<T: Number> Rotation<T> {
    /// From `beta - alpha`, g and its modulus.
    fn new(difference: f64, g: Complex64, modulus: f64) -> Self {
        let zeta = difference / (2.0 * modulus);
        let tangent = 1f64.copysign(zeta) / (zeta.abs() + zeta.hypot(1.0));
        let c = 1.0 / tangent.hypot(1.0);
        Rotation { c: real(c), s: real(c * tangent), phase: T::rounded(g.conj() / modulus), tangent }
    }

    /// Replaces the columns p and q of a matrix by those of its product with the rotation.
    fn turn(self, p: &mut [T], q: &mut [T]) {
        let (from_q, q_from_q) = (self.s * self.phase, self.c * self.phase);
        for (p, q) in p.iter_mut().zip(q) {
            (*p, *q) = (self.c * *p - from_q * *q, self.s * *p + q_from_q * *q);
        }
    }
}

/// Singular values of a tall matrix. Returns the factors, an info, and what was reached.
pub(super) fn svd<T: Number>(a: Tall<T>, jacobi: Jacobi, vectors: bool, threads: usize) -> (Thin<T>, i32, Reached) {
    let (rows, n) = (a.rows, a.cols);
    let (reduced, tau, mut w) = a.reduced(threads);
    let mut v = filled(if vectors { n * n } else { 0 }, T::default()).or_unwind();
    v.iter_mut().step_by(n + 1).for_each(|x| *x = T::ONE);
    let least = T::EPSILON * (n as f64).sqrt();
    let tolerance = jacobi.tolerance.unwrap_or(0.0).max(least);
    let (mut sweeps, mut converged, mut rest) = (0, false, 0.0);
    while !converged && sweeps < jacobi.sweeps {
        sweeps += 1;
        (converged, rest) = orthogonalize(&mut w, &mut v, n, tolerance);
    }
    let s: Vec<f64> = collected(w.chunks_exact(n).map(norm)).or_unwind();
    let mut order: Vec<usize> = collected(0..n).or_unwind();
    order.sort_unstable_by(|i, j| s.get(*j).unwrap_or(&0.0).total_cmp(s.get(*i).unwrap_or(&0.0)).then(i.cmp(j)));
    let values: Vec<f64> = collected(order.iter().map(|i| s.get(*i).copied().unwrap_or(0.0))).or_unwind();
    let mut u = Vec::new();
    if vectors {
        v = ordered(&v, n, &order);
        u = ordered(&w, n, &order);
        for (column, s) in u.chunks_exact_mut(n).zip(&values) {
            column.iter_mut().for_each(|x| *x = x.over(real(*s)));
        }
        orthonormalize(&mut u, n);
        u = if rows > n || !tau.is_empty() { reduced.lifted(&tau, &u, threads) } else { u };
    }
    let info = if converged { 0 } else { n as i32 + 1 };
    (Thin { s: values, u, v }, info, Reached { sweeps: Some(sweeps as u32), error: Some(rest) })
}

/// One sweep over all pairs of columns. Returns whether all were orthogonal before, and how far from it they were.
fn orthogonalize<T: Number>(w: &mut [T], v: &mut [T], n: usize, tolerance: f64) -> (bool, f64) {
    let (mut converged, mut rest) = (true, 0.0);
    // Below this, what rounding leaves of a rotation is subnormal, and no rotation makes columns orthogonal.
    let least = 16.0 * n as f64 * T::LEAST / T::EPSILON;
    let mut norms: Vec<f64> = collected(w.chunks_exact(n).map(norm)).or_unwind();
    let Some(mut w) = MatMut::new(w, n, n, n) else { return (true, 0.0) };
    let mut v = MatMut::new(v, n, n, n);
    for p in 0..n {
        for q in p + 1..n {
            let (Some(one), Some(other)) = (norms.get(p).copied(), norms.get(q).copied()) else { continue };
            let Some((x, y)) = w.two_columns(p, q) else { continue };
            if one.min(other) < least {
                continue;
            }
            let cosine = cosine((x, one), (y, other));
            let size = cosine.norm();
            if size <= tolerance {
                continue;
            }
            converged = false;
            rest += size * size * one * other;
            // Relative to the norms, so that no square leaves the range.
            let rotation = Rotation::new(other / one - one / other, cosine, size);
            rotation.turn(x, y);
            if let Some((x, y)) = v.as_mut().and_then(|v| v.two_columns(p, q)) {
                rotation.turn(x, y);
            }
            let (x, y): (&[T], &[T]) = (x, y);
            let scale = one.max(other);
            let (a, b) = (one / scale, other / scale);
            let moved = rotation.tangent * size * a * b;
            for (at, before, after, column) in [(p, a * a, a * a - moved, x), (q, b * b, b * b + moved, y)] {
                if let Some(to) = norms.get_mut(at) {
                    // A difference that has lost its digits is computed anew.
                    *to = if after > 0.25 * before { scale * after.sqrt() } else { norm(column) };
                }
            }
        }
    }
    (converged, f64::sqrt(rest))
}

/// The inner product of two columns divided by their norms.
fn cosine<T: Number>((x, one): (&[T], f64), (y, other): (&[T], f64)) -> Complex64 {
    // If products of elements may be subnormal, every element is divided first.
    if one.min(1.0) * other.min(1.0) < T::LEAST / (T::EPSILON * T::EPSILON) {
        return x.iter().zip(y).map(|(x, y)| (x.wide() / one).conj() * (y.wide() / other)).sum();
    }
    T::dotc(x.len(), x, 1, y, 1).wide() / one / other
}

/// The eigenvalues of the lower triangle of a dense A, ascending, and the vectors. Returns whether it converged, and
/// what was reached.
pub(super) fn eigh<T: Number>(
    a: &[T],
    n: usize,
    w: &mut [T],
    vectors: Option<&mut [T]>,
    jacobi: Jacobi,
) -> (bool, Reached) {
    let element = |k: usize| {
        let (i, j) = (k % n, k / n);
        let stored = a.get(i.max(j) + i.min(j) * n).copied().unwrap_or_default();
        if i < j { conj(stored) } else { stored }
    };
    let mut x: Vec<T> = collected((0..n * n).map(element)).or_unwind();
    let mut v = filled(if vectors.is_some() { n * n } else { 0 }, T::default()).or_unwind();
    v.iter_mut().step_by(n + 1).for_each(|x| *x = T::ONE);
    let small = jacobi.tolerance.unwrap_or(0.0).max(T::EPSILON) * norm(&x) / n.max(1) as f64;
    let (mut sweeps, mut converged, mut rest) = (0, false, 0.0);
    while !converged && sweeps < jacobi.sweeps {
        sweeps += 1;
        (converged, rest) = diagonalize(&mut x, &mut v, n, small);
    }
    let values: Vec<f64> = collected(x.iter().step_by(n + 1).map(|x| re(*x))).or_unwind();
    let mut order: Vec<usize> = collected(0..n).or_unwind();
    let value = |i: &usize| values.get(*i).copied().unwrap_or(0.0);
    order.sort_unstable_by(|i, j| value(i).total_cmp(&value(j)).then(i.cmp(j)));
    for (w, i) in w.iter_mut().zip(&order) {
        *w = real(values.get(*i).copied().unwrap_or(f64::NAN));
    }
    if let Some(vectors) = vectors {
        vectors.iter_mut().zip(ordered(&v, n, &order)).for_each(|(to, x)| *to = x);
    }
    (converged, Reached { sweeps: Some(sweeps as u32), error: Some(rest) })
}

/// One sweep over all pairs of rows and columns. Returns whether all elements off the diagonal were small before, and
/// their norm.
fn diagonalize<T: Number>(x: &mut [T], v: &mut [T], n: usize, small: f64) -> (bool, f64) {
    let (mut converged, mut rest) = (true, 0.0);
    let Some(mut x) = MatMut::new(x, n, n, n) else { return (true, 0.0) };
    let mut v = MatMut::new(v, n, n, n);
    for p in 0..n {
        for q in p + 1..n {
            let g = x.get(p, q);
            let size = modulus(g);
            rest += 2.0 * size * size;
            if size <= small {
                continue;
            }
            converged = false;
            let (alpha, beta) = (re(x.get(p, p)), re(x.get(q, q)));
            let rotation = Rotation::new(beta - alpha, g.wide(), size);
            if let Some((p, q)) = x.two_columns(p, q) {
                rotation.turn(p, q);
            }
            if let Some((p, q)) = v.as_mut().and_then(|v| v.two_columns(p, q)) {
                rotation.turn(p, q);
            }
            for i in (0..n).filter(|i| *i != p && *i != q) {
                x.set(p, i, conj(x.get(i, p)));
                x.set(q, i, conj(x.get(i, q)));
            }
            let moved = rotation.tangent * size;
            x.set(p, p, real(alpha - moved));
            x.set(q, q, real(beta + moved));
            x.set(p, q, T::default());
            x.set(q, p, T::default());
        }
    }
    (converged, f64::sqrt(rest))
}
