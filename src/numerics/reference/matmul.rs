//! The matrix product, one element at a time.

use num_complex::Complex;

use super::super::spec::{GemmSpec, Trans};
use super::terms::{Factor, sums};
use super::value::{Pair, Value, at, exact, scaled, sum};

/// The index of element (`i`, `p`) of `op(A)`.
fn in_a<S>(spec: &GemmSpec<S>, i: usize, p: usize) -> usize {
    if spec.op_a == Trans::No { i + p * spec.lda } else { p + i * spec.lda }
}

/// The index of element (`p`, `j`) of `op(B)`.
fn in_b<S>(spec: &GemmSpec<S>, p: usize, j: usize) -> usize {
    if spec.op_b == Trans::No { p + j * spec.ldb } else { j + p * spec.ldb }
}

/// `C = round(alpha * op(A) * op(B) + beta * C)`, the part in brackets in double-double.
///
/// As everywhere, a zero `beta` does not read C, and a zero `alpha` does not read A and B.
pub fn gemm<I: Value, S: Value, O: Value>(spec: &GemmSpec<S>, a: &[I], b: &[I], c: &mut [O]) {
    let products = products(spec, a, b);
    for j in 0..spec.n {
        for i in 0..spec.m {
            let Some(out) = c.get_mut(i + j * spec.ldc) else {
                continue;
            };
            *out = O::nearest(element(spec, at(&products, i + j * spec.m).0, *out));
        }
    }
}

fn is_zero<S: Value>(x: S) -> bool {
    x.parts() == [0.0; 2]
}

/// The elements of `op(A) * op(B)`, column by column, each with the sum of the magnitudes of its terms; zeros where
/// `alpha` is zero.
pub(super) fn products<I: Value, S: Value>(spec: &GemmSpec<S>, a: &[I], b: &[I]) -> Vec<(Pair, f64)> {
    let k = if is_zero(spec.alpha) { 0 } else { spec.k };
    let rows: Vec<Factor> =
        (0..spec.m).map(|i| Factor::new((0..k).map(|p| at(a, in_a(spec, i, p))), spec.op_a == Trans::Conj)).collect();
    let columns: Vec<Factor> =
        (0..spec.n).map(|j| Factor::new((0..k).map(|p| at(b, in_b(spec, p, j))), spec.op_b == Trans::Conj)).collect();
    sums(&rows, &columns)
}

/// An element of the result, from that of `op(A) * op(B)`; `c` is the old value of that element of C.
pub(super) fn element<S: Value, O: Value>(spec: &GemmSpec<S>, product: Pair, c: O) -> Pair {
    let result = if is_zero(spec.alpha) { Complex::default() } else { scaled(spec.alpha, product) };
    if is_zero(spec.beta) { result } else { sum(result, scaled(spec.beta, exact(c))) }
}

/// `C = alpha * op(A) * op(B) + beta * C` over the integers, modulo 2^32.
pub fn gemm_i8(spec: &GemmSpec<i32>, a: &[i8], b: &[i8], c: &mut [i32]) {
    for j in 0..spec.n {
        for i in 0..spec.m {
            let Some(out) = c.get_mut(i + j * spec.ldc) else {
                continue;
            };
            let terms = (0..spec.k).map(|p| i64::from(at(a, in_a(spec, i, p))) * i64::from(at(b, in_b(spec, p, j))));
            let product = i64::from(spec.alpha).wrapping_mul(terms.sum());
            *out = product.wrapping_add(i64::from(spec.beta) * i64::from(*out)) as i32;
        }
    }
}
