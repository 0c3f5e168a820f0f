//! The arithmetic of sparse matrices on the CPU: plain functions over slices.
//!
//! - **Safe for any input.** The front validates structures once. A structure from `assume_valid` may be invalid: an
//!   index that points outside reads as zero, and no access goes outside a slice.
//! - **The same bits for any number of threads.** One thread sums each row in storage order. Where several partial sums
//!   form one result, the partition of the work depends on the sizes alone.
//! - **Half types compute in f32** and are rounded once, when a result is stored.
//!
//! All formats are read as compressed rows ([`Rows`]): compressed columns are the rows of the transpose, coordinates
//! are converted to offsets by counting, blocks are expanded.
//!
//! | file | what it does |
//! |---|---|
//! | `split` | splits rows by numbers of entries, and shares them among threads |
//! | `check` | validation of structures |
//! | `spmv`, `spmm`, `sddmm` | products with dense vectors and matrices; sampled products |
//! | `spgemm` | products of two sparse matrices, also with a mask |
//! | `convert`, `transpose`, `blocks` | conversions between formats, to and from dense |
//! | `triplets` | sorting and summing of coordinates |
//! | `combine`, `select`, `scaling` | sums of matrices, parts of one, rows and columns scaled and summed |
//! | `triangular`, `tridiagonal`, `factor` | triangular and tridiagonal solves, and incomplete factorizations |
//! | `vectors` | sparse vectors |

pub(crate) mod blocks;
pub(crate) mod check;
pub(crate) mod combine;
pub(crate) mod convert;
pub(crate) mod factor;
pub(crate) mod scaling;
pub(crate) mod sddmm;
pub(crate) mod select;
pub(crate) mod spgemm;
pub(crate) mod split;
pub(crate) mod spmm;
pub(crate) mod spmv;
pub(crate) mod transpose;
pub(crate) mod triangular;
pub(crate) mod tridiagonal;
pub(crate) mod triplets;
pub(crate) mod vectors;

use super::element::{SparseElement, SparseIndex};
use std::ops::Range;

/// The element at this index, or zero if there is none.
#[inline(always)]
pub(crate) fn at<T: Copy + Default>(x: &[T], i: usize) -> T {
    x.get(i).copied().unwrap_or_default()
}

/// Sets the element at this index, if there is one.
#[inline(always)]
pub(crate) fn put<T>(x: &mut [T], i: usize, value: T) {
    if let Some(x) = x.get_mut(i) {
        *x = value;
    }
}

/// Compressed rows: `count` rows, with columns below `width`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a, T, I> {
    pub(crate) count: usize,
    pub(crate) width: usize,
    pub(crate) offsets: &'a [I],
    pub(crate) indices: &'a [I],
    pub(crate) values: &'a [T],
}

impl<'a, T: SparseElement, I: SparseIndex> Rows<'a, T, I> {
    /// The positions of the entries of a row.
    #[inline]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        let end = at(self.offsets, row + 1).place().min(self.indices.len()).min(self.values.len());
        at(self.offsets, row).place().min(end)..end
    }

    /// The columns and values of a row.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> (&'a [I], &'a [T]) {
        let range = self.range(row);
        (self.indices.get(range.clone()).unwrap_or_default(), self.values.get(range).unwrap_or_default())
    }

    /// The entries of a row.
    #[inline]
    pub(crate) fn entries(&self, row: usize) -> impl Iterator<Item = (usize, T)> + use<'a, T, I> {
        let (columns, values) = self.row(row);
        columns.iter().zip(values).map(|(column, value)| (column.place(), *value))
    }

    /// The total number of entries.
    pub(crate) fn nnz(&self) -> usize {
        self.indices.len().min(self.values.len())
    }
}
