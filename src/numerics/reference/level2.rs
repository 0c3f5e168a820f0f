//! Updates of a matrix by products of vectors, one element at a time. Products of matrices and vectors are those of
//! [`gemm`](super::gemm) with one column.

use num_complex::Complex;

use super::double::Double;
use super::value::{Pair, Value, add_product, at, exact, scaled, size, sum};

/// Element (i, j) of `alpha * x * y^T + beta * y * x^T + A`, and how far a computed one may be from it. With `conj` the
/// second factor of each product is conjugated. `beta` of zero leaves the second product out.
///
/// The bound: each term meets at most 12 roundings (two products of complex numbers, the sums), the result two more.
#[derive(Clone, Copy, Debug)]
pub struct Update<T, S> {
    /// The factor of the first product.
    pub alpha: S,
    /// The factor of the second product.
    pub beta: S,
    /// The second factor of a product is conjugated.
    pub conj: bool,
    /// What was there.
    pub a: T,
}

impl<T: Value, S: Value> Update<T, S> {
    /// The element, from elements i and j of both vectors.
    pub fn element(&self, [xi, xj]: [T; 2], [yi, yj]: [T; 2]) -> (T, f64) {
        let product = |x: T, y: T| add_product(Pair::default(), x, y, false, self.conj);
        let mut element = sum(exact(self.a), scaled(self.alpha, product(xi, yj)));
        let mut sizes = size(self.a) + size(self.alpha) * size(xi) * size(yj);
        if self.beta.parts() != [0.0; 2] {
            element = sum(element, scaled(self.beta, product(yi, xj)));
            sizes += size(self.beta) * size(yi) * size(xj);
        }
        (T::nearest(element), 16.0 * T::UNIT * sizes + 16.0 * T::TINY)
    }
}

/// `b - op(A) * x` in row `i`, where `row` gives the elements of `op(A)` there, and what a backward stable solver may
/// leave of it: `gamma(4 n + 16) * |op(A)| * |x|`.
pub fn residual<T: Value>(row: impl Iterator<Item = T>, x: &[T], b: T) -> (f64, f64) {
    let (mut rest, mut sizes) = (exact(b), 0.0);
    for (k, a) in row.enumerate() {
        let product = add_product(Pair::default(), a, at(x, k), false, false);
        rest = sum(rest, Complex::new(-product.re, -product.im));
        sizes += size(a) * size(at(x, k));
    }
    let most = |x: Double| x.to_f64().abs();
    (most(rest.re).max(most(rest.im)), super::gamma(4 * x.len() + 16, T::UNIT) * sizes + T::TINY)
}
