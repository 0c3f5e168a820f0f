//! Offsets to coordinates and back; to and from dense matrices.

use super::super::element::{Number, SparseElement, SparseIndex};
use super::spgemm::accumulate;
use super::spmm::Steps;
use super::{Rows, at, put, split};

/// Writes the row of each entry.
pub(crate) fn expand<I: SparseIndex>(offsets: &[I], count: usize, rows: &mut [I]) {
    let bounds = split::by_entries(offsets, count, 1);
    let cut = |row| at(offsets, row).place();
    split::each_two(&bounds, (rows, &cut), (&mut [(); 0], &|_| 0), &|range, rows, _| {
        let first = cut(range.start);
        for row in range {
            let (start, end) = (cut(row).saturating_sub(first), cut(row + 1).saturating_sub(first));
            rows.get_mut(start..end).unwrap_or_default().fill(I::from_place(row));
        }
    });
}

/// Computes the offsets of `count` rows from the sorted row of each entry.
pub(crate) fn compress<I: SparseIndex>(rows: &[I], count: usize, offsets: &mut [I]) {
    let mut row = 0;
    for (place, this) in rows.iter().enumerate() {
        let this = this.place().min(count);
        while row <= this {
            put(offsets, row, I::from_place(place));
            row += 1;
        }
    }
    offsets.get_mut(row..=count).unwrap_or_default().fill(I::from_place(rows.len()));
}

/// Writes the matrix to a dense one, zeros included. Gaps between the elements do not change.
pub(crate) fn to_dense<T: SparseElement, I: SparseIndex>(a: &Rows<'_, T, I>, dense: &mut [T], steps: Steps) {
    if steps.column == 1 {
        return split::each(&split::evenly(a.count, a.width), dense, steps.row, &|rows, dense| {
            for (row, dense) in rows.zip(dense.chunks_mut(steps.row.max(1))) {
                let dense = dense.get_mut(..a.width).unwrap_or_default();
                dense.fill(T::default());
                a.entries(row).for_each(|(column, value)| put(dense, column, value));
            }
        });
    }
    split::each(&split::evenly(a.width, a.count), dense, steps.column, &|columns, dense| {
        for (_, dense) in columns.zip(dense.chunks_mut(steps.column.max(1))) {
            dense.get_mut(..a.count).unwrap_or_default().fill(T::default());
        }
    });
    for row in 0..a.count {
        a.entries(row).for_each(|(column, value)| put(dense, steps.place(row, column), value));
    }
}

/// Whether an element is stored: its magnitude is larger than the threshold, or it is NaN.
fn counts<T: SparseElement>(element: T, threshold: f64) -> bool {
    let sum = element.widen();
    if threshold == 0.0 { sum != T::Scalar::default() } else { sum.magnitude() > threshold || sum.magnitude().is_nan() }
}

/// Counts the entries of each row of a dense matrix, as offsets; returns their total.
pub(crate) fn dense_count<T: SparseElement, I: SparseIndex>(
    dense: &[T],
    (rows, columns): (usize, usize),
    steps: Steps,
    threshold: f64,
    offsets: &mut [I],
) -> usize {
    let bounds = split::evenly(rows, columns);
    split::each(&bounds, offsets.get_mut(1..).unwrap_or_default(), 1, &|rows, totals| {
        for (row, total) in rows.zip(totals) {
            let count = (0..columns).filter(|column| counts(at(dense, steps.place(row, *column)), threshold)).count();
            *total = I::from_place(count);
        }
    });
    accumulate(offsets)
}

/// Writes the columns and values of the entries of a dense matrix.
pub(crate) fn dense_fill<T: SparseElement, I: SparseIndex>(
    dense: &[T],
    (rows, columns): (usize, usize),
    steps: Steps,
    threshold: f64,
    offsets: &[I],
    (indices, values): (&mut [I], &mut [T]),
) {
    let bounds = split::evenly(rows, columns);
    let cut = |row| at(offsets, row).place();
    split::each_two(&bounds, (indices, &cut), (values, &cut), &|rows, indices, values| {
        let mut slots = indices.iter_mut().zip(values);
        for row in rows {
            for column in 0..columns {
                let element = at(dense, steps.place(row, column));
                if !counts(element, threshold) {
                    continue;
                }
                if let Some((index, value)) = slots.next() {
                    (*index, *value) = (I::from_place(column), element);
                }
            }
        }
    });
}
