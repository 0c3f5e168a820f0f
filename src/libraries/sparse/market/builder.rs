//! Builds a matrix from entries in any order.

use super::super::element::{SparseElement, SparseIndex};
use super::super::{Coo, Csr, Sparse};
use crate::core::error::{Error, Result};
use crate::core::room::{collected, push, with_capacity};

/// Entries of a matrix in any order, in host memory. Entries at the same position are summed in the order in which they
/// were added.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Device, sparse::CooBuilder};
/// let device = Device::host()?;
/// let mut builder: CooBuilder<f64> = CooBuilder::new(2, 3)?;
/// builder.push(1, 2, 5.0)?;
/// builder.push(0, 1, 1.0)?;
/// builder.push(1, 2, 0.5)?;
/// assert!(builder.push(2, 0, 1.0).is_err()); // there is no row 2
/// let a = builder.build_csr(&device.sparse())?;
/// assert_eq!(device.download(a.offsets())?.await_result()?, [0, 1, 2]);
/// assert_eq!(device.download(a.values())?.await_result()?, [1.0, 5.5]);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct CooBuilder<T: SparseElement, I: SparseIndex = i32> {
    rows: usize,
    cols: usize,
    entries: Vec<(I, I, T)>,
}

impl<T: SparseElement, I: SparseIndex> CooBuilder<T, I> {
    /// An empty matrix of these sizes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the index type cannot represent a size.
    pub fn new(rows: usize, cols: usize) -> Result<Self> {
        Coo::<T, I>::layout_of(rows, cols, 0).check_sizes::<I>()?;
        Ok(CooBuilder { rows, cols, entries: Vec::new() })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of entries added so far; duplicates count separately.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no entry was added so far.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Reserves memory for this number of additional entries.
    pub fn reserve(&mut self, entries: usize) {
        // Only a hint: a failed allocation is reported when an entry is added.
        let _ = self.entries.try_reserve(entries);
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the position does not lie inside the matrix; [`Error::OutOfMemory`].
    pub fn push(&mut self, row: usize, column: usize, value: T) -> Result<()> {
        for (name, place, end) in [("row", row, self.rows), ("column", column, self.cols)] {
            if place >= end {
                return Err(Error::invalid(name, format!("{place}, but the matrix has {end} of them")));
            }
        }
        push(&mut self.entries, (I::from_place(row), I::from_place(column), value))
    }

    /// Row indices, column indices and values: sorted, with duplicates summed.
    fn summed(&self) -> Result<(Vec<I>, Vec<I>, Vec<T>)> {
        let len = self.entries.len();
        let mut order = collected(0..len)?;
        let place = |i: &usize| self.entries.get(*i).map(|(row, column, _)| (*row, *column));
        // By the number last: the sort takes no memory, and keeps the order of duplicates.
        order.sort_unstable_by_key(|i| (place(i), *i));
        let (mut rows, mut columns, mut values) = (with_capacity(len)?, with_capacity(len)?, with_capacity(len)?);
        let mut entries = order.into_iter().filter_map(|i| self.entries.get(i).copied()).peekable();
        while let Some((row, column, value)) = entries.next() {
            let mut sum = value.widen();
            while let Some((.., more)) = entries.next_if(|(r, c, _)| (*r, *c) == (row, column)) {
                sum = sum + more.widen();
            }
            rows.push(row);
            columns.push(column);
            values.push(T::narrow(sum));
        }
        Ok((rows, columns, values))
    }

    /// Sums duplicates and uploads the matrix. The result is valid by construction, so it is not validated again.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there are more entries than the index type can count; [`Error::OutOfMemory`]; an
    /// error of the device.
    pub fn build(&self, sparse: &Sparse) -> Result<Coo<T, I>> {
        let (rows, columns, values) = self.summed()?;
        let device = &sparse.device;
        let (rows, columns) = (device.upload(rows)?.into_output(), device.upload(columns)?.into_output());
        let values = device.upload(values)?.into_output();
        // SAFETY: each entry was checked to lie inside the matrix; the entries are sorted, and duplicates were summed.
        unsafe { Coo::assume_valid(self.rows, self.cols, rows, columns, values) }
    }

    /// As [`build`](Self::build), with compressed rows as the result.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_csr(&self, sparse: &Sparse) -> Result<Csr<T, I>> {
        sparse.coo_to_csr(&self.build(sparse)?)
    }
}
