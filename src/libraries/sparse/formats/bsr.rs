//! Compressed rows of blocks.

use super::super::element::{SparseElement, SparseIndex};
use super::super::layout::{Extent, Format, Layout};
use super::compressed::Arrays;
use super::{SparseMatrix, Stored, sealed};
use crate::core::buffer::{GpuRef, Shareable};
use crate::core::error::{Error, Result};
use crate::core::op::Output;
use crate::libraries::flags::Order;

/// A sparse matrix of dense square blocks. Its rows of blocks are compressed and validated like the rows of a
/// [`Csr`](super::Csr). Rows and columns are multiples of the block size. The values are the elements of one block
/// after the other, each block in the given [`Order`].
pub struct Bsr<T: SparseElement, I: SparseIndex = i32> {
    layout: Layout,
    offsets: GpuRef<I>,
    columns: GpuRef<I>,
    values: GpuRef<T>,
}

/// The sizes of a matrix of square blocks, for [`Sparse::bsr`](crate::Sparse::bsr).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Blocks {
    pub(in super::super) extent: Extent,
    pub(in super::super) size: usize,
    pub(in super::super) order: Order,
}

impl Blocks {
    /// A matrix of `rows x cols` elements, in blocks of `size x size`, each column-major.
    pub fn new(rows: usize, cols: usize, size: usize) -> Self {
        Blocks { extent: Extent { rows, cols }, size, order: Order::Column }
    }

    /// The order of the elements in each block.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }
}

/// The layout of a matrix of blocks, which the host knows without the device.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BlockExtent(pub(in super::super) Layout);

impl<T: SparseElement, I: SparseIndex> Bsr<T, I> {
    pub(in super::super) fn layout_of(extent: Extent, block: usize, order: Order, stored: usize) -> Layout {
        Layout { format: Format::Bsr(block, order), rows: extent.rows, cols: extent.cols, stored }
    }

    /// Takes the arrays without validating their contents: only their lengths are checked.
    ///
    /// # Safety
    /// As [`Compressed::assume_valid`](super::Compressed::assume_valid).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths do not fit, the sizes are not multiples of the block size, or the
    /// index type cannot represent a size.
    pub unsafe fn assume_valid(
        spec: Blocks,
        offsets: impl Shareable<I>,
        columns: impl Shareable<I>,
        values: impl Shareable<T>,
    ) -> Result<Self> {
        let (offsets, columns, values) = (offsets.into(), columns.into(), values.into());
        let layout = Self::layout_of(spec.extent, spec.size, spec.order, columns.len());
        layout.check::<I>(offsets.len(), columns.len(), values.len())?;
        Ok(Bsr { layout, offsets, columns, values })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.layout.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.layout.cols
    }

    /// Number of stored elements in all blocks, stored zeros included.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Number of rows, and of columns, of a block.
    pub fn block(&self) -> usize {
        match self.layout.format {
            Format::Bsr(size, _) => size,
            _ => 1,
        }
    }

    /// The order of the elements in a block.
    pub fn order(&self) -> Order {
        match self.layout.format {
            Format::Bsr(_, order) => order,
            _ => Order::Row,
        }
    }

    /// The index of the first block of each row of blocks, and the number of blocks at the end.
    pub fn offsets(&self) -> &GpuRef<I> {
        &self.offsets
    }

    /// The block column of each block.
    pub fn indices(&self) -> &GpuRef<I> {
        &self.columns
    }

    /// The elements of the blocks.
    pub fn values(&self) -> &GpuRef<T> {
        &self.values
    }

    /// The same structure with other values, of any type; it is not validated again.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the number of values differs.
    pub fn with_values<U: SparseElement>(&self, values: impl Shareable<U>) -> Result<Bsr<U, I>> {
        let values = values.into();
        if values.len() != self.values.len() {
            let reason = format!("{} elements, but the blocks have {}", values.len(), self.values.len());
            return Err(Error::invalid("values", reason));
        }
        Ok(Bsr { layout: self.layout, offsets: self.offsets.clone(), columns: self.columns.clone(), values })
    }
}

impl<T: SparseElement, I: SparseIndex> Clone for Bsr<T, I> {
    fn clone(&self) -> Self {
        let (offsets, columns, values) = (self.offsets.clone(), self.columns.clone(), self.values.clone());
        Bsr { layout: self.layout, offsets, columns, values }
    }
}

impl<T: SparseElement, I: SparseIndex> std::fmt::Debug for Bsr<T, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rows, cols, size) = (self.rows(), self.cols(), self.block());
        write!(f, "Bsr<{}, {}>({rows} x {cols}, {} blocks of {size})", T::DTYPE, I::DTYPE, self.columns.len())
    }
}

impl<T: SparseElement, I: SparseIndex> Output for Bsr<T, I> {
    type Writes = (I, I, T);
    type Host = BlockExtent;
    fn join((offsets, columns, values): Arrays<T, I>, BlockExtent(layout): BlockExtent) -> Result<Self> {
        Ok(Bsr { layout, offsets: offsets.share(), columns: columns.share(), values: values.share() })
    }
}

impl<T: SparseElement, I: SparseIndex> sealed::Sealed for Bsr<T, I> {}
impl<T: SparseElement, I: SparseIndex> SparseMatrix<T, I> for Bsr<T, I> {
    fn rows(&self) -> usize {
        self.layout.rows
    }
    fn cols(&self) -> usize {
        self.layout.cols
    }
    fn nnz(&self) -> usize {
        self.values.len()
    }
    fn stored(&self) -> Stored<'_, T, I> {
        let (first, second, values) = (self.offsets.as_in(), self.columns.as_in(), self.values.as_in());
        Stored { layout: self.layout, structure: None, first, second, values }
    }
}
