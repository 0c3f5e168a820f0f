//! Error bounds: how far a computed result may be from the exact one.

use super::super::spec::GemmSpec;
use super::matmul::{element, products};
use super::value::{Value, at, size};

/// `n * u / (1 - n * u)`: the bound of the relative error of a term after `n` roundings of unit `u`.
pub fn gamma(n: usize, unit: f64) -> f64 {
    let nu = n as f64 * unit;
    if nu < 1.0 { nu / (1.0 - nu) } else { f64::INFINITY }
}

/// For each element of C (column by column, without padding): the maximum difference between either part of a computed
/// result and that of [`gemm`](super::gemm) in this module:
///
/// `gamma(K, unit) * (|alpha| |A| |B| + |beta| |C|)`, where `K = k + 8` for real types and `2 k + 8` for complex ones
/// (a sum of `k` products in any order, both scalings, the last addition), plus two roundings to C's type (the computed
/// result's and the oracle's), plus the error of underflow. `|x|` is the sum of the magnitudes of the parts.
///
/// `unit` is the unit of rounding of the arithmetic: `S::UNIT` if it computes in the type of `alpha`, larger for, say,
/// TF32. `c` is C before the product.
pub fn gemm_error_bound<I: Value, S: Value, O: Value>(
    spec: &GemmSpec<S>,
    a: &[I],
    b: &[I],
    c: &[O],
    unit: f64,
) -> Vec<f64> {
    let (alpha, beta) = (size(spec.alpha), size(spec.beta));
    let roundings = spec.k * if I::COMPLEX { 2 } else { 1 } + 8;
    let gamma = gamma(roundings, unit);
    let underflow = roundings as f64 * S::TINY * (1.0 + alpha) + O::TINY;
    let products = products(spec, a, b);
    let places = (0..spec.n).flat_map(|j| (0..spec.m).map(move |i| (i, j)));
    let bound = |(i, j)| {
        let old = at(c, i + j * spec.ldc);
        let (product, product_sizes) = at(&products, i + j * spec.m);
        let mut sizes = if beta == 0.0 { 0.0 } else { beta * size(old) };
        if alpha != 0.0 {
            sizes += alpha * product_sizes;
        }
        let exact = element(spec, product, old);
        let most = exact.re.to_f64().abs().max(exact.im.to_f64().abs());
        let error = gamma * sizes;
        error + 2.0 * O::UNIT * (most + error) + underflow
    };
    places.map(bound).collect()
}

/// The maximum difference between either part of a computed dot product of contiguous vectors and the oracle's, if no
/// term undergoes more than `terms` roundings of `unit`: `x.len()` for any order of summation, fewer for sums in
/// blocks.
pub fn dot_error_bound<T: Value>(x: &[T], y: &[T], terms: usize, unit: f64) -> f64 {
    let sizes: f64 = x.iter().zip(y).map(|(x, y)| size(*x) * size(*y)).sum();
    let error = gamma(terms, unit) * sizes;
    error + 2.0 * T::UNIT * (sizes + error) + terms as f64 * T::TINY
}

/// The maximum relative difference between a computed norm and the oracle's, if no square undergoes more than `terms`
/// roundings of `unit`: half that of the sum of squares, plus the roundings of the root and of both results.
pub fn nrm2_error_bound<T: Value>(terms: usize, unit: f64) -> f64 {
    gamma(terms + 1, unit) / 2.0 + unit + 2.0 * T::UNIT * (1.0 + unit)
}
