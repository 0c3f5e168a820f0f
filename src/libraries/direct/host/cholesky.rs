//! Cholesky factorization row by row, and solves (Davis, "Direct Methods for Sparse Linear Systems", 2006, chapter 4).

use super::{Above, Reach, places};
use crate::core::room::{OrUnwind, collected, copied, filled};
use crate::libraries::sparse::element::SolveElement;
use crate::libraries::sparse::host::{at, put};

/// The structure of a factor: the elimination order, the tree, and the offsets of the columns.
pub(crate) struct Structure<'a> {
    pub(crate) order: &'a [usize],
    pub(crate) parents: &'a [usize],
    pub(crate) offsets: &'a [usize],
}

/// A triangle of a square matrix.
pub(crate) struct Triangle<'a, T, I> {
    pub(crate) offsets: &'a [I],
    pub(crate) indices: &'a [I],
    pub(crate) values: &'a [T],
    pub(crate) upper: bool,
}

/// Writes the columns of L to `rows` and `values`, with the diagonal first in each. Returns the position in the
/// elimination order of the first pivot that is not positive, plus 1; or 0.
pub(crate) fn factor<T: SolveElement, I: super::SparseIndex>(
    structure: &Structure<'_>,
    a: &Triangle<'_, T, I>,
    rows: &mut [I],
    values: &mut [T],
) -> usize {
    let Structure { order, parents, offsets } = *structure;
    let (n, places) = (order.len(), places(order));
    let above = Above::new(n, super::pairs(a.offsets, a.indices, a.upper, &places));
    // Whether the order moves an entry to the other side of the diagonal: its row of A comes later than its column.
    let turned = |entry: usize, row: usize| {
        let column = at(a.indices, entry).place();
        at(&places, column) != row
    };
    let mut diagonals = filled(n, T::default()).or_unwind();
    for (i, diagonal) in diagonals.iter_mut().enumerate() {
        let row = at(order, i);
        let end = at(a.offsets, row + 1).place().min(a.indices.len());
        let start = at(a.offsets, row).place().min(end);
        let columns = a.indices.get(start..end).unwrap_or_default();
        if let Ok(k) = columns.binary_search(&I::from_place(row)) {
            *diagonal = at(a.values, start + k);
        }
    }
    let (mut x, mut next, mut reach) =
        (filled(n, T::default()).or_unwind(), copied(offsets).or_unwind(), Reach::new(n));
    for k in 0..n {
        for place in above.range(k) {
            let (j, entry) = (at(&above.rows, place), at(&above.entries, place));
            let value = at(a.values, entry);
            // Element (j, k): conjugated if the entry was moved across the diagonal.
            let value = if turned(entry, k) { value.conj() } else { value };
            let sum = at(&x, j) + value;
            put(&mut x, j, sum);
        }
        let mut pivot = at(&diagonals, k).re();
        for i in reach.columns(k, &above, parents) {
            let (first, end) = (at(offsets, *i), at(&next, *i));
            let y = at(&x, *i).over(at(values, first));
            put(&mut x, *i, T::default());
            for place in first + 1..end {
                let row = at(rows, place).place();
                let rest = at(&x, row) - at(values, place) * y;
                put(&mut x, row, rest);
            }
            pivot -= y.magnitude() * y.magnitude();
            put(rows, end, I::from_place(k));
            put(values, end, y.conj());
            put(&mut next, *i, end + 1);
        }
        if pivot.is_nan() || pivot <= 0.0 {
            return k + 1;
        }
        let first = at(offsets, k);
        put(rows, first, I::from_place(k));
        put(values, first, T::from_parts(pivot.sqrt(), 0.0));
        put(&mut next, k, first + 1);
    }
    0
}

/// Solves `A * x = b` and overwrites b with x.
pub(crate) fn solve<T: SolveElement, I: super::SparseIndex>(
    order: &[usize],
    offsets: &[usize],
    (rows, values): (&[I], &[T]),
    b: &mut [T],
) {
    let n = order.len();
    let mut x: Vec<T> = collected(order.iter().map(|i| at(b, *i))).or_unwind();
    for k in 0..n {
        let (first, end) = (at(offsets, k), at(offsets, k + 1));
        let y = at(&x, k).over(at(values, first));
        put(&mut x, k, y);
        for place in first + 1..end {
            let row = at(rows, place).place();
            let rest = at(&x, row) - at(values, place) * y;
            put(&mut x, row, rest);
        }
    }
    for k in (0..n).rev() {
        let (first, end) = (at(offsets, k), at(offsets, k + 1));
        let mut sum = at(&x, k);
        for place in first + 1..end {
            sum = sum - at(values, place).conj() * at(&x, at(rows, place).place());
        }
        put(&mut x, k, sum.over(at(values, first)));
    }
    order.iter().zip(x).for_each(|(i, x)| put(b, *i, x));
}
