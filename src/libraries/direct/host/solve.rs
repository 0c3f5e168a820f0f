//! Solutions with a factor: the order and the scales in, two sweeps, and out again.

use super::ldl::Block;
use super::plan::Plan;
use super::scaled;
use crate::core::room::{OrUnwind, collected};
use crate::libraries::direct::Factorization;
use crate::libraries::flags::Transpose;
use crate::libraries::sparse::host::{at, put};
use crate::libraries::sparse::{SolveElement, SparseIndex};
use std::ops::Range;

/// The row indices of a factor, of either type: what sweeps do with a column.
pub(crate) trait Rows<T>: Sync {
    /// Takes `y` times the values at these places away from the rows of x.
    fn subtract(&self, places: Range<usize>, values: &[T], y: T, x: &mut [T]);
    /// `sum` less the products of the values at these places with the rows of x.
    fn reduce(&self, places: Range<usize>, values: &[T], conj: bool, x: &[T], sum: T) -> T;
}

/// Row indices as they are stored.
pub(crate) struct Indices<'a, I>(pub(crate) &'a [I]);

impl<T: SolveElement, I: SparseIndex> Rows<T> for Indices<'_, I> {
    fn subtract(&self, places: Range<usize>, values: &[T], y: T, x: &mut [T]) {
        let values = values.get(places.clone()).unwrap_or_default();
        for (row, value) in self.0.get(places).unwrap_or_default().iter().zip(values) {
            if let Some(x) = x.get_mut(row.place()) {
                *x = *x - *value * y;
            }
        }
    }

    fn reduce(&self, places: Range<usize>, values: &[T], conj: bool, x: &[T], mut sum: T) -> T {
        let values = values.get(places.clone()).unwrap_or_default();
        for (row, value) in self.0.get(places).unwrap_or_default().iter().zip(values) {
            sum = sum - value.conj_if(conj) * at(x, row.place());
        }
        sum
    }
}

/// A factor, ready for solutions.
pub(crate) struct Solver<'a, T> {
    how: Factorization,
    plan: &'a Plan,
    /// The row of A at each place of the order.
    rows_of_a: Vec<usize>,
    heads: Vec<bool>,
    rows: &'a dyn Rows<T>,
    lower: &'a [T],
    /// The rows of U; those of L for all but LU.
    upper: &'a [T],
}

impl<'a, T: SolveElement> Solver<'a, T> {
    pub(crate) fn new(how: Factorization, plan: &'a Plan, rows: &'a dyn Rows<T>, values: &'a [T]) -> Self {
        let entries = plan.tree.offsets.last().copied().unwrap_or(0);
        let (lower, upper) = values.split_at(entries.min(values.len()));
        let upper = if how == Factorization::Lu { upper } else { lower };
        let heads = if matches!(how, Factorization::Ldl(..)) { plan.heads() } else { Vec::new() };
        Solver { how, plan, rows_of_a: plan.rows(how == Factorization::Lu), heads, rows, lower, upper }
    }

    /// Solves `op(A) * x = b` and overwrites b with x.
    pub(crate) fn solve(&self, trans: Transpose, b: &mut [T]) {
        let (hermitian, order) = (self.how.is_hermitian(), &self.plan.order);
        let turned = self.how == Factorization::Lu && trans != Transpose::No;
        // A^T of a Hermitian matrix is the conjugate of A, as A^H of a symmetric one is; A^H of any other is that of A^T.
        let conjugated = trans == if hermitian { Transpose::Yes } else { Transpose::Conjugate };
        // Where an element of b comes from and where one of x goes, with the side whose scales it takes.
        let (from, to, of_b, of_x) =
            if turned { (order, &self.rows_of_a, 1, 0) } else { (&self.rows_of_a, order, 0, 1) };
        let taken = from.iter().map(|i| scaled(at(b, *i), self.plan.scale(of_b, *i)).conj_if(conjugated));
        let mut x: Vec<T> = collected(taken).or_unwind();
        match (self.how, turned) {
            (Factorization::Cholesky(_), _) => {
                self.forward(self.lower, &mut x, true);
                self.backward(self.lower, &mut x, true, true);
            }
            (Factorization::Ldl(..), _) => {
                self.forward(self.lower, &mut x, false);
                self.blocks(&mut x);
                self.backward(self.lower, &mut x, false, hermitian);
            }
            (_, false) => {
                self.forward(self.lower, &mut x, false);
                self.backward(self.upper, &mut x, true, false);
            }
            (_, true) => {
                self.forward(self.upper, &mut x, true);
                self.backward(self.lower, &mut x, false, false);
            }
        }
        for (i, x) in to.iter().zip(x) {
            put(b, *i, scaled(x.conj_if(conjugated), self.plan.scale(of_x, *i)));
        }
    }

    /// The places of column k of L (or row k of U) behind its diagonal, and behind the other entry of a pair.
    fn behind(&self, k: usize) -> (usize, Range<usize>) {
        let (first, end) = (at(&self.plan.tree.offsets, k), at(&self.plan.tree.offsets, k + 1));
        (first, first + 1 + usize::from(at(&self.heads, k))..end)
    }

    fn forward(&self, values: &[T], x: &mut [T], divide: bool) {
        for k in 0..x.len() {
            let (first, behind) = self.behind(k);
            let y = if divide { at(x, k).over(at(values, first)) } else { at(x, k) };
            put(x, k, y);
            self.rows.subtract(behind, values, y, x);
        }
    }

    fn backward(&self, values: &[T], x: &mut [T], divide: bool, conj: bool) {
        for k in (0..x.len()).rev() {
            let (first, behind) = self.behind(k);
            let sum = self.rows.reduce(behind, values, conj, x, at(x, k));
            put(x, k, if divide { sum.over(at(values, first)) } else { sum });
        }
    }

    /// Divides by D.
    fn blocks(&self, x: &mut [T]) {
        let hermitian = self.how.is_hermitian();
        let mut k = 0;
        while k < x.len() {
            let (first, _) = self.behind(k);
            let a = at(self.lower, first);
            if at(&self.heads, k) {
                let (second, _) = self.behind(k + 1);
                let block = Block { a, b: at(self.lower, first + 1), c: at(self.lower, second), hermitian };
                let (y, z) = block.solve((at(x, k), at(x, k + 1)), false);
                put(x, k, y);
                put(x, k + 1, z);
                k += 2;
            } else {
                let y = at(x, k).over(a);
                put(x, k, y);
                k += 1;
            }
        }
    }
}
