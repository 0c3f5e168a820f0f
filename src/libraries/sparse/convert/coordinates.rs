//! Compressed rows to coordinates and back. Columns and values are the same in both formats, so they are shared.

use super::super::element::{SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host;
#[cfg(feature = "cuda")]
use super::super::native::{Pick, STRUCTURE};
use super::super::routine::{Call, Routine};
use super::super::{Coo, Csr, Sparse};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// Computes the row of each entry from the offsets.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Expand<I> {
    rows: usize,
    _index: PhantomData<fn() -> I>,
}

/// Computes the offsets of the rows from the sorted row of each entry.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Compress<I> {
    rows: usize,
    _index: PhantomData<fn() -> I>,
}

fn check_offsets(rows: usize, offsets: usize) -> Result<()> {
    if rows.checked_add(1) == Some(offsets) {
        return Ok(());
    }
    Err(Error::invalid("offsets", format!("{offsets} elements for {rows} rows")))
}

impl<I: SparseIndex> Routine for Expand<I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "csr_to_coo";
    const OPERANDS: OperandNames = (&["a"], &["rows"]);
    type Reads = (I,);
    type Output = DeviceBuffer<I>;
    type Raw = ();

    fn check(&self, (offsets,): &Spans<(I,)>, _: &Spans<(I,)>) -> Result<()> {
        check_offsets(self.rows, offsets.len())
    }

    fn overwrites_each(&self, _: &Spans<(I,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.rows.saturating_mul(size_of::<I>()) as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (offsets,): (&[I],), (rows,): (&mut [I],)) -> Result<()> {
        host::convert::expand(offsets, self.rows, rows);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets,), (rows,)) = (*queue.reads(), *queue.writes());
        let args = [offsets.into(), self.rows.into(), rows.into(), rows.len().into()];
        // SAFETY: the parameters have this order and these types; there is one more offset than rows (checked), and
        // nothing is written past the entries.
        unsafe { kernels::each(queue, STRUCTURE, I::pick([c"expand_4", c"expand_8"]), self.rows, &args) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl<I: SparseIndex> Routine for Compress<I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "coo_to_csr";
    const OPERANDS: OperandNames = (&["a"], &["offsets"]);
    type Reads = (I,);
    type Output = DeviceBuffer<I>;
    type Raw = ();

    fn check(&self, _: &Spans<(I,)>, (offsets,): &Spans<(I,)>) -> Result<()> {
        check_offsets(self.rows, offsets.len())
    }

    fn overwrites_each(&self, _: &Spans<(I,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.rows.saturating_mul(size_of::<I>()) as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (rows,): (&[I],), (offsets,): (&mut [I],)) -> Result<()> {
        host::convert::compress(rows, self.rows, offsets);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((rows,), (offsets,)) = (*queue.reads(), *queue.writes());
        let args = [rows.into(), rows.len().into(), self.rows.into(), offsets.into()];
        // SAFETY: the parameters have this order and these types; there is one more offset than rows (checked).
        unsafe { kernels::each(queue, STRUCTURE, I::pick([c"compress_4", c"compress_8"]), offsets.len(), &args) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    /// Converts compressed rows to coordinates (`cusparseXcsr2coo`). Columns and values are shared. The matrix is
    /// returned at once, while the device still computes the row indices.
    ///
    /// # Errors
    /// A stale or foreign matrix; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(3, 2, &[0, 1, 1, 3], &[1, 0, 1], &[1.0f32, 2.0, 3.0])?;
    /// let a = device.sparse().to_coo(&a)?;
    /// assert_eq!(device.download(a.row_indices())?.await_result()?, [0, 2, 2]);
    /// # Ok(()) }
    /// ```
    pub fn to_coo<T: SparseElement, I: SparseIndex>(&self, a: &Csr<T, I>) -> Result<Coo<T, I>> {
        let expand = Expand::<I> { rows: a.rows(), _index: PhantomData };
        let rows = self.submit(expand, (a.offsets().as_in(),), (self.device.unwritten(a.nnz())?,))?.into_output();
        // SAFETY: the entries of a valid matrix, by rows; each row index is repeated once for each entry of the row.
        unsafe { Coo::assume_valid(a.rows(), a.cols(), rows, a.indices().clone(), a.values().clone()) }
    }

    /// Converts coordinates to compressed rows (`cusparseXcoo2csr`). Columns and values are shared. The matrix is
    /// returned at once, while the device still computes the offsets.
    ///
    /// # Errors
    /// As [`to_coo`](Self::to_coo).
    pub fn coo_to_csr<T: SparseElement, I: SparseIndex>(&self, a: &Coo<T, I>) -> Result<Csr<T, I>> {
        let compress = Compress::<I> { rows: a.rows(), _index: PhantomData };
        let len = a.rows().checked_add(1).ok_or_else(|| Error::invalid("rows", "the number of rows overflows"))?;
        let offsets = self.submit(compress, (a.row_indices().as_in(),), (self.device.unwritten(len)?,))?.into_output();
        // SAFETY: the rows of a valid matrix are sorted, so the offsets count the entries before each row.
        unsafe { Csr::assume_valid(a.rows(), a.cols(), offsets, a.column_indices().clone(), a.values().clone()) }
    }
}
