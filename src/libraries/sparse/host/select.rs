//! Parts of a matrix: large entries, a triangle, ranges of rows or columns.

use super::super::element::{SparseElement, SparseIndex};
use super::super::keep::Keep;
use super::spgemm::accumulate;
use super::{Rows, at, split};

/// Counts the entries of each row of the part, as offsets; returns their total.
pub(crate) fn count<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    keep: Keep,
    rows: usize,
    offsets: &mut [I],
) -> usize {
    let first = keep.first_row();
    split::each(&split::evenly(rows, 8), offsets.get_mut(1..).unwrap_or_default(), 1, &|rows, counts| {
        for (row, count) in rows.zip(counts) {
            let kept = a.entries(row + first).filter(|(column, value)| keep.keeps(row + first, *column, *value));
            *count = I::from_place(kept.count());
        }
    });
    accumulate(offsets)
}

/// Writes the columns and values of the part.
pub(crate) fn fill<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    keep: Keep,
    rows: usize,
    offsets: &[I],
    indices: &mut [I],
    values: &mut [T],
) {
    let first = keep.first_row();
    let cut = |row| at(offsets, row).place();
    split::each_two(&split::evenly(rows, 8), (indices, &cut), (values, &cut), &|rows, indices, values| {
        let entries = rows.flat_map(|row| {
            a.entries(row + first).filter(move |(column, value)| keep.keeps(row + first, *column, *value))
        });
        for ((column, value), (index, to)) in entries.zip(indices.iter_mut().zip(values)) {
            (*index, *to) = (I::from_place(keep.moved(column)), value);
        }
    });
}
