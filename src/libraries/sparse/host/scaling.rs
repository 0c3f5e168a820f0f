//! Scaling and sums of rows and columns; diagonals.

use super::super::element::{SparseElement, SparseIndex};
use super::{Rows, at, put, split};
use crate::core::room::{OrUnwind, filled};

/// `a_ij * rows_i * columns_j`; a factor that is not given is 1.
pub(crate) fn scale<T: SparseElement, I: SparseIndex>(
    (offsets, indices, count): (&[I], &[I], usize),
    rows: Option<&[T]>,
    columns: Option<&[T]>,
    values: &mut [T],
) {
    let bounds = split::by_entries(offsets, count, 1);
    let cut = |row| at(offsets, row).place();
    split::each_two(&bounds, (values, &cut), (&mut [(); 0], &|_| 0), &|range, values, _| {
        let first = cut(range.start);
        for row in range {
            let places = cut(row)..cut(row + 1);
            let own = indices.get(places.clone()).unwrap_or_default();
            let places = places.start.saturating_sub(first)..places.end.saturating_sub(first);
            for (column, value) in own.iter().zip(values.get_mut(places).unwrap_or_default()) {
                let mut product = value.widen();
                if let Some(rows) = rows {
                    product = at(rows, row).widen() * product;
                }
                if let Some(columns) = columns {
                    product = product * at(columns, column.place()).widen();
                }
                *value = T::narrow(product);
            }
        }
    });
}

/// The sum of each row.
pub(crate) fn row_sums<T: SparseElement, I: SparseIndex>(a: &Rows<'_, T, I>, sums: &mut [T]) {
    split::each(&split::by_entries(a.offsets, a.count, 1), sums, 1, &|rows, sums| {
        for (row, sum) in rows.zip(sums) {
            *sum = T::narrow(a.row(row).1.iter().fold(T::Scalar::default(), |sum, value| sum + value.widen()));
        }
    });
}

/// The sum of each column, in the order of the rows.
pub(crate) fn column_sums<T: SparseElement, I: SparseIndex>(a: &Rows<'_, T, I>, sums: &mut [T]) {
    let mut wide = filled(a.width, T::Scalar::default()).or_unwind();
    for (column, value) in a.indices.iter().zip(a.values) {
        let column = column.place();
        let sum = at(&wide, column) + value.widen();
        put(&mut wide, column, sum);
    }
    sums.iter_mut().zip(wide).for_each(|(sum, wide)| *sum = T::narrow(wide));
}

/// The elements of the diagonal that begins at the given row and column; zero where there is no entry.
pub(crate) fn diagonal<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    first: (usize, usize),
    diagonal: &mut [T],
) {
    split::each(&split::evenly(diagonal.len(), 8), diagonal, 1, &|places, diagonal| {
        for (place, element) in places.zip(diagonal) {
            let (columns, values) = a.row(first.0 + place);
            let column = I::from_place(first.1 + place);
            *element = columns.binary_search(&column).map_or(T::default(), |found| at(values, found));
        }
    });
}
