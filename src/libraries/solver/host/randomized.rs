//! The largest singular values by random projections (Halko, Martinsson and Tropp, 2011).

use super::super::method::Randomized;
use super::super::method::Reached;
use super::number::{Number, conj};
use super::singular::{Tall, Thin};
use super::{qr, spectra};
use crate::core::room::{OrUnwind, collected, filled};
use crate::numerics::level3::threads as worth;
use crate::numerics::level3::view::{Mat, MatMut};
use num_complex::Complex64;

/// Normally distributed numbers: the same for a seed on every machine with the same mathematical functions.
struct Normal(u64);

impl Normal {
    /// Above 0, up to 1: SplitMix64.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((x ^ (x >> 31)) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// By Box and Muller; the parts of a complex number are two of them.
    fn draw(&mut self) -> Complex64 {
        let (radius, angle) = ((-2.0 * self.unit().ln()).sqrt(), std::f64::consts::TAU * self.unit());
        Complex64::from_polar(radius, angle)
    }
}

/// The product of two matrices without gaps.
fn product<T: Number>(a: Mat<'_, T>, b: Mat<'_, T>, threads: usize) -> Vec<T> {
    let (m, n, k) = (a.rows(), b.cols(), a.cols());
    let mut c = filled(m * n, T::default()).or_unwind();
    if let Some(mut c) = MatMut::new(&mut c, m, n, m.max(1)) {
        c.product(T::ONE, a, b, T::default(), threads.min(worth::<T>([m, n, k])));
    }
    c
}

/// An orthonormal basis of the columns.
fn basis<T: Number>(mut x: Vec<T>, rows: usize, cols: usize, threads: usize) -> Vec<T> {
    let mut tau = filled(cols, T::default()).or_unwind();
    if let Some(mut a) = MatMut::new(&mut x, rows, cols, rows.max(1)) {
        qr::factor(a.reborrow(), &mut tau, threads);
        qr::generate(a, &tau, threads);
    }
    x
}

/// The largest values of a tall matrix.
pub(super) fn svd<T: Number>(a: Tall<T>, how: Randomized, threads: usize) -> (Thin<T>, i32, Reached) {
    let (m, n, rank) = (a.rows, a.cols, how.rank);
    let width = rank.saturating_add(how.oversampling).min(n);
    let nothing = || (Thin { s: Vec::new(), u: Vec::new(), v: Vec::new() }, 0, Reached::default());
    let Some(x) = Mat::new(&a.x, m, n, m) else { return nothing() };
    let adjoint = x.t().conj(true);
    let mut normal = Normal(how.seed);
    let directions: Vec<T> = collected((0..n * width).map(|_| T::rounded(normal.draw()))).or_unwind();
    let Some(directions) = Mat::new(&directions, n, width, n) else { return nothing() };
    let mut q = basis(product(x, directions, threads), m, width, threads);
    for _ in 0..how.iterations {
        let Some(columns) = Mat::new(&q, m, width, m) else { return nothing() };
        let z = basis(product(adjoint, columns, threads), n, width, threads);
        let Some(z) = Mat::new(&z, n, width, n) else { return nothing() };
        q = basis(product(x, z, threads), m, width, threads);
    }
    let Some(q) = Mat::new(&q, m, width, m) else { return nothing() };
    let b = product(q.t().conj(true), x, threads);
    let mut s = filled(width, T::Part::default()).or_unwind();
    let (mut u, mut vh) =
        (filled(width * width, T::default()).or_unwind(), filled(width * n, T::default()).or_unwind());
    let (Some(b), Some(of_u), Some(of_vh)) = (
        Mat::new(&b, width, n, width),
        MatMut::new(&mut u, width, width, width),
        MatMut::new(&mut vh, width, n, width),
    ) else {
        return nothing();
    };
    let info = spectra::svd(b, &mut s, Some((of_u, of_vh)), threads);
    let Some(first) = Mat::new(&u, width, rank, width) else { return nothing() };
    let u = product(q, first, threads);
    let v = collected((0..n * rank).map(|k| vh.get(k / n + (k % n) * width).copied().map_or(T::default(), conj)))
        .or_unwind();
    let s = collected(s.iter().take(rank).map(|s| (*s).into())).or_unwind();
    (Thin { s, u, v }, info, Reached::default())
}
