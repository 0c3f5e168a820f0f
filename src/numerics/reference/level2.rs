//! Rank-1 and rank-2 updates of a matrix, one element at a time. The oracle of matrix-vector products is
//! [`gemm`](super::gemm) with one column.

use num_complex::Complex;

use super::double::Double;
use super::terms::Factor;
use super::value::{Pair, Value, add_product, at, exact, scaled, size, sum};

/// Element (i, j) of `alpha * x * y^T + beta * y * x^T + A`, and its error bound. With `conj` the second factor of each
/// product is conjugated. A zero `beta` leaves the second product out.
///
/// The bound: each term undergoes at most 12 roundings (two products of complex numbers, the sums), the result two
/// more.
#[derive(Clone, Copy, Debug)]
pub struct Update<T, S> {
    /// The factor of the first product.
    pub alpha: S,
    /// The factor of the second product.
    pub beta: S,
    /// The second factor of a product is conjugated.
    pub conj: bool,
    /// The element of A before the update.
    pub a: T,
}

impl<T: Value, S: Value> Update<T, S> {
    /// The element and its error bound, from elements i and j of both vectors.
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

/// The residual `b - op(A) * x` in one row, where `row` gives the elements of `op(A)` in that row, and its bound for a
/// backward stable solver: `gamma(4 n + 16) * |op(A)| * |x|`.
pub fn residual<T: Value>(row: impl Iterator<Item = T>, x: &[T], b: T) -> (f64, f64) {
    let row = Factor::new(row, false);
    let (product, sizes) = row.times(&Factor::new((0..row.len()).map(|k| at(x, k)), false));
    let rest = sum(exact(b), Complex::new(-product.re, -product.im));
    let most = |x: Double| x.to_f64().abs();
    (most(rest.re).max(most(rest.im)), super::gamma(4 * x.len() + 16, T::UNIT) * sizes + T::TINY)
}
