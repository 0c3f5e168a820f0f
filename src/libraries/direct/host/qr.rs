//! R by Givens rotations, row after row of A, applied to the right-hand sides at the same time (George and Heath,
//! "Solution of sparse linear least squares problems using Givens rotations", Linear Algebra Appl. 34, 1980).

use super::{Entry, NONE, Plan, places};
use crate::core::room::{OrUnwind, copied, filled};
use crate::libraries::sparse::host::{Rows, at, put};
use crate::libraries::sparse::{SolveElement, SparseIndex};

/// R during the computation: the rows of the factor, each with its rotated part of the right-hand sides.
struct Growing<T> {
    columns: Vec<usize>,
    values: Vec<T>,
    sides: Vec<T>,
    filled: Vec<bool>,
}

/// The columns of B and of X, each with its leading dimension.
type Columns<'c, T> = ((&'c [T], usize), (&'c mut [T], usize));

/// Solves `min ||A * x - b||` for each of the columns of B. X is n x `count`, B is m x `count`, each with its leading dimension.
/// Returns the column of A whose pivot is zero, or negligible if there are more rows than columns, plus 1; or 0.
pub(crate) fn solve<T: SolveElement, I: SparseIndex>(
    plan: &Plan,
    (a, entries): (&Rows<'_, T, I>, &[Entry]),
    ((b, ldb), (x, ldx)): Columns<'_, T>,
    count: usize,
) -> usize {
    let (order, parents, offsets) = (&plan.order, &plan.tree.parents, &plan.tree.offsets);
    let (n, m) = (order.len(), a.count);
    let places = places(order);
    let total = at(offsets, n);
    let mut r = Growing {
        columns: columns(plan, &super::stars(entries, &places)),
        values: filled(total, T::default()).or_unwind(),
        sides: filled(n.saturating_mul(count), T::default()).or_unwind(),
        filled: filled(n, false).or_unwind(),
    };
    let (mut w, mut side) = (filled(n, T::default()).or_unwind(), filled(count, T::default()).or_unwind());
    for row in 0..m {
        let mut i = NONE;
        for (column, value) in a.entries(row).filter(|(column, _)| *column < n) {
            let place = at(&places, column);
            put(&mut w, place, value);
            i = i.min(place);
        }
        side.iter_mut().enumerate().for_each(|(j, side)| *side = at(b, row + j * ldb));
        while i < n {
            if at(&w, i) != T::default() && r.take(i, offsets, &mut w, &mut side, count) {
                break;
            }
            i = parents.get(i).copied().unwrap_or(NONE);
        }
    }
    // Least squares need columns that are independent beyond rounding. R has the norms of the columns of A.
    let limit = if m > n { m as f64 * T::EPSILON } else { 0.0 };
    let mut norms = filled(n, 0.0f64).or_unwind();
    for (column, value) in r.columns.iter().zip(&r.values) {
        let norm = at(&norms, *column).hypot(value.magnitude());
        put(&mut norms, *column, norm);
    }
    // Back substitution, from the last row upwards.
    for k in (0..n).rev() {
        let (first, end) = (at(offsets, k), at(offsets, k + 1));
        let pivot = at(&r.values, first);
        if pivot == T::default() || pivot.magnitude() <= limit * at(&norms, k) {
            return at(order, k) + 1;
        }
        for j in 0..count {
            let mut sum = at(&r.sides, k * count + j);
            for place in first + 1..end {
                sum = sum - at(&r.values, place) * at(&r.sides, at(&r.columns, place) * count + j);
            }
            put(&mut r.sides, k * count + j, sum.over(pivot));
        }
    }
    for (k, i) in order.iter().enumerate() {
        (0..count).for_each(|j| put(x, i + j * ldx, at(&r.sides, k * count + j)));
    }
    0
}

/// The columns of each row of R, ascending.
fn columns(plan: &Plan, stars: &[(usize, usize)]) -> Vec<usize> {
    let (n, parents, offsets) = (plan.n(), &plan.tree.parents, &plan.tree.offsets);
    let above = super::Above::new(n, stars);
    let (mut columns, mut next, mut reach) =
        (filled(at(offsets, n), 0).or_unwind(), copied(offsets).or_unwind(), super::Reach::new(n));
    for k in 0..n {
        let place = at(&next, k);
        put(&mut columns, place, k);
        put(&mut next, k, place + 1);
        for i in reach.columns(k, &above, parents) {
            let place = at(&next, *i);
            put(&mut columns, place, k);
            put(&mut next, *i, place + 1);
        }
    }
    columns
}

impl<T: SolveElement> Growing<T> {
    /// Rotates the rest of a row, whose first element is in column `i`, with row `i` of R. Returns `true` if that row
    /// of R was empty and was replaced by this row.
    fn take(&mut self, i: usize, offsets: &[usize], w: &mut [T], side: &mut [T], count: usize) -> bool {
        let range = at(offsets, i)..at(offsets, i + 1);
        let (Some(values), Some(columns)) = (self.values.get_mut(range.clone()), self.columns.get(range)) else {
            return true;
        };
        let Some(sides) = self.sides.get_mut(i * count..(i + 1) * count) else { return true };
        if !at(&self.filled, i) {
            put(&mut self.filled, i, true);
            for (value, column) in values.iter_mut().zip(columns) {
                *value = at(w, *column);
                put(w, *column, T::default());
            }
            sides.copy_from_slice(side);
            return true;
        }
        // The rotation [c s; -conj(s) c] maps (a, b) to (r, 0), where r has the phase of a.
        let (a, b) = (values.first().copied().unwrap_or_default(), at(w, i));
        let (size_a, size_b) = (a.magnitude(), b.magnitude());
        let r = size_a.hypot(size_b);
        let real = |x: f64| T::from_parts(x, 0.0);
        let phase = if size_a == 0.0 { T::ONE } else { a.over(real(size_a)) };
        let (c, s) = (real(size_a / r), phase * b.conj().over(real(r)));
        for (value, column) in values.iter_mut().zip(columns) {
            let (x, y) = (*value, at(w, *column));
            *value = c * x + s * y;
            put(w, *column, c * y - s.conj() * x);
        }
        put(w, i, T::default());
        for (x, y) in sides.iter_mut().zip(side) {
            (*x, *y) = (c * *x + s * *y, c * *y - s.conj() * *x);
        }
        false
    }
}
