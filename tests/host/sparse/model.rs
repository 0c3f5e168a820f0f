//! Matrices of the host, entry by entry, and what is exactly made of them.
#![allow(unreachable_pub, reason = "as in `common`")]

use crate::common::{Rng, Sample, down};
use std::collections::BTreeMap;
use windlass::reference::{Double, Value, gamma};
use windlass::sparse::{Compressed, Coo, Csc, Csr, Major, SparseElement, SparseIndex};
use windlass::tensor::{Layout, Lines};
use windlass::{Device, Transpose, sparse::Order};

/// A dense matrix in either order, with this distance between its lines.
pub fn lines(order: Order, rows: usize, cols: usize, ld: usize) -> Lines {
    if order == Order::Row { Layout::rows(rows, cols).ld(ld) } else { Layout::columns(rows, cols).ld(ld) }
}

/// A sparse matrix: its entries by rows and columns.
#[derive(Clone, Debug)]
pub struct Model<T> {
    pub rows: usize,
    pub cols: usize,
    pub entries: BTreeMap<(usize, usize), T>,
}

impl<T: Sample + SparseElement> Model<T> {
    pub fn new(rows: usize, cols: usize) -> Self {
        Model { rows, cols, entries: BTreeMap::new() }
    }

    /// Entries wherever `here` says.
    pub fn filled(
        rng: &mut Rng,
        rows: usize,
        cols: usize,
        mut here: impl FnMut(usize, usize, &mut Rng) -> bool,
    ) -> Self {
        let mut model = Self::new(rows, cols);
        for i in 0..rows {
            for j in 0..cols {
                if here(i, j, rng) {
                    model.entries.insert((i, j), T::sample(rng));
                }
            }
        }
        model
    }

    /// Each entry with this chance of so many in a hundred.
    pub fn random(rng: &mut Rng, rows: usize, cols: usize, percent: usize) -> Self {
        Self::filled(rng, rows, cols, |_, _, rng| rng.below(100) < percent)
    }

    /// The compressed rows.
    pub fn csr<I: SparseIndex + TryFrom<usize, Error: std::fmt::Debug>>(&self) -> (Vec<I>, Vec<I>, Vec<T>) {
        let index = |i: usize| I::try_from(i).unwrap();
        let mut offsets = vec![0usize; self.rows + 1];
        self.entries.keys().for_each(|(row, _)| offsets[row + 1] += 1);
        for row in 0..self.rows {
            offsets[row + 1] += offsets[row];
        }
        let columns = self.entries.keys().map(|(_, column)| index(*column)).collect();
        (offsets.into_iter().map(index).collect(), columns, self.entries.values().copied().collect())
    }

    pub fn transposed(&self) -> Self {
        let entries = self.entries.iter().map(|((i, j), x)| ((*j, *i), *x)).collect();
        Model { rows: self.cols, cols: self.rows, entries }
    }

    /// What is done to it before it is used, with the parts of its entries.
    pub fn op(&self, trans: Transpose) -> BTreeMap<(usize, usize), [f64; 2]> {
        let of = |((i, j), x): (&(usize, usize), &T)| {
            let [re, im] = Value::parts(*x);
            match trans {
                Transpose::No => ((*i, *j), [re, im]),
                Transpose::Yes => ((*j, *i), [re, im]),
                Transpose::Conjugate => ((*j, *i), [re, -im]),
            }
        };
        self.entries.iter().map(of).collect()
    }

    pub fn up_csr<I: Place>(&self, device: &Device) -> Csr<T, I> {
        let (offsets, columns, values) = self.csr::<I>();
        device.sparse().upload_csr(self.rows, self.cols, &offsets, &columns, &values).unwrap()
    }

    pub fn up_csc<I: Place>(&self, device: &Device) -> Csc<T, I> {
        let (offsets, rows, values) = self.transposed().csr::<I>();
        device.sparse().upload_csc(self.rows, self.cols, &offsets, &rows, &values).unwrap()
    }

    pub fn up_coo<I: Place>(&self, device: &Device) -> Coo<T, I> {
        let (rows, columns, values) = self.triplets();
        device.sparse().upload_coo(self.rows, self.cols, &rows, &columns, &values).unwrap()
    }

    /// Rows, columns and values.
    pub fn triplets<I: Place>(&self) -> (Vec<I>, Vec<I>, Vec<T>) {
        let index = |i: usize| I::try_from(i).unwrap();
        let rows = self.entries.keys().map(|(row, _)| index(*row)).collect();
        let columns = self.entries.keys().map(|(_, column)| index(*column)).collect();
        (rows, columns, self.entries.values().copied().collect())
    }

    /// What a matrix of a device holds.
    #[track_caller]
    pub fn down<I: Place, M: Major>(device: &Device, a: &Compressed<T, I, M>, by_rows: bool) -> Self {
        let offsets: Vec<I> = down(device, a.offsets());
        let (indices, values): (Vec<I>, Vec<T>) = (down(device, a.indices()), down(device, a.values()));
        let index = |i: I| -> usize { i.try_into().unwrap() };
        let mut model = Self::new(a.rows(), a.cols());
        let lines = if by_rows { a.rows() } else { a.cols() };
        assert_eq!((offsets.len(), index(offsets[0]), index(offsets[lines])), (lines + 1, 0, indices.len()));
        for line in 0..lines {
            let own = index(offsets[line])..index(offsets[line + 1]);
            assert!(indices[own.clone()].is_sorted_by(|a, b| a < b), "line {line} is not sorted: {:?}", &indices[own]);
            for place in own {
                let other = index(indices[place]);
                let at = if by_rows { (line, other) } else { (other, line) };
                assert!(at.0 < a.rows() && at.1 < a.cols(), "{at:?} is outside of {a:?}");
                model.entries.insert(at, values[place]);
            }
        }
        model
    }

    /// The same entries, bit for bit.
    #[track_caller]
    pub fn assert_same(&self, got: &Self, what: &str) {
        assert_eq!((self.rows, self.cols), (got.rows, got.cols), "{what}");
        let bytes = |model: &Self| -> Vec<_> {
            model.entries.iter().map(|(at, x)| (*at, bytemuck::bytes_of(x).to_vec())).collect()
        };
        assert_eq!(bytes(self), bytes(got), "{what}");
    }
}

/// An index type, made from and into places.
pub trait Place: SparseIndex + TryFrom<usize, Error: std::fmt::Debug> + TryInto<usize, Error: std::fmt::Debug> {}
impl Place for i32 {}
impl Place for i64 {}

/// The matrices that every operation must get right.
pub fn shapes<T: Sample + SparseElement>(rng: &mut Rng) -> Vec<(&'static str, Model<T>)> {
    let power = |rng: &mut Rng| {
        let mut model = Model::new(60, 50);
        for i in 0..60 {
            for _ in 0..(60 / (i + 1)).max(1) {
                let j = rng.below(50) * rng.below(50) / 50;
                model.entries.insert((i, j), T::sample(rng));
            }
        }
        model
    };
    vec![
        ("random", Model::random(rng, 37, 41, 20)),
        ("banded", Model::filled(rng, 40, 40, |i, j, _| i.abs_diff(j) < 3)),
        ("power law", power(rng)),
        ("empty rows and columns", Model::filled(rng, 30, 26, |i, j, _| i % 3 == 1 && j % 4 == 2)),
        ("one dense row", Model::filled(rng, 20, 300, |i, _, rng| i == 7 || rng.below(100) < 1)),
        ("one dense column", Model::filled(rng, 150, 9, |_, j, rng| j == 4 || rng.below(100) < 2)),
        ("wide", Model::random(rng, 3, 120, 30)),
        ("tall", Model::random(rng, 120, 3, 30)),
        ("full", Model::random(rng, 13, 17, 100)),
        ("all empty", Model::new(5, 6)),
        ("one element", Model::filled(rng, 1, 1, |_, _, _| true)),
        ("no rows", Model::new(0, 7)),
        ("no columns", Model::new(7, 0)),
        ("nothing", Model::new(0, 0)),
        ("large enough for threads", Model::filled(rng, 900, 700, |i, j, rng| i.abs_diff(j) < 2 || rng.below(100) < 4)),
    ]
}

/// A complex sum in double-double, with the sum of the sizes of its terms.
#[derive(Clone, Copy, Default)]
pub struct Exact {
    re: Double,
    im: Double,
    size: f64,
    terms: usize,
}

impl Exact {
    pub fn of(x: [f64; 2]) -> Self {
        Exact { re: x[0].into(), im: x[1].into(), size: x[0].abs() + x[1].abs(), terms: 0 }
    }

    /// Adds a product.
    pub fn add(&mut self, x: [f64; 2], y: [f64; 2]) {
        self.re = self.re + Double::product(x[0], y[0]) + -Double::product(x[1], y[1]);
        self.im = self.im + Double::product(x[0], y[1]) + Double::product(x[1], y[0]);
        self.size += (x[0].abs() + x[1].abs()) * (y[0].abs() + y[1].abs());
        self.terms += 1;
    }

    /// Times a scalar.
    pub fn times(self, factor: [f64; 2]) -> Self {
        let [a, b] = factor.map(Double::from);
        let (re, im) = (self.re * a + -(self.im * b), self.im * a + self.re * b);
        Exact { re, im, size: self.size * (factor[0].abs() + factor[1].abs()), terms: self.terms }
    }

    pub fn plus(self, other: Self) -> Self {
        let (re, im) = (self.re + other.re, self.im + other.im);
        Exact { re, im, size: self.size + other.size, terms: self.terms + other.terms }
    }

    /// That what was computed in `S` and rounded to `T` is within the bound by the number of terms.
    #[track_caller]
    pub fn assert_near<T: Value + std::fmt::Debug, S: Value>(&self, got: T, what: &str) {
        self.assert_within::<T, S>(got, 2.0 * T::UNIT, what);
    }

    /// The same where a GPU's library may scatter: it adds each term to where the sum is kept, which is in `T`. So a term is
    /// rounded to `T` itself and with each addition that follows, of which there are at most as many as terms, and what was
    /// there before is multiplied by its factor and rounded once more: `(1 + u)^(terms + 2) - 1` of the sum of the sizes.
    #[track_caller]
    pub fn assert_near_scattered<T: Value + std::fmt::Debug, S: Value>(&self, got: T, what: &str) {
        if T::UNIT > S::UNIT {
            let roundings = self.terms as f64 + 2.0;
            self.assert_within::<T, S>(got, (roundings * T::UNIT.ln_1p()).exp_m1(), what);
        } else {
            self.assert_near::<T, S>(got, what);
        }
    }

    #[track_caller]
    fn assert_within<T: Value + std::fmt::Debug, S: Value>(&self, got: T, rounded: f64, what: &str) {
        let roundings = self.terms * if T::COMPLEX { 2 } else { 1 } + 8;
        let error = gamma(roundings, S::UNIT) * self.size;
        // A number too small for `T` is rounded by its least step, each time.
        let least = (1 + self.terms) as f64 * T::TINY;
        let bound = error + rounded * (self.size + error) + roundings as f64 * S::TINY + least;
        for (got, want) in got.parts().into_iter().zip([self.re.to_f64(), self.im.to_f64()]) {
            assert!((got - want).abs() <= bound, "{got:e} is not within {bound:e} of {want:e}: {what}");
        }
    }
}

/// Calls a generic function for each element type that the library takes.
#[macro_export]
macro_rules! each_sparse {
    ($f:ident) => {
        $f::<f32>();
        $f::<f64>();
        $f::<windlass::Complex<f32>>();
        $f::<windlass::Complex<f64>>();
        $f::<windlass::f16>();
        $f::<windlass::bf16>();
    };
}
