//! Compressed rows to blocks and back.

use super::super::element::{SparseElement, SparseIndex};
use super::super::formats::{Blocks, SparseMatrix, Stored};
#[cfg(feature = "host")]
use super::super::host::{self, Rows};
#[cfg(feature = "cuda")]
use super::super::layout::Format;
use super::super::layout::Layout;
#[cfg(feature = "host")]
use super::super::layout::steps;
use super::super::made::Producer;
#[cfg(feature = "cuda")]
use super::super::native::{ARRANGE, Pick};
use super::super::routine::{Call, Routine};
use super::super::{Bsr, Csr, Sparse};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::flags::Order;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// Expands all elements of all blocks to compressed rows.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Unblock<T, I> {
    layout: Layout,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Unblock<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "bsr_to_csr";
    const OPERANDS: OperandNames = (&["a", "a", "a"], &["offsets", "columns", "values"]);
    type Reads = (I, I, T);
    type Output = (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>);
    type Raw = ();

    fn check(
        &self,
        (first, second, values): &Spans<Self::Reads>,
        (offsets, columns, to): &Spans<(I, I, T)>,
    ) -> Result<()> {
        self.layout.check::<I>(first.len(), second.len(), values.len())?;
        let Layout { rows, cols, .. } = self.layout;
        Csr::<T, I>::layout_of(rows, cols, values.len()).check::<I>(offsets.len(), columns.len(), to.len())
    }

    fn overwrites_each(&self, _: &Spans<(I, I, T)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.layout.bytes::<T, I>().saturating_mul(2) }
    }

    #[cfg(feature = "host")]
    fn host(
        &self,
        (first, second, values): (&[I], &[I], &[T]),
        (offsets, columns, to): (&mut [I], &mut [I], &mut [T]),
    ) -> Result<()> {
        if let Some(blocks) = self.layout.blocks(first, second, values) {
            blocks.expand(offsets, columns, to);
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((first, second, values), (offsets, columns, to)) = (*queue.reads(), *queue.writes());
        let Format::Bsr(size, order) = self.layout.format else { return Ok(()) };
        let rows = self.layout.rows;
        let args = [
            first.into(),
            second.into(),
            values.into(),
            (rows / size.max(1)).into(),
            second.len().into(),
            size.into(),
            u64::from(order == Order::Column).into(),
            offsets.into(),
            columns.into(),
            to.into(),
        ];
        // SAFETY: the parameters have this order and these types; there are as many outputs as the blocks have elements
        // (checked), and one more offset than rows.
        unsafe {
            kernels::each(
                queue,
                ARRANGE(T::DTYPE)?,
                I::pick([c"unblock_4", c"unblock_8"]),
                rows.saturating_add(1),
                &args,
            )
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Collects the blocks that contain at least one entry.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct ToBlocks<T, I> {
    rows: usize,
    cols: usize,
    size: usize,
    order: Order,
    _types: PhantomData<fn() -> (T, I)>,
}

#[cfg(feature = "host")]
impl<T: SparseElement, I: SparseIndex> ToBlocks<T, I> {
    fn rows<'a>(&self, (offsets, indices, values): (&'a [I], &'a [I], &'a [T])) -> Rows<'a, T, I> {
        Rows { count: self.rows, width: self.cols, offsets, indices, values }
    }
}

impl<T: SparseElement, I: SparseIndex> Producer for ToBlocks<T, I> {
    const NAMES: [&'static str; 2] = ["csr_to_bsr_count", "csr_to_bsr"];
    const READS: &'static [&'static str] = &["a", "a", "a"];
    type Reads = (I, I, T);
    type Value = T;
    type Index = I;

    fn count_of_rows(&self) -> usize {
        self.rows / self.size.max(1)
    }

    fn area(&self) -> usize {
        self.size.saturating_mul(self.size)
    }

    fn check(&self, (offsets, columns, values): &Spans<Self::Reads>) -> Result<()> {
        Csr::<T, I>::layout_of(self.rows, self.cols, columns.len()).check::<I>(
            offsets.len(),
            columns.len(),
            values.len(),
        )
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.rows.saturating_mul(size_of::<I>()) as u64 }
    }

    #[cfg(feature = "cuda")]
    fn cuda<O: crate::engines::op::Op>(
        &self,
        queue: &mut Enqueue<'_, O>,
        (from, columns, entries): &Spans<(I, I, T)>,
        offsets: u64,
        [indices, values]: [u64; 2],
    ) -> Result<()> {
        // The current position in each row.
        let next = queue.scratch(from.bytes())?;
        let args = [
            from.address().into(),
            columns.address().into(),
            entries.address().into(),
            columns.len().into(),
            self.count_of_rows().into(),
            self.size.into(),
            u64::from(self.order == Order::Column).into(),
            next.into(),
            offsets.into(),
            indices.into(),
            values.into(),
        ];
        // SAFETY: the parameters have this order and these types; the rows are a multiple of the block size (checked by
        // the front); the number of stored blocks was counted.
        unsafe {
            kernels::each(queue, ARRANGE(T::DTYPE)?, I::pick([c"block_4", c"block_8"]), self.count_of_rows(), &args)
        }
    }

    #[cfg(feature = "host")]
    fn count(&self, arrays: (&[I], &[I], &[T]), offsets: &mut [I]) -> usize {
        host::blocks::count(&self.rows(arrays), self.size, offsets)
    }

    #[cfg(feature = "host")]
    fn fill(&self, arrays: (&[I], &[I], &[T]), offsets: &[I], indices: &mut [I], values: &mut [T]) {
        let within = (self.size, steps(self.order, self.size));
        host::blocks::fill(&self.rows(arrays), within, offsets, indices, values);
    }
}

impl Sparse {
    /// Converts compressed rows to blocks: stores every `block x block` block that contains an entry, filled up with
    /// zeros. The call waits for the number of blocks.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a size is not a multiple of the block size, or if the blocks have more elements
    /// than the index type can count; a stale or foreign matrix; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, sparse::Order};
    /// let device = Device::host()?;
    /// let a = device.sparse().upload_csr(2, 4, &[0, 1, 2], &[0, 1], &[1.0f32, 2.0])?;
    /// let a = device.sparse().to_bsr(&a, 2, Order::Row)?;
    /// assert_eq!(device.download(a.values())?.await_result()?, [1.0, 0.0, 0.0, 2.0]);
    /// # Ok(()) }
    /// ```
    pub fn to_bsr<T: SparseElement, I: SparseIndex>(
        &self,
        a: &Csr<T, I>,
        block: usize,
        order: Order,
    ) -> Result<Bsr<T, I>> {
        let (rows, cols) = (a.rows(), a.cols());
        Bsr::<T, I>::layout_of(super::super::layout::Extent { rows, cols }, block, order, 0)
            .check_sizes::<I>()
            .map_err(|error| error.renamed(&[("rows", "block"), ("cols", "block")]))?;
        let to = ToBlocks::<T, I> { rows, cols, size: block, order, _types: PhantomData };
        let reads = || (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
        let (offsets, columns, values) = self.produce(to, reads)?;
        // SAFETY: the block columns of each row are sorted and not repeated, when they are counted and when they are
        // stored.
        unsafe { Bsr::assume_valid(Blocks::new(rows, cols, block).order(order), offsets, columns, values) }
    }

    /// Converts blocks to compressed rows; zeros stored in the blocks become entries. The matrix is returned at once,
    /// while the device still computes it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there are more elements than the index type can count; a stale or foreign matrix;
    /// [`Error::OutOfMemory`].
    pub fn bsr_to_csr<T: SparseElement, I: SparseIndex>(&self, a: &Bsr<T, I>) -> Result<Csr<T, I>> {
        let Stored { layout, first, second, values, .. } = a.stored();
        let len = layout.rows.checked_add(1).ok_or_else(|| Error::invalid("rows", "the number of rows overflows"))?;
        let made =
            (self.device.unwritten(len)?, self.device.unwritten(values.len())?, self.device.unwritten(values.len())?);
        let unblock = Unblock::<T, I> { layout, _types: PhantomData };
        let (offsets, columns, values) = self.submit(unblock, (first, second, values), made)?.into_output();
        // SAFETY: the blocks of a valid matrix are sorted and not repeated, and so are the columns inside them.
        unsafe { Csr::assume_valid(layout.rows, layout.cols, offsets, columns, values) }
    }
}
