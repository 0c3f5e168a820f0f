//! Factors of symmetric and Hermitian matrices that need not be definite: `A = L * D * L^T` or `L * D * L^H` with interchanges
//! and blocks of one or two rows in D, by Bunch and Kaufman's rule, in the form and with the pivots of LAPACK's `sytf2` and
//! `hetf2`. An upper triangle is the lower one of the matrix with its rows and columns in reverse.

use super::number::{Number, conj};
use crate::core::room::{OrUnwind, filled, push};
use crate::numerics::level3::view::{Mat, MatMut};

/// A lower triangle, dense, with its rows in the order of elimination.
struct Lower<T> {
    n: usize,
    x: Vec<T>,
    hermitian: bool,
}

impl<T: Number> Lower<T> {
    fn new(a: Mat<'_, T>, upper: bool, hermitian: bool) -> Self {
        let n = a.rows();
        let mut x = filled(n.saturating_mul(n), T::default()).or_unwind();
        for (j, column) in x.chunks_exact_mut(n.max(1)).enumerate() {
            for (i, x) in column.iter_mut().enumerate().skip(j) {
                *x = if upper { a.get(n - 1 - i, n - 1 - j) } else { a.get(i, j) };
                if i == j && hermitian {
                    *x = T::from_part(crate::numerics::Field::re(*x));
                }
            }
        }
        Lower { n, x, hermitian }
    }

    fn store(&self, a: &mut MatMut<'_, T>, upper: bool) {
        let n = self.n;
        for j in 0..n {
            for i in j..n {
                if upper { a.set(n - 1 - i, n - 1 - j, self.at(i, j)) } else { a.set(i, j, self.at(i, j)) }
            }
        }
    }

    fn at(&self, i: usize, j: usize) -> T {
        self.x.get(i + j * self.n).copied().unwrap_or_default()
    }

    fn set(&mut self, i: usize, j: usize, x: T) {
        if let Some(to) = self.x.get_mut(i + j * self.n) {
            *to = x;
        }
    }

    /// The conjugate, if Hermitian.
    fn other(&self, x: T) -> T {
        if self.hermitian { conj(x) } else { x }
    }

    /// `|re| + |im|`.
    fn size(&self, i: usize, j: usize) -> f64 {
        self.at(i, j).size().into()
    }

    /// Which row is swapped with the last row of the block at `k`, and how many rows the block has; `None` if the
    /// column is zero.
    fn choose(&self, k: usize) -> Option<(usize, usize)> {
        let alpha = (1.0 + 17f64.sqrt()) / 8.0;
        let n = self.n;
        let own = self.size(k, k);
        let (row, most) = (k + 1..n).fold((k, 0.0), |(at, most), i| {
            let size = self.size(i, k);
            if size > most { (i, size) } else { (at, most) }
        });
        if own.max(most) == 0.0 {
            return None;
        }
        if own >= alpha * most || row == k {
            return Some((k, 1));
        }
        let left = (k..row).map(|j| self.size(row, j));
        let across = left.chain((row + 1..n).map(|i| self.size(i, row))).fold(0.0, f64::max);
        if own >= alpha * most * (most / across) {
            Some((k, 1))
        } else if self.size(row, row) >= alpha * across {
            Some((row, 1))
        } else {
            Some((row, 2))
        }
    }

    /// Swaps rows and columns `from` and `to` of the part that is not eliminated yet.
    fn interchange(&mut self, k: usize, from: usize, to: usize, rows: usize) {
        let n = self.n;
        let trade = |this: &mut Self, (i, j): (usize, usize), (p, q): (usize, usize), turned: bool| {
            let (mut x, mut y) = (this.at(i, j), this.at(p, q));
            if turned {
                (x, y) = (this.other(x), this.other(y));
            }
            this.set(i, j, y);
            this.set(p, q, x);
        };
        (to + 1..n).for_each(|i| trade(self, (i, from), (i, to), false));
        (from + 1..to).for_each(|i| trade(self, (i, from), (to, i), true));
        let corner = self.other(self.at(to, from));
        self.set(to, from, corner);
        trade(self, (from, from), (to, to), false);
        if rows == 2 {
            trade(self, (k + 1, k), (to, k), false);
        }
    }

    /// Subtracts `x * factor` for each of the columns x from column `j`, from row `j` on.
    fn subtract(&mut self, j: usize, factors: &[(usize, T)]) {
        let n = self.n;
        let (before, rest) = self.x.split_at_mut(j * n);
        let Some(target) = rest.get_mut(j..n) else { return };
        for (column, factor) in factors {
            if let Some(x) = before.get(column * n + j..(column + 1) * n) {
                <T as crate::numerics::Field>::axpy(-*factor, x, target);
            }
        }
        if self.hermitian
            && let Some(x) = target.first_mut()
        {
            *x = T::from_part(crate::numerics::Field::re(*x));
        }
    }

    fn eliminate(&mut self, k: usize, rows: usize) {
        let n = self.n;
        if rows == 1 {
            let pivot = self.at(k, k);
            for j in k + 1..n {
                let factor = self.other(self.at(j, k).over(pivot));
                self.subtract(j, &[(k, factor)]);
            }
            (k + 1..n).for_each(|i| self.set(i, k, self.at(i, k).over(pivot)));
            return;
        }
        // D = [a c'; c b], and row j of W = A21 * D^-1; all divided by c, so that no intermediate result overflows.
        let c = self.at(k + 1, k);
        let turned = self.other(c);
        let (d11, d22) = (self.at(k + 1, k + 1).over(c), self.at(k, k).over(turned));
        let t = T::ONE.over(d11 * d22 - T::ONE);
        for j in k + 2..n {
            let (x, y) = (self.at(j, k), self.at(j, k + 1));
            let (one, two) = ((x * d11 - y).over(turned) * t, (y * d22 - x).over(c) * t);
            self.subtract(j, &[(k, self.other(one)), (k + 1, self.other(two))]);
            self.set(j, k, one);
            self.set(j, k + 1, two);
        }
    }
}

/// The factors in place of the triangle of A. Pivots count from 1; two that are negative and equal belong to a block of
/// two rows. Returns the first zero on the diagonal of D, counted from 1, or 0.
pub(super) fn factor<T: Number>(a: &mut MatMut<'_, T>, upper: bool, hermitian: bool, pivots: &mut [i64]) -> i32 {
    let mut l = Lower::new(a.as_ref(), upper, hermitian);
    let n = l.n;
    let (mut info, mut k) = (0, 0);
    // The number of a row in A, counted from 1.
    let place = |i: usize| if upper { n - i } else { i + 1 };
    let mut note = |k: usize, pivot: i64| {
        if let Some(to) = pivots.get_mut(place(k) - 1) {
            *to = pivot;
        }
    };
    while k < n {
        let Some((row, rows)) = l.choose(k) else {
            // LAPACK reports the first one that it meets, which is the last row of an upper triangle.
            info = if info == 0 { place(k) as i32 } else { info };
            note(k, place(k) as i64);
            k += 1;
            continue;
        };
        let from = k + rows - 1;
        if row != from {
            l.interchange(k, from, row, rows);
        }
        l.eliminate(k, rows);
        let pivot = place(row) as i64;
        if rows == 1 {
            note(k, pivot);
        } else {
            note(k, -pivot);
            note(k + 1, -pivot);
        }
        k += rows;
    }
    l.store(a, upper);
    info
}

/// Solves `A * X = B` in place of B, from the factors. Pivots that are not row numbers interchange nothing.
pub(super) fn solve<T: Number>(a: Mat<'_, T>, (upper, hermitian): (bool, bool), pivots: &[i64], b: &mut MatMut<'_, T>) {
    let l = Lower::new(a, upper, hermitian);
    let n = l.n;
    let place = |i: usize| if upper { n - 1 - i } else { i };
    // The row that row `k` was swapped with, and whether it is the first of a block of two.
    let pivot = |k: usize| -> (usize, bool) {
        let pivot = pivots.get(place(k)).copied().unwrap_or(0);
        let row = usize::try_from(pivot.unsigned_abs()).unwrap_or(0).wrapping_sub(1);
        (if row < n { place(row) } else { k }, pivot < 0)
    };
    // Blocks from first to last.
    let mut blocks = Vec::new();
    let mut k = 0;
    while k < n {
        let rows = if pivot(k).1 && k + 1 < n { 2 } else { 1 };
        push(&mut blocks, (k, rows, pivot(k).0)).or_unwind();
        k += rows;
    }
    let mut x = filled(n, T::default()).or_unwind();
    for j in 0..b.cols() {
        (0..n).for_each(|i| x_set(&mut x, i, b.get(place(i), j)));
        for &(k, rows, row) in &blocks {
            x.swap(k + rows - 1, row);
            eliminate(&l, &mut x, k, rows);
        }
        for &(k, rows, row) in blocks.iter().rev() {
            for at in k..k + rows {
                let column = l.x.get(at * n + k + rows..(at + 1) * n).unwrap_or_default();
                let below = x.get(k + rows..).unwrap_or_default();
                let sum = if hermitian {
                    T::dotc(column.len(), column, 1, below, 1)
                } else {
                    T::dot(column.len(), column, 1, below, 1)
                };
                let now = x.get(at).copied().unwrap_or_default();
                x_set(&mut x, at, now - sum);
            }
            x.swap(k + rows - 1, row);
        }
        (0..n).for_each(|i| b.set(place(i), j, x.get(i).copied().unwrap_or_default()));
    }
}

fn x_set<T: Number>(x: &mut [T], i: usize, value: T) {
    if let Some(x) = x.get_mut(i) {
        *x = value;
    }
}

/// Eliminates with one block of L, then divides by the block of D.
fn eliminate<T: Number>(l: &Lower<T>, x: &mut [T], k: usize, rows: usize) {
    let n = l.n;
    let (head, below) = x.split_at_mut(k + rows);
    for at in k..k + rows {
        let column = l.x.get(at * n + k + rows..(at + 1) * n).unwrap_or_default();
        let factor = head.get(at).copied().unwrap_or_default();
        <T as crate::numerics::Field>::axpy(-factor, column, below);
    }
    match head.get_mut(k..) {
        Some([one]) => *one = one.over(l.at(k, k)),
        Some([one, two]) => {
            let c = l.at(k + 1, k);
            let (d11, d22) = (l.at(k + 1, k + 1).over(c), l.at(k, k).over(l.other(c)));
            let t = T::ONE.over(d11 * d22 - T::ONE);
            let (p, q) = (one.over(l.other(c)), two.over(c));
            (*one, *two) = ((p * d11 - q) * t, (q * d22 - p) * t);
        }
        _ => {}
    }
}
