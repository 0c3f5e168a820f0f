//! Matrices from arrays in host memory.

use super::super::Sparse;
use super::super::element::{SparseElement, SparseIndex};
use super::super::layout::Layout;
use super::{Coo, Csc, Csr};
use crate::core::error::{Error, Result};

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
        let layout = Csr::<T, I>::layout_of(rows, cols, columns.len());
        self.upload_rows(rows, cols, [offsets, columns], values)
            .map_err(|error| explained(error, &layout, [offsets, columns], values.len()))
    }

    fn upload_rows<T: SparseElement, I: SparseIndex>(
        &self,
        rows: usize,
        cols: usize,
        [offsets, columns]: [&[I]; 2],
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
        let layout = Csc::<T, I>::layout_of(rows, cols, row_indices.len());
        let turned = self.upload_rows(cols, rows, [offsets, row_indices], values);
        let turned = turned.map_err(|error| explained(error, &layout, [offsets, row_indices], values.len()))?;
        Ok(turned.transposed())
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
        let layout = Coo::<T, I>::layout_of(rows, cols, column_indices.len());
        let (first, second) =
            (self.device.upload(row_indices)?.into_output(), self.device.upload(column_indices)?.into_output());
        let made = self.coo(rows, cols, first, second, self.device.upload(values)?.into_output());
        let made = made.map_err(|rejected| rejected.error).and_then(|made| Ok(made.await_result()?));
        made.map_err(|error| explained(error, &layout, [row_indices, column_indices], values.len()))
    }
}

/// The error with the caller's names, and the number at fault: of arrays that are at hand.
fn explained<I: SparseIndex>(mut error: Error, layout: &Layout, [first, second]: [&[I]; 2], values: usize) -> Error {
    let better = match layout.check::<I>(first.len(), second.len(), values) {
        Err(error) => Some(error),
        Ok(()) => faulty(layout, first, second),
    };
    if let (
        Error::InvalidArgument { argument, reason, .. },
        Some(Error::InvalidArgument { argument: name, reason: what, .. }),
    ) = (&mut error, better)
    {
        (*argument, *reason) = (name, what);
    }
    error
}

/// What is wrong with a structure of the right lengths, with the number that is at fault.
#[cfg(feature = "host")]
fn faulty<I: SparseIndex>(layout: &Layout, first: &[I], second: &[I]) -> Option<Error> {
    use super::super::{fault::Fault, host::check, layout::Format};
    let Layout { rows, cols, format, .. } = *layout;
    let found = match format {
        Format::Csr => check::compressed(rows, cols, first, second),
        Format::Csc => check::compressed(cols, rows, first, second),
        _ => check::coordinates((rows, cols), first, second, false),
    };
    let (place, fault) = found?;
    let number = match (fault, format) {
        (Fault::Offset, _) => format!("{:?}", first.get(place)?),
        (_, Format::Coo) => format!("({:?}, {:?})", first.get(place)?, second.get(place)?),
        _ => format!("{:?}", second.get(place)?),
    };
    let mut error = super::validate::told(layout, (place, fault));
    if let Error::InvalidArgument { reason, .. } = &mut error {
        *reason += &format!("; it is {number}");
    }
    Some(error)
}

#[cfg(not(feature = "host"))]
fn faulty<I: SparseIndex>(_: &Layout, _: &[I], _: &[I]) -> Option<Error> {
    None
}
