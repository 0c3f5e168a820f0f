//! Matrices of small dense blocks.

use super::super::element::{SparseElement, SparseIndex};
use super::spgemm::accumulate;
use super::spmm::Steps;
use super::spmv::update;
use super::transpose::Owned;
use super::{Rows, at, put, split};
use crate::core::room::{OrUnwind, extend, filled};

/// Blocks of `size x size` in compressed rows of blocks. `count` and `width` are the numbers of block rows and of block
/// columns.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a, T, I> {
    pub(crate) size: usize,
    /// The layout inside a block.
    pub(crate) steps: Steps,
    pub(crate) count: usize,
    pub(crate) width: usize,
    pub(crate) offsets: &'a [I],
    pub(crate) indices: &'a [I],
    pub(crate) values: &'a [T],
}

impl<'a, T: SparseElement, I: SparseIndex> Blocks<'a, T, I> {
    fn area(&self) -> usize {
        self.size * self.size
    }

    /// The blocks of a block row: the block column and the elements of each.
    fn row(&self, row: usize) -> impl Iterator<Item = (usize, &'a [T])> + use<'a, T, I> {
        let end = at(self.offsets, row + 1).place().min(self.indices.len());
        let start = at(self.offsets, row).place().min(end);
        let area = self.area();
        let elements = self.values.get(start * area..end * area).unwrap_or_default();
        let columns = self.indices.get(start..end).unwrap_or_default();
        columns.iter().map(|column| column.place()).zip(elements.chunks(area.max(1)))
    }

    /// `y = alpha * A * x + beta * y`.
    pub(crate) fn spmv(&self, alpha: T::Scalar, x: &[T], beta: T::Scalar, y: &mut [T]) {
        let bounds = split::by_entries(self.offsets, self.count, self.area());
        split::each(&bounds, y, self.size, &|rows, y| {
            let mut sums = filled(self.size, T::Scalar::default()).or_unwind();
            for (row, y) in rows.zip(y.chunks_mut(self.size.max(1))) {
                sums.fill(T::Scalar::default());
                for (column, block) in self.row(row) {
                    for (i, sum) in sums.iter_mut().enumerate() {
                        for j in 0..self.size {
                            let x = at(x, column * self.size + j).widen();
                            *sum = *sum + at(block, self.steps.place(i, j)).widen() * x;
                        }
                    }
                }
                y.iter_mut().zip(&sums).for_each(|(y, sum)| update(y, alpha, *sum, beta));
            }
        });
    }

    /// Offsets, columns and values of all elements of all blocks.
    pub(crate) fn expand(&self, offsets: &mut [I], indices: &mut [I], values: &mut [T]) {
        let mut slots = indices.iter_mut().zip(values);
        let mut place = 0;
        put(offsets, 0, I::from_place(0));
        for block_row in 0..self.count {
            for i in 0..self.size {
                for (column, block) in self.row(block_row) {
                    for j in 0..self.size {
                        if let Some((index, value)) = slots.next() {
                            *index = I::from_place(column * self.size + j);
                            *value = at(block, self.steps.place(i, j));
                            place += 1;
                        }
                    }
                }
                put(offsets, block_row * self.size + i + 1, I::from_place(place));
            }
        }
    }

    /// The same matrix in compressed rows.
    pub(crate) fn expanded(&self) -> Owned<T, I> {
        let nnz = self.indices.len().saturating_mul(self.area()).min(self.values.len());
        let mut owned = Owned::zeroed(self.count * self.size, self.width * self.size, nnz);
        self.expand(&mut owned.offsets, &mut owned.indices, &mut owned.values);
        owned
    }
}

/// The block columns in which a block row has entries, sorted.
fn block_columns<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    size: usize,
    block_row: usize,
    found: &mut Vec<usize>,
) {
    found.clear();
    for row in block_row * size..(block_row + 1) * size {
        extend(found, a.row(row).0.iter().map(|column| column.place() / size.max(1))).or_unwind();
    }
    found.sort_unstable();
    found.dedup();
}

/// Counts the blocks of each block row, as offsets; returns their total.
pub(crate) fn count<T: SparseElement, I: SparseIndex>(a: &Rows<'_, T, I>, size: usize, offsets: &mut [I]) -> usize {
    let counts = offsets.get_mut(1..).unwrap_or_default();
    split::each(&split::evenly(a.count / size.max(1), size * 8), counts, 1, &|rows, counts| {
        let mut found = Vec::new();
        for (row, count) in rows.zip(counts) {
            block_columns(a, size, row, &mut found);
            *count = I::from_place(found.len());
        }
    });
    accumulate(offsets)
}

/// Writes the block columns and the blocks, filled up with zeros.
pub(crate) fn fill<T: SparseElement, I: SparseIndex>(
    a: &Rows<'_, T, I>,
    (size, steps): (usize, Steps),
    offsets: &[I],
    indices: &mut [I],
    values: &mut [T],
) {
    let area = size * size;
    let cut = |row| at(offsets, row).place();
    let cut_values = |row| cut(row).saturating_mul(area);
    let bounds = split::evenly(a.count / size.max(1), size * 8);
    split::each_two(&bounds, (indices, &cut), (values, &cut_values), &|rows, indices, values| {
        let (mut found, first) = (Vec::new(), cut(rows.start));
        values.fill(T::default());
        for block_row in rows {
            block_columns(a, size, block_row, &mut found);
            let start = cut(block_row).saturating_sub(first);
            for (place, column) in found.iter().enumerate() {
                put(indices, start + place, I::from_place(*column));
            }
            for i in 0..size {
                for (column, value) in a.entries(block_row * size + i) {
                    let place = found.partition_point(|block| *block < column / size);
                    put(values, (start + place) * area + steps.place(i, column % size), value);
                }
            }
        }
    });
}
