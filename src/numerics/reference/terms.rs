//! Sums of products, without the types of the factors: whatever the element type, the loop over the terms is compiled
//! once, with this crate, and so is fast in tests that are not optimised.

use num_complex::Complex;

use super::double::Double;
use super::value::{Pair, Value};

/// The parts of the first or second factors of a sum of products.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    parts: Vec<[f64; 2]>,
    side: Side,
}

/// What is known of all factors on one side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// Their type has an imaginary part.
    pub(super) complex: bool,
    /// They are conjugated.
    pub(super) conj: bool,
}

impl Factor {
    pub(super) fn new<T: Value>(elements: impl IntoIterator<Item = T>, conj: bool) -> Self {
        let parts = elements.into_iter().map(T::parts).collect();
        Factor { parts, side: Side { complex: T::COMPLEX, conj } }
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The sum of the products with `other`, and the sum of the products of the magnitudes.
    pub(super) fn times(&self, other: &Factor) -> (Pair, f64) {
        let size = |[re, im]: [f64; 2]| re.abs() + im.abs();
        let terms = self.parts.iter().zip(&other.parts);
        terms.fold((Pair::default(), 0.0), |(sum, sizes), (x, y)| {
            (add_product_of(sum, (*x, self.side), (*y, other.side)), sizes + size(*x) * size(*y))
        })
    }
}

/// All sums of a row with a column: those with the first column come first.
pub(super) fn sums(rows: &[Factor], columns: &[Factor]) -> Vec<(Pair, f64)> {
    columns.iter().flat_map(|column| rows.iter().map(|row| row.times(column))).collect()
}

/// `sum + x * y`. Parts that a real type does not have are left out, so that no infinity is multiplied by their zeros.
#[inline(never)]
pub(super) fn add_product_of(sum: Pair, (x, of_x): ([f64; 2], Side), (y, of_y): ([f64; 2], Side)) -> Pair {
    let ([xr, xi], [yr, yi]) = (x, y);
    let (xi, yi) = (if of_x.conj { -xi } else { xi }, if of_y.conj { -yi } else { yi });
    let Complex { mut re, mut im } = sum;
    re = re + Double::product(xr, yr);
    if of_x.complex && of_y.complex {
        re = re + Double::product(-xi, yi);
    }
    if of_y.complex {
        im = im + Double::product(xr, yi);
    }
    if of_x.complex {
        im = im + Double::product(xi, yr);
    }
    Complex { re, im }
}
