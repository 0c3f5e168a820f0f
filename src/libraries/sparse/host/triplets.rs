//! Coordinates in any order: sorts them and sums duplicates.

use super::super::element::{SparseElement, SparseIndex};
use super::{at, put};
use crate::core::room::{OrUnwind, collected, filled};
use rayon::slice::ParallelSliceMut;

/// The order of the entries by row and then by column; duplicates keep their order.
pub(crate) fn order<I: SparseIndex>((height, width): (usize, usize), rows: &[I], columns: &[I]) -> Vec<usize> {
    let len = rows.len().min(columns.len());
    let key = |place: &usize| (at(rows, *place), at(columns, *place));
    let mut order: Vec<usize> = collected(0..len).or_unwind();
    if order.is_sorted_by_key(key) {
        return order;
    }
    // A counting sort takes as many steps as there are rows and columns.
    if height.saturating_add(width) > len.saturating_mul(4) {
        // By the number last, so that an unstable sort, which takes no memory, gives the stable order.
        order.par_sort_unstable_by_key(|place| (key(place), *place));
        return order;
    }
    let by_column = by(width, columns, &order);
    by(height, rows, &by_column)
}

/// Sorts by one key, stable.
fn by<I: SparseIndex>(keys: usize, of: &[I], order: &[usize]) -> Vec<usize> {
    let mut next = filled(keys + 1, 0usize).or_unwind();
    for place in order {
        if let Some(count) = next.get_mut(at(of, *place).place().saturating_add(1)) {
            *count += 1;
        }
    }
    let mut total = 0;
    for next in &mut next {
        total += *next;
        *next = total;
    }
    let mut sorted = filled(order.len(), 0).or_unwind();
    for place in order {
        if let Some(next) = next.get_mut(at(of, *place).place()) {
            put(&mut sorted, *next, *place);
            *next += 1;
        }
    }
    sorted
}

/// Writes the entries in that order; returns the number of distinct positions.
pub(crate) fn sort<T: SparseElement, I: SparseIndex>(
    shape: (usize, usize),
    (rows, columns, values): (&[I], &[I], &[T]),
    (to_rows, to_columns, to_values): (&mut [I], &mut [I], &mut [T]),
) -> usize {
    let (mut different, mut before) = (0, None);
    for (to, place) in order(shape, rows, columns).into_iter().enumerate() {
        let key = (at(rows, place), at(columns, place));
        different += usize::from(before != Some(key));
        before = Some(key);
        put(to_rows, to, key.0);
        put(to_columns, to, key.1);
        put(to_values, to, at(values, place));
    }
    different
}

/// Sums the sorted entries of each position, in their order.
pub(crate) fn sum<T: SparseElement, I: SparseIndex>(
    (rows, columns, values): (&[I], &[I], &[T]),
    (to_rows, to_columns, to_values): (&mut [I], &mut [I], &mut [T]),
) {
    let mut entries = rows.iter().zip(columns).zip(values).peekable();
    let mut to = 0;
    while let Some((key, value)) = entries.next() {
        let mut sum = value.widen();
        while let Some((_, value)) = entries.next_if(|(next, _)| *next == key) {
            sum = sum + value.widen();
        }
        put(to_rows, to, *key.0);
        put(to_columns, to, *key.1);
        put(to_values, to, T::narrow(sum));
        to += 1;
    }
}
