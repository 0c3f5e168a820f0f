//! Products of two sparse matrices, row by row: each row of the product is a combination of rows of the second factor
//! (Gustavson 1978).
//!
//! The entries are counted first, so that the arrays to be filled have the right length. A task marks columns in an
//! array as wide as the product. The columns of each row are sorted; its sums are computed in the order of the first
//! factor's entries.

use super::super::element::{SparseElement, SparseIndex};
use super::{Rows, at, put, split};
use crate::core::room::{OrUnwind, filled, grown};

/// Marks columns: a column that was seen in the current row has the mark of that row. Beside the mark stands what the row
/// keeps of the column.
struct Marks<K> {
    columns: Vec<(u32, K)>,
    mark: u32,
}

impl<K: Copy + Default> Marks<K> {
    fn new(width: usize) -> Self {
        Marks { columns: filled(width, (0, K::default())).or_unwind(), mark: 0 }
    }

    fn next_row(&mut self) {
        self.mark = self.mark.checked_add(1).unwrap_or_else(|| {
            self.columns.fill((0, K::default()));
            1
        });
    }

    /// Marks the column, if there is one: what is kept of it, and whether it was not yet seen in this row.
    #[inline]
    fn meet(&mut self, column: usize) -> Option<(&mut K, bool)> {
        let (mark, kept) = self.columns.get_mut(column)?;
        let new = *mark != self.mark;
        *mark = self.mark;
        Some((kept, new))
    }

    /// Whether the column was seen in this row.
    #[inline]
    fn has(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|(mark, _)| *mark == self.mark)
    }

    fn kept(&self, column: usize) -> K {
        at(&self.columns, column).1
    }
}

/// Up to this many columns for each entry, it is faster to look through them than to sort the entries.
const CLOSE: usize = 4;

/// Turns counts in `offsets[1..]` into offsets; returns their sum.
pub(crate) fn accumulate<I: SparseIndex>(offsets: &mut [I]) -> usize {
    let mut total = 0usize;
    put(offsets, 0, I::from_place(0));
    for offset in offsets.iter_mut().skip(1) {
        total = total.saturating_add(offset.place());
        *offset = I::from_place(total);
    }
    total
}

/// Counts the entries of each row of the product, as offsets; returns their total.
pub(crate) fn count<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    b: &Rows<'_, T, I>,
    offsets: &mut [I],
) -> usize {
    let bounds = split::by_entries(a.offsets, a.count, 16);
    split::each(&bounds, offsets.get_mut(1..).unwrap_or_default(), 1, &|rows, counts| {
        let mut marks = Marks::<()>::new(b.width);
        for (row, count) in rows.zip(counts) {
            marks.next_row();
            let mut new = 0;
            for inner in a.row(row).0 {
                let columns = b.row(inner.place()).0.iter();
                new += columns.filter(|column| marks.meet(column.place()).is_some_and(|(_, new)| new)).count();
            }
            *count = I::from_place(new);
        }
    });
    accumulate(offsets)
}

/// Writes the columns and values of `alpha * A * B`.
pub(crate) fn fill<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    b: &Rows<'_, T, I>,
    alpha: T::Scalar,
    offsets: &[I],
    indices: &mut [I],
    values: &mut [T],
) {
    let bounds = split::by_entries(a.offsets, a.count, 16);
    let cut = |row| at(offsets, row).place();
    split::each_two(&bounds, (indices, &cut), (values, &cut), &|rows, mut indices, mut values| {
        let mut marks = Marks::<T::Scalar>::new(b.width);
        for row in rows {
            marks.next_row();
            let len = cut(row + 1).saturating_sub(cut(row));
            let row_indices = split::front(&mut indices, len);
            let row_values = split::front(&mut values, len);
            let (mut found, mut low, mut high) = (0, usize::MAX, 0);
            for (inner, factor) in a.entries(row) {
                let factor = factor.widen();
                for (column, value) in b.entries(inner) {
                    let product = factor * value.widen();
                    match marks.meet(column) {
                        Some((sum, true)) => {
                            *sum = product;
                            put(row_indices, found, I::from_place(column));
                            found += 1;
                            (low, high) = (low.min(column), high.max(column));
                        }
                        Some((sum, false)) => *sum = *sum + product,
                        None => {}
                    }
                }
            }
            // Columns close together are read off in order.
            if high.saturating_sub(low) < CLOSE * found {
                let columns = (low..=high).filter(|column| marks.has(*column));
                row_indices.iter_mut().zip(columns).for_each(|(index, column)| *index = I::from_place(column));
            } else {
                row_indices.sort_unstable();
            }
            for (column, value) in row_indices.iter().zip(row_values) {
                *value = T::narrow(alpha * marks.kept(column.place()));
            }
        }
    });
}

/// `alpha * (A * B)` at the entries of a mask.
pub(crate) fn masked<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    b: &Rows<'_, T, I>,
    alpha: T::Scalar,
    (offsets, indices): (&[I], &[I]),
    values: &mut [T],
) {
    let bounds = split::by_entries(a.offsets, a.count, 16);
    let cut = |row| at(offsets, row).place();
    split::each_two(&bounds, (values, &cut), (&mut [(); 0], &|_| 0), &|rows, mut values, _| {
        // For each column of the mask's row, its position plus 1; else 0.
        let mut wanted = filled(b.width, 0usize).or_unwind();
        let mut sums = Vec::new();
        for row in rows {
            let columns = indices.get(cut(row)..cut(row + 1)).unwrap_or_default();
            let row_values = split::front(&mut values, columns.len());
            sums.clear();
            grown(&mut sums, columns.len(), T::Scalar::default()).or_unwind();
            columns.iter().zip(1..).for_each(|(column, place)| put(&mut wanted, column.place(), place));
            for (inner, factor) in a.entries(row) {
                let factor = factor.widen();
                for (column, value) in b.entries(inner) {
                    let sum = at(&wanted, column).checked_sub(1).and_then(|place| sums.get_mut(place));
                    if let Some(sum) = sum {
                        *sum = *sum + factor * value.widen();
                    }
                }
            }
            columns.iter().for_each(|column| put(&mut wanted, column.place(), 0));
            row_values.iter_mut().zip(&sums).for_each(|(value, sum)| *value = T::narrow(alpha * *sum));
        }
    });
}
