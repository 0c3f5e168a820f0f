//! The validation of a structure: one operation, whose wait returns the result.

use super::super::Sparse;
use super::super::element::{SparseElement, SparseIndex};
use super::super::fault::Fault;
#[cfg(feature = "host")]
use super::super::host;
use super::super::layout::{Extent, Format, Layout};
#[cfg(feature = "cuda")]
use super::super::native::{Pick, STRUCTURE};
use super::super::routine::{Call, Routine};
use super::bsr::BlockExtent;
use super::compressed::Arrays;
use super::{Blocks, Bsr, Compressed, Coo, Csc, Csr, Major};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Output, Spans, Verdict};
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// A format as the output of an operation; its host part is made from its layout.
pub(in super::super) trait Built:
    Output<Writes = (Self::Index, Self::Index, Self::Value)> + 'static
{
    type Value: SparseElement;
    type Index: SparseIndex;
    fn tell(layout: Layout, longest: Option<u64>) -> Self::Host;
}

impl<T: SparseElement, I: SparseIndex, M: Major> Built for Compressed<T, I, M> {
    type Value = T;
    type Index = I;
    fn tell(layout: Layout, longest: Option<u64>) -> Self::Host {
        (Extent { rows: layout.rows, cols: layout.cols }, longest)
    }
}

impl<T: SparseElement, I: SparseIndex> Built for Coo<T, I> {
    type Value = T;
    type Index = I;
    fn tell(layout: Layout, _: Option<u64>) -> Extent {
        Extent { rows: layout.rows, cols: layout.cols }
    }
}

impl<T: SparseElement, I: SparseIndex> Built for Bsr<T, I> {
    type Value = T;
    type Index = I;
    fn tell(layout: Layout, _: Option<u64>) -> BlockExtent {
        BlockExtent(layout)
    }
}

/// Reads and checks the arrays of a matrix; it does not change them.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(in super::super) struct Validate<B> {
    layout: Layout,
    _built: PhantomData<fn() -> B>,
}

impl<B: Built> Routine for Validate<B> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "validate";
    const OPERANDS: OperandNames = (&[], &["a", "a", "a"]);
    type Reads = ();
    type Output = B;
    type Raw = u64;

    fn check(&self, (): &(), (first, second, values): &Spans<(B::Index, B::Index, B::Value)>) -> Result<()> {
        self.layout.check::<B::Index>(first.len(), second.len(), values.len())
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.layout.bytes::<(), B::Index>() }
    }

    #[cfg(feature = "host")]
    fn host(&self, (): (), (first, second, _): (&mut [B::Index], &mut [B::Index], &mut [B::Value])) -> Result<u64> {
        let Layout { rows, cols, format, .. } = self.layout;
        let found = match format {
            Format::Csr => host::check::compressed(rows, cols, first, second),
            Format::Csc => host::check::compressed(cols, rows, first, second),
            Format::Coo => host::check::coordinates((rows, cols), first, second, false),
            Format::Bsr(size, _) => host::check::compressed(rows / size.max(1), cols / size.max(1), first, second),
        };
        Ok(Fault::encode(found))
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((first, second, _), Layout { rows, cols, format, .. }) = (*queue.writes(), self.layout);
        let verdict = queue.result()?;
        let (count, width) = match format {
            Format::Csr => (rows, cols),
            Format::Csc => (cols, rows),
            Format::Bsr(size, _) => (rows / size.max(1), cols / size.max(1)),
            Format::Coo => {
                let args = [first.into(), second.into(), rows.into(), cols.into(), second.len().into(), verdict.into()];
                let name = B::Index::pick([c"check_coordinates_4", c"check_coordinates_8"]);
                // SAFETY: the result is a u64; the parameters in order and type, of arrays as long as was checked.
                return unsafe {
                    queue.fill(verdict, 1, &[0xff; 8])?;
                    kernels::each(queue, STRUCTURE, name, second.len(), &args)
                };
            }
        };
        let (nnz, of_offsets, longest) =
            (second.len(), queue.scratch(size_of::<u64>())?, queue.scratch(size_of::<u64>())?);
        let of_first = [first.into(), count.into(), nnz.into(), of_offsets.into()];
        let of_second = [
            first.into(),
            second.into(),
            count.into(),
            width.into(),
            nnz.into(),
            of_offsets.into(),
            verdict.into(),
            longest.into(),
        ];
        // SAFETY: both results and the length are a u64; the parameters have this order and these types, and the arrays
        // the lengths that were checked. Indices are read only where valid offsets say so.
        unsafe {
            queue.fill(verdict, 1, &[0xff; 8])?;
            queue.fill(of_offsets, 1, &[0xff; 8])?;
            queue.fill(longest, 1, &[0; 8])?;
            kernels::each(
                queue,
                STRUCTURE,
                B::Index::pick([c"check_offsets_4", c"check_offsets_8"]),
                count + 1,
                &of_first,
            )?;
            kernels::each(
                queue,
                STRUCTURE,
                B::Index::pick([c"check_indices_4", c"check_indices_8"]),
                count,
                &of_second,
            )?;
            kernels::each(queue, STRUCTURE, c"settle_verdict", 1, &[of_offsets.into(), longest.into(), verdict.into()])
        }
    }

    fn finish(&self, raw: u64) -> Result<B::Host> {
        let longest = raw.checked_sub(VALID).filter(|_| raw != u64::MAX);
        if longest.is_none() {
            verdict(&self.layout, raw)?;
        }
        Ok(B::tell(self.layout, longest))
    }
}

/// As in `structure.cu`: set if the structure is valid; the other bits are then the number of entries of the longest
/// row.
const VALID: u64 = 1 << 63;

/// The fault that the device found, as an error.
pub(in super::super) fn verdict(layout: &Layout, raw: u64) -> Result<()> {
    Fault::decode(raw).map_or(Ok(()), |found| Err(told(layout, found)))
}

/// What is wrong with the structure at a place.
pub(super) fn told(layout: &Layout, (place, fault): (usize, Fault)) -> Error {
    let ([first, second], Layout { rows, cols, stored, .. }) = (layout.names(), *layout);
    match (fault, layout.format) {
        (Fault::Offset, _) => Error::invalid(
            first,
            format!(
                "offset {place} is wrong: they begin at 0, never decrease, and end at {stored}, the number of indices"
            ),
        ),
        (Fault::Range, Format::Coo) => {
            let reason = format!("entry {place} does not lie inside a {rows} x {cols} matrix");
            Error::invalid("row_indices or column_indices", reason)
        }
        (Fault::Range, _) => {
            Error::invalid(second, format!("{second}[{place}] does not lie inside a {rows} x {cols} matrix"))
        }
        (Fault::Order, Format::Coo) => {
            let reason = format!(
                "entry {place} is not after the entry before it: sort by row, then by column, without duplicates"
            );
            Error::invalid("row_indices or column_indices", reason)
        }
        (Fault::Order, _) => Error::invalid(
            second,
            format!("{second}[{place}] is not larger than the one before it in its row or column"),
        ),
    }
}

impl Sparse {
    fn validate<B: Built>(&self, layout: Layout, arrays: Arrays<B::Value, B::Index>) -> Submitted<B, Verdict> {
        self.submit(Validate::<B> { layout, _built: PhantomData }, (), arrays)
    }

    /// Makes a matrix of compressed rows: validates the arrays on the device. See [`Csr`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] from this call if the lengths do not fit; from the wait if the structure violates the
    /// rules of the format. It names the array and the first wrong position. The arrays are returned with the error.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, sparse::Spmv};
    /// let device = Device::host()?;
    /// let sparse = device.sparse();
    /// let offsets = device.upload([0i32, 2, 3])?.into_output();
    /// let columns = device.upload([0i32, 2, 1])?.into_output();
    /// let values = device.upload([1.0f64, 2.0, 3.0])?.into_output();
    /// let a = sparse.csr(2, 3, offsets, columns, values)?.await_result()?; // [1 0 2; 0 3 0]
    /// let x = device.upload([1.0f64, 10.0, 100.0])?.into_output();
    /// let y = sparse.spmv(Spmv::new(), &a, &x, device.uninit([2])?)?.await_result()?;
    /// assert_eq!(device.download(&y)?.await_result()?, [201.0, 30.0]);
    /// # Ok(()) }
    /// ```
    pub fn csr<T: SparseElement, I: SparseIndex>(
        &self,
        rows: usize,
        cols: usize,
        offsets: DeviceBuffer<I>,
        columns: DeviceBuffer<I>,
        values: DeviceBuffer<T>,
    ) -> Submitted<Csr<T, I>, Verdict> {
        self.validate(Csr::<T, I>::layout_of(rows, cols, columns.len()), (offsets, columns, values))
    }

    /// Makes a matrix of compressed columns: as [`csr`](Self::csr), with the row index of each entry.
    ///
    /// # Errors
    /// As [`csr`](Self::csr).
    pub fn csc<T: SparseElement, I: SparseIndex>(
        &self,
        rows: usize,
        cols: usize,
        offsets: DeviceBuffer<I>,
        row_indices: DeviceBuffer<I>,
        values: DeviceBuffer<T>,
    ) -> Submitted<Csc<T, I>, Verdict> {
        self.validate(Csc::<T, I>::layout_of(rows, cols, row_indices.len()), (offsets, row_indices, values))
    }

    /// Makes a matrix of coordinates: as [`csr`](Self::csr). For entries in any order, or several at one position, use
    /// [`sum_duplicates`](Self::sum_duplicates).
    ///
    /// # Errors
    /// As [`csr`](Self::csr).
    pub fn coo<T: SparseElement, I: SparseIndex>(
        &self,
        rows: usize,
        cols: usize,
        row_indices: DeviceBuffer<I>,
        column_indices: DeviceBuffer<I>,
        values: DeviceBuffer<T>,
    ) -> Submitted<Coo<T, I>, Verdict> {
        self.validate(Coo::<T, I>::layout_of(rows, cols, column_indices.len()), (row_indices, column_indices, values))
    }

    /// Makes a matrix of square blocks: as [`csr`](Self::csr), with the offsets of the rows of blocks and the block column of
    /// each block.
    ///
    /// # Errors
    /// As [`csr`](Self::csr), and if the sizes are not multiples of the block size.
    pub fn bsr<T: SparseElement, I: SparseIndex>(
        &self,
        spec: Blocks,
        offsets: DeviceBuffer<I>,
        columns: DeviceBuffer<I>,
        values: DeviceBuffer<T>,
    ) -> Submitted<Bsr<T, I>, Verdict> {
        let layout = Bsr::<T, I>::layout_of(spec.extent, spec.size, spec.order, columns.len());
        self.validate(layout, (offsets, columns, values))
    }
}
