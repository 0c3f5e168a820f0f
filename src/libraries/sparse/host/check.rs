//! Validation of structures.

use super::super::element::SparseIndex;
use super::super::fault::Fault;
use super::{at, split};

/// Checks compressed rows: first the offsets; if these are valid, the indices, which must be sorted and not repeated in
/// each row.
pub(crate) fn compressed<I: SparseIndex>(
    rows: usize,
    width: usize,
    offsets: &[I],
    indices: &[I],
) -> Option<(usize, Fault)> {
    let nnz = indices.len();
    let mut before = I::from_place(0);
    for row in 0..=rows {
        let offset = at(offsets, row);
        let wrong =
            offset < before || (row == 0 && offset != I::from_place(0)) || (row == rows && offset.place() != nnz);
        if wrong {
            return Some((row, Fault::Offset));
        }
        before = offset;
    }
    let bounds = split::by_entries(offsets, rows, 1);
    let found = split::map(&bounds, &|rows| {
        rows.clone().find_map(|row| {
            let start = at(offsets, row).place();
            let indices = indices.get(start..at(offsets, row + 1).place()).unwrap_or_default();
            sorted(width, indices).map(|(place, fault)| (start + place, fault))
        })
    });
    found.into_iter().flatten().next()
}

/// Checks that the indices are below `width`, each larger than the one before it.
pub(crate) fn sorted<I: SparseIndex>(width: usize, indices: &[I]) -> Option<(usize, Fault)> {
    let mut before = None;
    for (place, index) in indices.iter().enumerate() {
        if index.place() >= width {
            return Some((place, Fault::Range));
        }
        if before.is_some_and(|before| before >= index) {
            return Some((place, Fault::Order));
        }
        before = Some(index);
    }
    None
}

/// Checks coordinates: inside the matrix, sorted by row and then by column, none repeated. With `any_order` checks only
/// that they lie inside.
pub(crate) fn coordinates<I: SparseIndex>(
    (height, width): (usize, usize),
    rows: &[I],
    columns: &[I],
    any_order: bool,
) -> Option<(usize, Fault)> {
    let mut before = None;
    for (place, at) in rows.iter().zip(columns).enumerate() {
        if at.0.place() >= height || at.1.place() >= width {
            return Some((place, Fault::Range));
        }
        if !any_order && before.is_some_and(|before| before >= at) {
            return Some((place, Fault::Order));
        }
        before = Some(at);
    }
    None
}
