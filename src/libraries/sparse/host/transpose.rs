//! Compressed rows to the compressed rows of the transpose, by counting.

use super::super::element::{Number, SparseElement, SparseIndex};
use super::spgemm::accumulate;
use super::{Rows, at, put, split};
use crate::core::room::{OrUnwind, collected, filled};

/// The maximum number of tasks: each reads the whole matrix and writes a range of columns.
const TASKS: usize = 4;

/// The transpose, conjugated if `conj` is set. Entries keep the order of their rows.
pub(crate) fn transpose<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    conj: bool,
    offsets: &mut [I],
    indices: &mut [I],
    values: &mut [T],
) {
    let mut counts = filled(a.width, 0usize).or_unwind();
    for column in a.indices {
        if let Some(count) = counts.get_mut(column.place()) {
            *count += 1;
        }
    }
    offsets.iter_mut().skip(1).zip(&counts).for_each(|(offset, count)| *offset = I::from_place(*count));
    accumulate(offsets);
    let parts = if a.nnz() < 1 << 16 { 1 } else { rayon::current_num_threads().min(TASKS) };
    let mut bounds = vec![0];
    for part in 1..parts {
        // Splits by numbers of entries.
        let target = a.nnz() / parts * part;
        let column = offsets.partition_point(|offset| offset.place() < target).min(a.width);
        if bounds.last().is_some_and(|last| column > *last) {
            bounds.push(column);
        }
    }
    bounds.push(a.width);
    let offsets = &*offsets;
    let cut = |column| at(offsets, column).place();
    split::each_two(&bounds, (indices, &cut), (values, &cut), &|columns, indices, values| {
        let first = cut(columns.start);
        let mut next: Vec<usize> =
            collected(columns.clone().map(|column| cut(column).saturating_sub(first))).or_unwind();
        for row in 0..a.count {
            for (column, value) in a.entries(row) {
                let Some(next) = column.checked_sub(columns.start).and_then(|column| next.get_mut(column)) else {
                    continue;
                };
                put(indices, *next, I::from_place(row));
                put(values, *next, T::narrow(value.widen().conj_if(conj)));
                *next += 1;
            }
        }
    });
}

/// An owned matrix in compressed rows.
pub(crate) struct Owned<T, I> {
    pub(crate) count: usize,
    pub(crate) width: usize,
    pub(crate) offsets: Vec<I>,
    pub(crate) indices: Vec<I>,
    pub(crate) values: Vec<T>,
}

impl<T: SparseElement, I: SparseIndex> Owned<T, I> {
    pub(crate) fn zeroed(count: usize, width: usize, nnz: usize) -> Self {
        Owned {
            count,
            width,
            offsets: filled(count + 1, I::from_place(0)).or_unwind(),
            indices: filled(nnz, I::from_place(0)).or_unwind(),
            values: filled(nnz, T::default()).or_unwind(),
        }
    }

    /// The transpose of a matrix.
    pub(crate) fn transposed(a: &Rows<'_, T, I>, conj: bool) -> Self {
        let mut owned = Self::zeroed(a.width, a.count, a.nnz());
        transpose(a, conj, &mut owned.offsets, &mut owned.indices, &mut owned.values);
        owned
    }

    pub(crate) fn rows(&self) -> Rows<'_, T, I> {
        Rows {
            count: self.count,
            width: self.width,
            offsets: &self.offsets,
            indices: &self.indices,
            values: &self.values,
        }
    }
}
