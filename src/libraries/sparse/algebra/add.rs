//! `alpha * A + beta * B`.

use super::super::element::{SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::combine;
use super::super::made::Producer;
#[cfg(feature = "cuda")]
use super::super::native::{ENTRIES, Pick};
use super::super::products::Side;
use super::super::{Compressed, Major, Sparse};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

#[derive(Clone, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Add<T: SparseElement, I> {
    side: Side,
    alpha: T::Scalar,
    beta: T::Scalar,
    _index: PhantomData<fn() -> I>,
}

impl<T: SparseElement, I: SparseIndex> Producer for Add<T, I> {
    const NAMES: [&'static str; 2] = ["sparse_add_count", "sparse_add"];
    const READS: &'static [&'static str] = &["a", "a", "a", "b", "b", "b"];
    type Reads = (I, I, T, I, I, T);
    type Value = T;
    type Index = I;

    fn count_of_rows(&self) -> usize {
        self.side.count
    }

    fn check(&self, (a0, a1, a2, b0, b1, b2): &Spans<Self::Reads>) -> Result<()> {
        self.side.check(a0.len(), a1.len(), a2.len())?;
        self.side.check(b0.len(), b1.len(), b2.len())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "cuda")]
    fn cuda<O: crate::engines::op::Op>(
        &self,
        queue: &mut Enqueue<'_, O>,
        (a0, a1, a2, b0, b1, b2): &Spans<Self::Reads>,
        offsets: u64,
        [indices, values]: [u64; 2],
    ) -> Result<()> {
        // The number of lanes per row follows the mean number of entries in a row.
        let rows = self.side.count;
        let lanes = (a1.len().max(b1.len()) / rows.max(1)).clamp(1, 32).next_power_of_two();
        let args = [
            a0.address().into(),
            a1.address().into(),
            a2.address().into(),
            a1.len().into(),
            b0.address().into(),
            b1.address().into(),
            b2.address().into(),
            b1.len().into(),
            self.alpha.into(),
            self.beta.into(),
            rows.into(),
            lanes.into(),
            offsets.into(),
            indices.into(),
            values.into(),
        ];
        let name = I::pick([c"add_4", c"add_8"]);
        // SAFETY: the parameters have this order and these types; both matrices have these rows; the number of entries
        // was counted.
        unsafe { kernels::each(queue, ENTRIES(T::DTYPE)?, name, rows.saturating_mul(lanes), &args) }
    }

    #[cfg(feature = "host")]
    fn count(&self, (a0, a1, a2, b0, b1, b2): (&[I], &[I], &[T], &[I], &[I], &[T]), offsets: &mut [I]) -> usize {
        combine::count(&self.side.rows(a0, a1, a2), &self.side.rows(b0, b1, b2), offsets)
    }

    #[cfg(feature = "host")]
    fn fill(
        &self,
        (a0, a1, a2, b0, b1, b2): (&[I], &[I], &[T], &[I], &[I], &[T]),
        offsets: &[I],
        indices: &mut [I],
        values: &mut [T],
    ) {
        let (a, b) = (self.side.rows(a0, a1, a2), self.side.rows(b0, b1, b2));
        combine::fill((self.alpha, &a), (self.beta, &b), offsets, indices, values);
    }
}

impl Sparse {
    /// `alpha * A + beta * B` of two matrices in the same format (`cusparse<t>csrgeam2`). An entry is stored wherever A
    /// or B has one. The call waits for the number of entries.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the sizes differ or there are more entries than the index type can count; a stale
    /// or foreign matrix; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 2, &[0, 1, 2], &[0, 1], &[1.0f32, 2.0])?;
    /// let b = device.sparse().upload_csr(2, 2, &[0, 2, 2], &[0, 1], &[10.0f32, 20.0])?;
    /// let c = device.sparse().add(2.0, &a, 1.0, &b)?;
    /// assert_eq!(device.download(c.values())?.await_result()?, [12.0, 20.0, 4.0]);
    /// # Ok(()) }
    /// ```
    pub fn add<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        alpha: T::Scalar,
        a: &Compressed<T, I, M>,
        beta: T::Scalar,
        b: &Compressed<T, I, M>,
    ) -> Result<Compressed<T, I, M>> {
        let (rows, cols) = (a.rows(), a.cols());
        if (rows, cols) != (b.rows(), b.cols()) {
            let reason = format!("{} x {}, but A is {rows} x {cols}", b.rows(), b.cols());
            return Err(Error::invalid("b", reason));
        }
        let add = Add::<T, I> { side: Side::from_compressed(a), alpha, beta, _index: PhantomData };
        let reads = || {
            let of_a = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
            (of_a.0, of_a.1, of_a.2, b.offsets().as_in(), b.indices().as_in(), b.values().as_in())
        };
        let (offsets, indices, values) = self.produce(add, reads)?;
        // SAFETY: two sorted rows are merged, and a column that both have is stored once.
        unsafe { Compressed::assume_valid(rows, cols, offsets, indices, values) }
    }
}
