//! Solutions by factors of half the precision, refined: LAPACK's `dsgesv` and `zcgesv`.

use super::number::{Number, is_finite, modulus};
use super::{lu, part};
use crate::numerics::Field as _;
use crate::numerics::level3::threads as worth;
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

/// Rounds of refinement before it is given up, as in LAPACK.
const ROUNDS: usize = 30;

/// The most that a column sums up to, by modulus, of the largest column.
fn largest<T: Number>(x: Mat<'_, T>, j: usize) -> f64 {
    (0..x.rows()).map(|i| modulus(x.get(i, j))).fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
}

/// Rounded to the narrow type, dense.
fn narrow<T: Wide>(x: Mat<'_, T>) -> Option<Vec<T::Narrow>> {
    let mut all = Vec::with_capacity(x.rows().saturating_mul(x.cols()));
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

/// Solves `A * X = B`. How many rounds it took, or `None` where the whole precision was needed; with an info.
pub(super) fn solve<T: Wide>(
    a: Mat<'_, T>,
    b: Mat<'_, T>,
    mut x: MatMut<'_, T>,
    threads: usize,
) -> (i32, Option<usize>) {
    if let Some(rounds) = refined(a, b, x.reborrow(), threads) {
        return (0, Some(rounds));
    }
    let n = a.rows();
    let mut copy: Vec<T> = (0..n * n).map(|at| a.get(at % n, at / n)).collect();
    let Some(copy) = MatMut::new(&mut copy, n, n, n.max(1)) else { return (0, None) };
    for j in 0..x.cols() {
        (0..n).for_each(|i| x.set(i, j, b.get(i, j)));
    }
    (lu::both(copy, &mut vec![0; n], x, threads), None)
}

/// `None` where a number is too large for the narrow type, a pivot is zero in it, or the rounds did not do.
fn refined<T: Wide>(a: Mat<'_, T>, b: Mat<'_, T>, mut x: MatMut<'_, T>, threads: usize) -> Option<usize> {
    let (n, nrhs) = (a.rows(), b.cols());
    let norm = (0..n).map(|i| (0..n).map(|j| modulus(a.get(i, j))).sum::<f64>()).fold(0.0, f64::max);
    let enough = norm * T::EPSILON * (n as f64).sqrt();
    let mut factors = narrow(a)?;
    let mut pivots = vec![0; n];
    if lu::factor(MatMut::new(&mut factors, n, n, n.max(1))?, &mut pivots, threads) != 0 {
        return None;
    }
    let factors = Mat::new(&factors, n, n, n.max(1))?;
    let mut rest: Vec<T> = (0..n * nrhs).map(|at| b.get(at % n.max(1), at / n.max(1))).collect();
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
