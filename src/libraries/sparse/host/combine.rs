//! `alpha * A + beta * B` of two sparse matrices, and matrices put side by side.

use super::super::element::{SparseElement, SparseIndex};
use super::spgemm::accumulate;
use super::{Rows, at, put, split};

/// Calls `each` with the entries of a row of both matrices, by column: the value of each matrix there.
#[inline(always)]
fn merge<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    b: &Rows<'_, T, I>,
    row: usize,
    mut each: impl FnMut(usize, Option<T>, Option<T>),
) {
    let (mut a, mut b) = (a.entries(row), b.entries(row));
    let (mut left, mut right) = (a.next(), b.next());
    loop {
        let (column, of_a, of_b) = match (left, right) {
            (Some((column, x)), Some((other, y))) if column == other => (column, Some(x), Some(y)),
            (Some((column, x)), right) if right.is_none_or(|(other, _)| column < other) => (column, Some(x), None),
            (_, Some((column, y))) => (column, None, Some(y)),
            (_, None) => return,
        };
        each(column, of_a, of_b);
        if of_a.is_some() {
            left = a.next();
        }
        if of_b.is_some() {
            right = b.next();
        }
    }
}

/// Counts the entries of each row of the sum, as offsets; returns their total.
pub(crate) fn count<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    b: &Rows<'_, T, I>,
    offsets: &mut [I],
) -> usize {
    let bounds = split::by_entries(a.offsets, a.count, 4);
    split::each(&bounds, offsets.get_mut(1..).unwrap_or_default(), 1, &|rows, counts| {
        for (row, count) in rows.zip(counts) {
            let mut entries = 0;
            merge(a, b, row, |_, _, _| entries += 1);
            *count = I::from_place(entries);
        }
    });
    accumulate(offsets)
}

/// Writes the columns and values of the sum.
pub(crate) fn fill<T: SparseElement, I: SparseIndex>(
    (alpha, a): (T::Scalar, &Rows<'_, T, I>),
    (beta, b): (T::Scalar, &Rows<'_, T, I>),
    offsets: &[I],
    indices: &mut [I],
    values: &mut [T],
) {
    let bounds = split::by_entries(a.offsets, a.count, 4);
    let cut = |row| at(offsets, row).place();
    split::each_two(&bounds, (indices, &cut), (values, &cut), &|rows, indices, values| {
        let mut to = indices.iter_mut().zip(values);
        for row in rows {
            merge(a, b, row, |column, left, right| {
                let Some((index, value)) = to.next() else { return };
                *index = I::from_place(column);
                *value = T::narrow(match (left, right) {
                    (Some(a), Some(b)) => alpha * a.widen() + beta * b.widen(),
                    (Some(a), None) => alpha * a.widen(),
                    (None, Some(b)) => beta * b.widen(),
                    (None, None) => T::Scalar::default(),
                });
            });
        }
    });
}

/// Stacks matrices one below the other.
pub(crate) fn below<T: SparseElement, I: SparseIndex>(
    parts: &[Rows<'_, T, I>],
    offsets: &mut [I],
    indices: &mut [I],
    values: &mut [T],
) {
    let (mut row, mut place) = (0, 0);
    put(offsets, 0, I::from_place(0));
    for part in parts {
        for part_row in 0..part.count {
            let (columns, elements) = part.row(part_row);
            let end = place + columns.len();
            if let Some(to) = indices.get_mut(place..end) {
                to.copy_from_slice(columns);
            }
            if let Some(to) = values.get_mut(place..end) {
                to.copy_from_slice(elements);
            }
            (row, place) = (row + 1, end);
            put(offsets, row, I::from_place(place));
        }
    }
}

/// Joins matrices side by side; all have as many rows as the first.
pub(crate) fn beside<T: SparseElement, I: SparseIndex>(
    parts: &[Rows<'_, T, I>],
    offsets: &mut [I],
    indices: &mut [I],
    values: &mut [T],
) {
    let mut place = 0;
    put(offsets, 0, I::from_place(0));
    for row in 0..parts.first().map_or(0, |part| part.count) {
        let mut first = 0;
        for part in parts {
            for (column, value) in part.entries(row) {
                put(indices, place, I::from_place(first + column));
                put(values, place, value);
                place += 1;
            }
            first += part.width;
        }
        put(offsets, row + 1, I::from_place(place));
    }
}
