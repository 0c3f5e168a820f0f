//! The matrix product, one element at a time.

use num_complex::Complex;

use super::super::spec::{GemmSpec, Trans};
use super::value::{Pair, Value, add_product, at, exact, scaled, sum};

/// The index of element (`i`, `p`) of `op(A)`.
pub(super) fn in_a<S>(spec: &GemmSpec<S>, i: usize, p: usize) -> usize {
    if spec.op_a == Trans::No { i + p * spec.lda } else { p + i * spec.lda }
}

/// The index of element (`p`, `j`) of `op(B)`.
pub(super) fn in_b<S>(spec: &GemmSpec<S>, p: usize, j: usize) -> usize {
    if spec.op_b == Trans::No { p + j * spec.ldb } else { j + p * spec.ldb }
}

/// `C = round(alpha * op(A) * op(B) + beta * C)`, the part in brackets in double-double.
///
/// As everywhere, a zero `beta` does not read C, and a zero `alpha` does not read A and B.
pub fn gemm<I: Value, S: Value, O: Value>(spec: &GemmSpec<S>, a: &[I], b: &[I], c: &mut [O]) {
    for j in 0..spec.n {
        for i in 0..spec.m {
            let Some(out) = c.get_mut(i + j * spec.ldc) else {
                continue;
            };
            *out = O::nearest(element(spec, a, b, *out, i, j));
        }
    }
}

/// Element (`i`, `j`) of the result; `c` is the old value of that element of C.
pub(super) fn element<I: Value, S: Value, O: Value>(
    spec: &GemmSpec<S>,
    a: &[I],
    b: &[I],
    c: O,
    i: usize,
    j: usize,
) -> Pair {
    let zero = |x: S| x.parts() == [0.0; 2];
    let mut result: Pair = Complex::default();
    if !zero(spec.alpha) {
        let (conj_a, conj_b) = (spec.op_a == Trans::Conj, spec.op_b == Trans::Conj);
        let product = (0..spec.k).fold(Pair::default(), |sum, p| {
            add_product(sum, at(a, in_a(spec, i, p)), at(b, in_b(spec, p, j)), conj_a, conj_b)
        });
        result = scaled(spec.alpha, product);
    }
    if zero(spec.beta) { result } else { sum(result, scaled(spec.beta, exact(c))) }
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
