//! Compressed rows into compressed columns and back.

use super::super::element::{SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::{self, Rows};
use super::super::routine::Routine;
use super::super::{Compressed, Csc, Csr, Major, Sparse};
use crate::op::{Cost, Spans};
use crate::{DeviceBuffer, Error, Result};
use std::marker::PhantomData;

/// The compressed rows of the transpose.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Turn<T, I> {
    count: usize,
    width: usize,
    conj: bool,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Turn<T, I> {
    const NAME: &'static str = "csr_to_csc";
    type Reads = (I, I, T);
    type Output = (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>);
    type Raw = ();

    fn check(
        &self,
        (offsets, indices, values): &Spans<Self::Reads>,
        (to_offsets, to_indices, to_values): &Spans<(I, I, T)>,
    ) -> Result<()> {
        let nnz = indices.len();
        let lengths = [
            ("offsets", offsets.len(), self.count.checked_add(1)),
            ("values", values.len(), Some(nnz)),
            ("offsets", to_offsets.len(), self.width.checked_add(1)),
            ("indices", to_indices.len(), Some(nnz)),
            ("values", to_values.len(), Some(nnz)),
        ];
        for (name, is, need) in lengths {
            if Some(is) != need {
                return Err(Error::invalid(name, format!("{is} elements for {} x {}", self.count, self.width)));
            }
        }
        Ok(())
    }

    fn overwrites(&self, _: &Spans<(I, I, T)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.count.saturating_add(self.width).saturating_mul(size_of::<I>()) as u64 }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (offsets, indices, values): (&[I], &[I], &[T]),
        (to_offsets, to_indices, to_values): (&mut [I], &mut [I], &mut [T]),
    ) -> Result<()> {
        let rows = Rows { count: self.count, width: self.width, offsets, indices, values };
        host::transpose::transpose(&rows, self.conj, to_offsets, to_indices, to_values);
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    /// The same matrix with the other of rows and columns compressed, conjugated where asked for.
    fn turn<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        conj: bool,
    ) -> Result<Compressed<T, I, M::Turned>> {
        let (count, width) = if M::ROWS { (a.rows(), a.cols()) } else { (a.cols(), a.rows()) };
        let len = width.checked_add(1).ok_or_else(|| Error::invalid("cols", "their number overflows"))?;
        let made = (self.device.uninit(len)?, self.device.uninit(a.nnz())?, self.device.uninit(a.nnz())?);
        let reads = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
        let turn = Turn::<T, I> { count, width, conj, _types: PhantomData };
        let (offsets, indices, values) = self.submit(turn, reads, made)?.into_output();
        // SAFETY: the entries of a valid matrix, counted by the other index: sorted, none twice.
        unsafe { Compressed::assume_valid(a.rows(), a.cols(), offsets, indices, values) }
    }

    /// Compressed columns of compressed rows (`cusparseCsr2cscEx2`). Returned at once, while it is made.
    ///
    /// # Errors
    /// A stale or foreign matrix; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 3, &[0, 2, 3], &[0, 2, 0], &[1.0f32, 2.0, 3.0])?; // [1 0 2; 3 0 0]
    /// let a = device.sparse().to_csc(&a)?;
    /// assert_eq!(device.download(a.offsets())?.await_result()?, [0, 2, 2, 3]);
    /// assert_eq!(device.download(a.values())?.await_result()?, [1.0, 3.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn to_csc<T: SparseElement, I: SparseIndex>(&self, a: &Csr<T, I>) -> Result<Csc<T, I>> {
        self.turn(a, false)
    }

    /// Compressed rows of compressed columns; as [`to_csc`](Self::to_csc).
    ///
    /// # Errors
    /// As [`to_csc`](Self::to_csc).
    pub fn to_csr<T: SparseElement, I: SparseIndex>(&self, a: &Csc<T, I>) -> Result<Csr<T, I>> {
        self.turn(a, false)
    }

    /// The transpose in the same format: what [`Compressed::transposed`] is in the other one without a copy.
    ///
    /// # Errors
    /// As [`to_csc`](Self::to_csc).
    pub fn transpose<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
    ) -> Result<Compressed<T, I, M>> {
        Ok(self.turn(a, false)?.transposed())
    }

    /// The conjugate transpose in the same format.
    ///
    /// # Errors
    /// As [`to_csc`](Self::to_csc).
    pub fn adjoint<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
    ) -> Result<Compressed<T, I, M>> {
        Ok(self.turn(a, true)?.transposed())
    }
}
