//! Matrices from arrays in host memory.

use super::super::Sparse;
use super::super::element::{SparseElement, SparseIndex};
use super::{Coo, Csc, Csr};
use crate::core::error::Result;

impl Sparse {
    /// Uploads and validates a matrix of compressed rows, and waits for the result: [`csr`](Self::csr) for arrays in
    /// host memory.
    ///
    /// # Errors
    /// As [`csr`](Self::csr).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let sparse = windlass::Device::host()?.sparse();
    /// assert_eq!(sparse.upload_csr(2, 2, &[0, 1, 2], &[1, 0], &[1.0f32, 2.0])?.nnz(), 2);
    /// assert!(sparse.upload_csr(2, 2, &[0, 1, 2], &[1, 2], &[1.0f32, 2.0]).is_err()); // there is no column 2
    /// # Ok(()) }
    /// ```
    pub fn upload_csr<T: SparseElement, I: SparseIndex>(
        &self,
        rows: usize,
        cols: usize,
        offsets: &[I],
        columns: &[I],
        values: &[T],
    ) -> Result<Csr<T, I>> {
        let (offsets, columns) =
            (self.device.upload(offsets)?.into_output(), self.device.upload(columns)?.into_output());
        Ok(self.csr(rows, cols, offsets, columns, self.device.upload(values)?.into_output())?.await_result()?)
    }

    /// As [`upload_csr`](Self::upload_csr), for compressed columns.
    ///
    /// # Errors
    /// As [`csc`](Self::csc).
    pub fn upload_csc<T: SparseElement, I: SparseIndex>(
        &self,
        rows: usize,
        cols: usize,
        offsets: &[I],
        row_indices: &[I],
        values: &[T],
    ) -> Result<Csc<T, I>> {
        Ok(self.upload_csr(cols, rows, offsets, row_indices, values)?.transposed())
    }

    /// As [`upload_csr`](Self::upload_csr), for coordinates.
    ///
    /// # Errors
    /// As [`coo`](Self::coo).
    pub fn upload_coo<T: SparseElement, I: SparseIndex>(
        &self,
        rows: usize,
        cols: usize,
        row_indices: &[I],
        column_indices: &[I],
        values: &[T],
    ) -> Result<Coo<T, I>> {
        let row_indices = self.device.upload(row_indices)?.into_output();
        let column_indices = self.device.upload(column_indices)?.into_output();
        Ok(self
            .coo(rows, cols, row_indices, column_indices, self.device.upload(values)?.into_output())?
            .await_result()?)
    }
}
