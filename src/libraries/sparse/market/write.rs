//! Writes Matrix Market files, line by line.

use super::super::element::{SparseElement, SparseIndex};
use super::super::{Coo, Sparse};
use super::read::{EVERY, MarketProgress};
use crate::core::error::{Error, Result};
use std::io::Write;

impl Sparse {
    /// Downloads a matrix and writes it in the Matrix Market format as `coordinate general`. Each number has enough
    /// digits to be read back exactly. `progress` is called every 65536 entries and at the end.
    ///
    /// # Errors
    /// [`Error::LibraryError`] if writing fails; a stale or foreign matrix; an error of the device.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let sparse = windlass::Device::host()?.sparse();
    /// let a = sparse.upload_coo(2, 2, &[0, 1], &[1, 0], &[0.5f64, -3.0])?;
    /// let mut text = Vec::new();
    /// sparse.write_market(&a, &mut text, |_| {})?;
    /// assert_eq!(text, b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 0.5\n2 1 -3\n");
    /// # Ok(()) }
    /// ```
    pub fn write_market<T: SparseElement, I: SparseIndex>(
        &self,
        a: &Coo<T, I>,
        mut out: impl Write,
        mut progress: impl FnMut(MarketProgress),
    ) -> Result<()> {
        // All three downloads are submitted before the first wait.
        let (rows, columns) = (self.device.download(a.row_indices())?, self.device.download(a.column_indices())?);
        let values = self.device.download(a.values())?;
        let (rows, columns) = (rows.await_result()?, columns.await_result()?);
        let (values, total) = (values.await_result()?, a.nnz());
        let failed = |e: std::io::Error| Error::library(format!("writing the matrix: {e}"));
        let field = if T::DTYPE.is_complex() { "complex" } else { "real" };
        writeln!(out, "%%MatrixMarket matrix coordinate {field} general").map_err(failed)?;
        writeln!(out, "{} {} {total}", a.rows(), a.cols()).map_err(failed)?;
        for (done, ((row, column), value)) in (1..).zip(rows.iter().zip(&columns).zip(values)) {
            let (row, column, (re, im)) =
                (row.place().saturating_add(1), column.place().saturating_add(1), value.parts());
            match T::DTYPE.is_complex() {
                true => writeln!(out, "{row} {column} {re} {im}").map_err(failed)?,
                false => writeln!(out, "{row} {column} {re}").map_err(failed)?,
            }
            if done % EVERY == 0 {
                progress(MarketProgress { done, total });
            }
        }
        out.flush().map_err(failed)?;
        progress(MarketProgress { done: total, total });
        Ok(())
    }
}
