//! Matrices of exact numbers, and sums of their products with the error bounds of computed ones.
//!
//! The expected result of a routine is built from these: a symmetric matrix is filled from its triangle, a triangular
//! one gets its zeros and ones, and everything else is a plain product. A solution is not computed but substituted into
//! its equation: its residual is bounded (Higham, chapters 8 and 9), however ill-conditioned the matrix is.

use num_complex::Complex;

use super::super::spec::Trans;
use super::bound::gamma;
use super::double::Double;
use super::value::{Pair, Value, at, exact, sum, times};

/// A matrix of exact numbers.
#[derive(Clone, Debug)]
pub struct Exact {
    rows: usize,
    cols: usize,
    data: Vec<Pair>,
}

/// The sum of the magnitudes of the parts.
#[inline]
fn size(x: Pair) -> f64 {
    x.re.to_f64().abs() + x.im.to_f64().abs()
}

#[inline]
fn conj(x: Pair) -> Pair {
    Complex::new(x.re, -x.im)
}

impl Exact {
    /// The matrix whose element (`i`, `j`) is `of(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut of: impl FnMut(usize, usize) -> Pair) -> Self {
        let places = (0..cols).flat_map(|j| (0..rows).map(move |i| (i, j)));
        Exact { rows, cols, data: places.map(|(i, j)| of(i, j)).collect() }
    }

    /// A stored column-major matrix.
    pub fn stored<T: Value>(x: &[T], rows: usize, cols: usize, ld: usize) -> Self {
        Self::from_fn(rows, cols, |i, j| exact(at(x, i + j * ld)))
    }

    /// The identity.
    pub fn identity(n: usize) -> Self {
        Self::from_fn(n, n, |i, j| exact(if i == j { 1.0 } else { 0.0 }))
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Element (`i`, `j`); zero outside.
    pub fn get(&self, i: usize, j: usize) -> Pair {
        if i < self.rows { at(&self.data, i + j * self.rows) } else { Pair::default() }
    }

    /// `op(self)`.
    #[must_use]
    pub fn op(&self, trans: Trans) -> Self {
        match trans {
            Trans::No => self.clone(),
            Trans::Yes => Self::from_fn(self.cols, self.rows, |i, j| self.get(j, i)),
            Trans::Conj => Self::from_fn(self.cols, self.rows, |i, j| conj(self.get(j, i))),
        }
    }

    /// The symmetric or Hermitian matrix whose lower (or upper) triangle is that of `self`.
    #[must_use]
    pub fn symmetric(&self, lower: bool, hermitian: bool) -> Self {
        Self::from_fn(self.rows, self.cols, |i, j| match (i == j, (i > j) == lower) {
            (true, _) if hermitian => Complex::new(self.get(i, i).re, Double::default()),
            (true, _) | (_, true) => self.get(i, j),
            _ if hermitian => conj(self.get(j, i)),
            _ => self.get(j, i),
        })
    }

    /// The lower (or upper) triangle, zero elsewhere, with a diagonal of ones if `unit`.
    #[must_use]
    pub fn triangle(&self, lower: bool, unit: bool) -> Self {
        Self::from_fn(self.rows, self.cols, |i, j| match (i == j, (i > j) == lower) {
            (true, _) if unit => exact(1.0),
            (true, _) | (_, true) => self.get(i, j),
            _ => Pair::default(),
        })
    }

    /// Row `i` swapped with row `pivots[i]`, counted from 1, for each i in turn.
    #[must_use]
    pub fn swapped(&self, pivots: &[i32]) -> Self {
        let mut order: Vec<usize> = (0..self.rows).collect();
        for (i, pivot) in pivots.iter().enumerate() {
            order.swap(i, usize::try_from(*pivot).map_or(i, |p| p.saturating_sub(1)).min(self.rows.saturating_sub(1)));
        }
        Self::from_fn(self.rows, self.cols, |i, j| self.get(order.get(i).copied().unwrap_or(i), j))
    }

    /// The magnitudes of all elements.
    #[must_use]
    pub fn sizes(&self) -> Self {
        Self::from_fn(self.rows, self.cols, |i, j| exact(size(self.get(i, j))))
    }

    /// `alpha * self * other`.
    pub fn times<S: Value>(&self, alpha: S, other: &Exact) -> Bounded {
        self.times_pair(exact(alpha), other)
    }

    fn times_pair(&self, alpha: Pair, other: &Exact) -> Bounded {
        let cell = |i, j| {
            let terms = (0..self.cols).map(|p| (self.get(i, p), other.get(p, j)));
            terms
                .fold((Pair::default(), 0.0), |(all, sizes), (x, y)| (sum(all, times(x, y)), sizes + size(x) * size(y)))
        };
        let places = (0..other.cols).flat_map(|j| (0..self.rows).map(move |i| (i, j)));
        let cells: Vec<(Pair, f64)> = places.map(|(i, j)| cell(i, j)).collect();
        Bounded {
            exact: Exact {
                rows: self.rows,
                cols: other.cols,
                data: cells.iter().map(|(x, _)| times(alpha, *x)).collect(),
            },
            sizes: cells.iter().map(|(_, sizes)| size(alpha) * sizes).collect(),
            terms: self.cols,
        }
    }

    /// `alpha * self`.
    pub fn scaled<S: Value>(&self, alpha: S) -> Bounded {
        let alpha = exact(alpha);
        let data: Vec<Pair> = self.data.iter().map(|x| times(alpha, *x)).collect();
        let sizes = self.data.iter().map(|x| size(alpha) * size(*x)).collect();
        Bounded { exact: Exact { data, ..*self }, sizes, terms: 1 }
    }
}

/// An exact matrix, and for each element the sum of the magnitudes of its terms.
#[derive(Clone, Debug)]
pub struct Bounded {
    exact: Exact,
    sizes: Vec<f64>,
    terms: usize,
}

impl Bounded {
    /// The sum of two matrices.
    #[must_use]
    pub fn plus(mut self, other: &Bounded) -> Self {
        self.exact.data.iter_mut().zip(&other.exact.data).for_each(|(x, y)| *x = sum(*x, *y));
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(x, y)| *x += y);
        self.terms += other.terms;
        self
    }

    /// The exact matrix.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// The maximum difference between either part of a computed element (`i`, `j`) of type `T` and the exact one, in
    /// arithmetic with the unit of rounding `unit`: `gamma` of the roundings times the magnitudes, the last rounding,
    /// and underflow.
    pub fn bound<T: Value>(&self, i: usize, j: usize, unit: f64) -> f64 {
        let roundings = self.terms * if T::COMPLEX { 2 } else { 1 } + 8;
        let sizes = at(&self.sizes, i + j * self.exact.rows);
        let error = gamma(roundings, unit) * sizes;
        error + T::UNIT * (size(self.exact.get(i, j)) + error) + roundings as f64 * T::TINY * (1.0 + sizes)
    }

    /// The error of a computed element divided by its bound: at most 1 if the element is right.
    pub fn ratio<T: Value>(&self, i: usize, j: usize, got: T, unit: f64) -> f64 {
        let want = self.exact.get(i, j);
        let [re, im] = got.parts();
        let bound = self.bound::<T>(i, j, unit);
        let ratios = [re - want.re.to_f64(), im - want.im.to_f64()].map(|error| match error.abs() {
            error if error <= bound => error / bound.max(f64::MIN_POSITIVE),
            // A NaN must not count as a small error.
            error if error > bound => (error / bound).max(2.0),
            _ => f64::INFINITY,
        });
        let [re, im] = ratios;
        re.max(im)
    }

    /// The largest residual divided by its bound; `self` is the expression that should be zero. `times` widens the
    /// bound, for methods whose constants are larger than those of substitution.
    pub fn residual<T: Value>(&self, times: f64) -> f64 {
        let roundings = self.terms * if T::COMPLEX { 4 } else { 2 } + 8;
        let gamma = times * gamma(roundings, T::UNIT);
        self.exact.data.iter().zip(&self.sizes).fold(0.0, |most, (x, sizes)| {
            let bound = gamma * sizes + roundings as f64 * T::TINY * (1.0 + sizes);
            // A NaN must not count as a small error.
            let ratio = size(*x) / bound;
            if ratio <= most || most.is_nan() { most } else { ratio }
        })
    }
}
