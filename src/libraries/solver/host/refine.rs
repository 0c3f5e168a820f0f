//! Solutions by factors of half the precision, refined: LAPACK's `dsgesv` and `zcgesv`, and least squares by Bjorck's refinement
//! of solution and residual together ("Iterative refinement of linear least squares solutions", BIT 7, 1967).

use super::number::{Number, is_finite, modulus};
use super::{lu, part, qr};
use crate::core::room::{OrUnwind, collected, filled, with_capacity};
use crate::numerics::Field as _;
use crate::numerics::gemm::Native;
use crate::numerics::level3::threads as worth;
use crate::numerics::level3::triangle::{Action, Triangle, apply};
use crate::numerics::level3::view::{Mat, MatMut};
use num_complex::Complex;

/// A type with one of half its precision.
pub(crate) trait Wide: Number {
    type Narrow: Number;
}

impl Wide for f64 {
    type Narrow = f32;
}

impl Wide for Complex<f64> {
    type Narrow = Complex<f32>;
}

/// The most rounds of refinement, as in LAPACK.
const ROUNDS: usize = 30;

/// The largest modulus in column `j`; NaN if there is one.
fn largest<T: Number>(x: Mat<'_, T>, j: usize) -> f64 {
    (0..x.rows()).map(|i| modulus(x.get(i, j))).fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
}

/// A copy without gaps.
fn dense<T: Wide>(x: Mat<'_, T>) -> Vec<T> {
    let rows = x.rows().max(1);
    collected((0..x.rows() * x.cols()).map(|at| x.get(at % rows, at / rows))).or_unwind()
}

/// A dense copy, rounded to the narrow type; `None` if a number is not finite in it.
fn narrow<T: Wide>(x: Mat<'_, T>) -> Option<Vec<T::Narrow>> {
    let mut all = with_capacity(x.rows().saturating_mul(x.cols())).or_unwind();
    for j in 0..x.cols() {
        for i in 0..x.rows() {
            let rounded = T::Narrow::rounded(x.get(i, j).wide());
            if !is_finite(rounded) {
                return None;
            }
            all.push(rounded);
        }
    }
    Some(all)
}

/// Solves `A * X = B`. Returns an info, and how many rounds it took, or `None` if the whole precision was needed.
pub(super) fn solve<T: Wide>(
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    mut x: MatMut<'_, T>,
    threads: usize,
) -> (i32, Option<usize>) {
    let (n, nrhs) = (a.cols(), b.cols());
    if a.rows() > n {
        if let Some(rounds) = refined_least_squares(a, b, x.reborrow(), threads) {
            return (0, Some(rounds));
        }
        let (mut copy, mut rest) = (dense(a), dense(b));
        let m = a.rows();
        let (Some(copy), Some(mut rest)) = (MatMut::new(&mut copy, m, n, m), MatMut::new(&mut rest, m, nrhs, m)) else {
            return (0, None);
        };
        let info = qr::least_squares(copy, rest.reborrow(), threads);
        for j in 0..nrhs {
            (0..n).for_each(|i| x.set(i, j, rest.get(i, j)));
        }
        return (info, None);
    }
    if let Some(rounds) = refined(a, b, x.reborrow(), threads) {
        return (0, Some(rounds));
    }
    let mut copy = dense(a);
    let Some(copy) = MatMut::new(&mut copy, n, n, n.max(1)) else { return (0, None) };
    for j in 0..x.cols() {
        (0..n).for_each(|i| x.set(i, j, b.get(i, j)));
    }
    (lu::both(copy, &mut filled(n, 0).or_unwind(), x, threads), None)
}

/// Solves by LU factors. Returns the rounds; `None` if a number is too large for the narrow type, a pivot is zero in
/// it, or the rounds did not suffice.
fn refined<T: Wide>(a: Mat<'_, T>, b: Mat<'_, T>, mut x: MatMut<'_, T>, threads: usize) -> Option<usize> {
    let (n, nrhs) = (a.rows(), b.cols());
    let norm = (0..n).map(|i| (0..n).map(|j| modulus(a.get(i, j))).sum::<f64>()).fold(0.0, f64::max);
    let enough = norm * T::EPSILON * (n as f64).sqrt();
    let mut factors = narrow(a)?;
    let mut pivots = filled(n, 0).or_unwind();
    if lu::factor(MatMut::new(&mut factors, n, n, n.max(1))?, &mut pivots, threads) != 0 {
        return None;
    }
    let factors = Mat::new(&factors, n, n, n.max(1))?;
    let mut rest = dense(b);
    x.scale(T::default());
    let many = threads.min(worth::<T>([n, n, nrhs]));
    for round in 0..=ROUNDS {
        let step = {
            let mut step = narrow(Mat::new(&rest, n, nrhs, n.max(1))?)?;
            lu::solve(factors, (false, false), &pivots, MatMut::new(&mut step, n, nrhs, n.max(1))?, threads);
            step
        };
        for (j, column) in step.chunks_exact(n.max(1)).enumerate() {
            column.iter().enumerate().for_each(|(i, d)| x.set(i, j, x.get(i, j) + T::rounded(d.wide())));
        }
        let mut r = MatMut::new(&mut rest, n, nrhs, n.max(1))?;
        for j in 0..nrhs {
            (0..n).for_each(|i| r.set(i, j, b.get(i, j)));
        }
        part(r.reborrow(), (0, 0), (n, nrhs)).product(-T::ONE, a, x.as_ref(), T::ONE, many);
        let (r, x) = (r.as_ref(), x.as_ref());
        let small = |j: usize| largest(r, j) <= largest(x, j) * enough;
        if (0..nrhs).all(small) {
            return Some(round);
        }
    }
    None
}

/// Solves least squares. Returns the rounds; `None` if a number is too large for the narrow type, a column depends on
/// others in it, or the rounds did not suffice.
///
/// With the residual `r` as an unknown, the equations are `r + A x = b` and `A^H r = 0`. What remains of both is
/// computed in the whole precision, and the narrow factors solve for the corrections.
fn refined_least_squares<T: Wide>(a: Mat<'_, T>, b: Mat<'_, T>, mut x: MatMut<'_, T>, threads: usize) -> Option<usize> {
    let (m, n, nrhs) = (a.rows(), a.cols(), b.cols());
    let mut factors = narrow(a)?;
    let mut tau = filled(n, T::Narrow::default()).or_unwind();
    qr::factor(MatMut::new(&mut factors, m, n, m)?, &mut tau, threads);
    let factors = Mat::new(&factors, m, n, m)?;
    let triangle = factors.block((0, 0), (n, n));
    if qr::dependent(triangle, m) != 0 {
        return None;
    }
    let upper = Triangle { matrix: triangle, lower: false, unit: false };
    let lower = Triangle { matrix: triangle.t().conj(true), lower: true, unit: false };
    let q = |adjoint, c: MatMut<'_, T::Narrow>| {
        qr::multiply(qr::Apply { left: true, adjoint }, factors, &tau, c, threads);
    };
    let many = threads.min(worth::<T>([m, n, nrhs]));
    x.scale(T::default());
    let mut r = filled(m * nrhs, T::default()).or_unwind();
    for round in 0..=ROUNDS {
        // f = b - r - A x, and g = -A^H r.
        let mut f: Vec<T> = collected(dense(b).into_iter().zip(&r).map(|(b, r)| b - *r)).or_unwind();
        MatMut::new(&mut f, m, nrhs, m)?.product(-T::ONE, a, x.as_ref(), T::ONE, many);
        let mut g = filled(n * nrhs, T::default()).or_unwind();
        MatMut::new(&mut g, n, nrhs, n.max(1))?.product(
            -T::ONE,
            a.t().conj(true),
            Mat::new(&r, m, nrhs, m)?,
            T::default(),
            many,
        );
        let mut step = narrow(Mat::new(&f, m, nrhs, m)?)?;
        let mut other = narrow(Mat::new(&g, n, nrhs, n.max(1))?)?;
        // h = R^-H g; with Q^H f = (f1, f2): dr = Q (h, f2), dx = R^-1 (f1 - h).
        apply(Action::Solve, lower, <T::Narrow as Native>::ONE, MatMut::new(&mut other, n, nrhs, n.max(1))?, many);
        q(true, MatMut::new(&mut step, m, nrhs, m)?);
        for (f, h) in step.chunks_exact_mut(m).zip(other.chunks_exact_mut(n.max(1))) {
            f.iter_mut().zip(h).for_each(|(f, h)| (*f, *h) = (*h, *f - *h));
        }
        apply(Action::Solve, upper, <T::Narrow as Native>::ONE, MatMut::new(&mut other, n, nrhs, n.max(1))?, many);
        q(false, MatMut::new(&mut step, m, nrhs, m)?);
        r.iter_mut().zip(step).for_each(|(r, d)| *r += T::rounded(d.wide()));
        let mut small = true;
        for (j, column) in other.chunks_exact(n.max(1)).enumerate() {
            column.iter().enumerate().for_each(|(i, d)| x.set(i, j, x.get(i, j) + T::rounded(d.wide())));
            let moved =
                column.iter().map(|d| modulus(*d)).fold(0.0, |most, d| if d > most || d.is_nan() { d } else { most });
            // The step itself is accurate to half the precision, so what remains is smaller than the step by that
            // factor.
            let enough = largest(x.as_ref(), j) * T::EPSILON / T::Narrow::EPSILON * (n as f64).sqrt();
            small &= moved <= enough.min(largest(x.as_ref(), j));
        }
        if small && round > 0 {
            return Some(round);
        }
    }
    None
}
