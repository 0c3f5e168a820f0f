//! Coordinates.

use super::super::element::{SparseElement, SparseIndex};
use super::super::layout::{Extent, Format, Layout};
use super::compressed::Arrays;
use super::{SparseMatrix, Stored, sealed};
use crate::core::buffer::{GpuRef, Shareable};
use crate::core::error::{Error, Result};
use crate::core::op::Output;

/// A sparse matrix of coordinates: each entry has a row and a column index. Validated: the indices lie inside the
/// matrix, are sorted by row and then by column, and no position occurs twice.
/// [`Sparse::sum_duplicates`](super::super::Sparse::sum_duplicates) makes such a matrix from unsorted or repeated
/// entries.
pub struct Coo<T: SparseElement, I: SparseIndex = i32> {
    extent: Extent,
    rows: GpuRef<I>,
    columns: GpuRef<I>,
    values: GpuRef<T>,
}

impl<T: SparseElement, I: SparseIndex> Coo<T, I> {
    pub(in super::super) fn layout_of(rows: usize, cols: usize, stored: usize) -> Layout {
        Layout { format: Format::Coo, rows, cols, stored }
    }

    /// Takes the arrays without validating their contents: only their lengths are checked.
    ///
    /// # Safety
    /// As [`Compressed::assume_valid`](super::Compressed::assume_valid).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths differ or the index type cannot represent a size.
    pub unsafe fn assume_valid(
        rows: usize,
        cols: usize,
        row_indices: impl Shareable<I>,
        column_indices: impl Shareable<I>,
        values: impl Shareable<T>,
    ) -> Result<Self> {
        let (firsts, columns, values) = (row_indices.into(), column_indices.into(), values.into());
        Self::layout_of(rows, cols, columns.len()).check::<I>(firsts.len(), columns.len(), values.len())?;
        Ok(Coo { extent: Extent { rows, cols }, rows: firsts, columns, values })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.extent.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.extent.cols
    }

    /// Number of stored entries, stored zeros included.
    pub fn nnz(&self) -> usize {
        self.columns.len()
    }

    /// The row index of each entry.
    pub fn row_indices(&self) -> &GpuRef<I> {
        &self.rows
    }

    /// The column index of each entry.
    pub fn column_indices(&self) -> &GpuRef<I> {
        &self.columns
    }

    /// The values of the entries.
    pub fn values(&self) -> &GpuRef<T> {
        &self.values
    }

    /// Row indices, column indices and values.
    pub fn into_parts(self) -> (GpuRef<I>, GpuRef<I>, GpuRef<T>) {
        (self.rows, self.columns, self.values)
    }

    /// The same structure with other values, of any type; it is not validated again.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the number of values differs.
    pub fn with_values<U: SparseElement>(&self, values: impl Shareable<U>) -> Result<Coo<U, I>> {
        let values = values.into();
        if values.len() != self.columns.len() {
            let reason = format!("{} elements, but the structure has {} entries", values.len(), self.columns.len());
            return Err(Error::invalid("values", reason));
        }
        Ok(Coo { extent: self.extent, rows: self.rows.clone(), columns: self.columns.clone(), values })
    }
}

impl<T: SparseElement, I: SparseIndex> Clone for Coo<T, I> {
    fn clone(&self) -> Self {
        let (rows, columns, values) = (self.rows.clone(), self.columns.clone(), self.values.clone());
        Coo { extent: self.extent, rows, columns, values }
    }
}

impl<T: SparseElement, I: SparseIndex> std::fmt::Debug for Coo<T, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Coo<{}, {}>({} x {}, {} stored)", T::DTYPE, I::DTYPE, self.rows(), self.cols(), self.nnz())
    }
}

impl<T: SparseElement, I: SparseIndex> Output for Coo<T, I> {
    type Writes = (I, I, T);
    type Host = Extent;
    fn join((rows, columns, values): Arrays<T, I>, extent: Extent) -> Result<Self> {
        Ok(Coo { extent, rows: rows.share(), columns: columns.share(), values: values.share() })
    }
}

impl<T: SparseElement, I: SparseIndex> sealed::Sealed for Coo<T, I> {}
impl<T: SparseElement, I: SparseIndex> SparseMatrix<T, I> for Coo<T, I> {
    fn rows(&self) -> usize {
        self.extent.rows
    }
    fn cols(&self) -> usize {
        self.extent.cols
    }
    fn nnz(&self) -> usize {
        self.columns.len()
    }
    fn stored(&self) -> Stored<'_, T, I> {
        let layout = Self::layout_of(self.extent.rows, self.extent.cols, self.columns.len());
        let (first, second, values) = (self.rows.as_in(), self.columns.as_in(), self.values.as_in());
        Stored { layout, structure: None, first, second, values }
    }
}
