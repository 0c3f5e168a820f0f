//! Coordinates in any order: sorts them and sums duplicates.

use super::super::element::{SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host;
#[cfg(feature = "cuda")]
use super::super::native::{ARRANGE, Pick, SORT};
use super::super::operands::vector;
use super::super::routine::{Call, Routine};
use super::super::{Coo, Sparse};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Output, Spans};
use crate::device::tensor::{ReadableTensor, TensorRef};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// Sorts the entries by row and then by column (stable: duplicates keep their order), and counts the distinct
/// positions.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Sort<T, I> {
    rows: usize,
    cols: usize,
    _types: PhantomData<fn() -> (T, I)>,
}

/// Sorted entries, and the number of their distinct positions.
pub(super) struct Sorted<T: SparseElement, I: SparseIndex> {
    rows: DeviceBuffer<I>,
    columns: DeviceBuffer<I>,
    values: DeviceBuffer<T>,
    places: u64,
}

impl<T: SparseElement, I: SparseIndex> Output for Sorted<T, I> {
    type Writes = (I, I, T);
    type Host = u64;
    fn join((rows, columns, values): (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>), places: u64) -> Result<Self> {
        Ok(Sorted { rows, columns, values, places })
    }
}

fn same_lengths(lengths: [usize; 3]) -> Result<()> {
    let [rows, columns, values] = lengths;
    if rows == columns && columns == values {
        return Ok(());
    }
    Err(Error::invalid("values", format!("{values} values, but {rows} row indices and {columns} column indices")))
}

/// Set if the result is a fault with its position; clear if it is the number of positions.
const FAULT: u64 = 1 << 63;

impl<T: SparseElement, I: SparseIndex> Routine for Sort<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "sort_coordinates";
    const OPERANDS: OperandNames = (&["a", "a", "a"], &["row_indices", "column_indices", "values"]);
    type Reads = (I, I, T);
    type Output = Sorted<T, I>;
    type Raw = u64;

    fn check(&self, (rows, columns, values): &Spans<Self::Reads>, to: &Spans<(I, I, T)>) -> Result<()> {
        same_lengths([rows.len(), columns.len(), values.len()])?;
        same_lengths([to.0.len(), to.1.len(), to.2.len()])?;
        same_lengths([rows.len(), to.0.len(), values.len()])
    }

    fn overwrites_each(&self, _: &Spans<(I, I, T)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost { flops: 0, bytes: self.rows.saturating_mul(size_of::<I>()) as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, from: (&[I], &[I], &[T]), to: (&mut [I], &mut [I], &mut [T])) -> Result<u64> {
        let shape = (self.rows, self.cols);
        if let Some((place, _)) = host::check::coordinates(shape, from.0, from.1, true) {
            // The outputs come back in this case too, so they must be initialised.
            to.0.copy_from_slice(from.0);
            to.1.copy_from_slice(from.1);
            to.2.copy_from_slice(from.2);
            return Ok(FAULT | place as u64);
        }
        Ok(host::triplets::sort(shape, from, to) as u64)
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((rows, columns, values), (to_rows, to_columns, to_values)) = (*queue.reads(), *queue.writes());
        let n = rows.len();
        if n == 0 {
            return queue.zero_result();
        }
        let (outside, result) = (queue.scratch(8)?, queue.result()?);
        let check = [rows.into(), columns.into(), self.rows.into(), self.cols.into(), n.into(), outside.into()];
        let permute = I::pick([c"permute_indices_4", c"permute_indices_8"]);
        // SAFETY: the parameters have this order and these types; all arrays have `n` elements (checked), and so has
        // the order. An entry outside the matrix is reported, and moved like any other.
        unsafe {
            queue.fill(outside, 8, &[0xff])?;
            kernels::each(queue, SORT, I::pick([c"check_places_4", c"check_places_8"]), n, &check)?;
            let keys = [(columns.address(), self.cols), (rows.address(), self.rows)];
            let order = kernels::sorted_order::<I>(queue, &keys, n)?;
            kernels::each(queue, SORT, permute, n, &[order.into(), rows.into(), n.into(), to_rows.into()])?;
            kernels::each(queue, SORT, permute, n, &[order.into(), columns.into(), n.into(), to_columns.into()])?;
            let args = [order.into(), values.into(), n.into(), to_values.into()];
            kernels::each(queue, ARRANGE(T::DTYPE)?, c"permute_all", n, &args)?;
            let (_, count) = kernels::places_before::<I>(queue, [to_rows.address(), to_columns.address()], n)?;
            kernels::each(queue, SORT, c"settle_places", 1, &[outside.into(), count.into(), result.into()])
        }
    }

    fn finish(&self, raw: u64) -> Result<u64> {
        if raw & FAULT != 0 {
            let (place, Sort { rows, cols, .. }) = (raw & !FAULT, self);
            let reason = format!("entry {place} does not lie inside a {rows} x {cols} matrix");
            return Err(Error::invalid("row_indices or column_indices", reason));
        }
        Ok(raw)
    }
}

/// Sums the sorted entries of each position.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Sum<T, I> {
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Sum<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "sum_duplicates";
    const OPERANDS: OperandNames = (&["a", "a", "a"], &["row_indices", "column_indices", "values"]);
    type Reads = (I, I, T);
    type Output = (DeviceBuffer<I>, DeviceBuffer<I>, DeviceBuffer<T>);
    type Raw = ();

    fn check(&self, (rows, columns, values): &Spans<Self::Reads>, to: &Spans<(I, I, T)>) -> Result<()> {
        same_lengths([rows.len(), columns.len(), values.len()])?;
        same_lengths([to.0.len(), to.1.len(), to.2.len()])
    }

    fn overwrites_each(&self, _: &Spans<(I, I, T)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, from: (&[I], &[I], &[T]), to: (&mut [I], &mut [I], &mut [T])) -> Result<()> {
        host::triplets::sum(from, to);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((rows, columns, values), (to_rows, to_columns, to_values)) = (*queue.reads(), *queue.writes());
        let n = rows.len();
        // SAFETY: both have `n` elements (checked).
        let (places, _) = unsafe { kernels::places_before::<I>(queue, [rows.address(), columns.address()], n) }?;
        let args = [
            rows.into(),
            columns.into(),
            values.into(),
            n.into(),
            places.into(),
            to_rows.len().into(),
            to_rows.into(),
            to_columns.into(),
            to_values.into(),
        ];
        // SAFETY: the parameters have this order and these types; at most as many positions are written as there are.
        unsafe { kernels::each(queue, ARRANGE(T::DTYPE)?, I::pick([c"sum_places_4", c"sum_places_8"]), n, &args) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    /// Makes a matrix from coordinates in any order, in which a position may occur several times: tensors of one axis, whose
    /// elements must be neighbours. The values of such duplicates are summed in the order in which they are given. The call waits
    /// for the number of distinct positions.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths differ, or if an entry does not lie inside the matrix; a stale or
    /// foreign buffer; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let rows = device.upload([1i32, 0, 1])?.into_output();
    /// let columns = device.upload([0i32, 1, 0])?.into_output();
    /// let values = device.upload([1.0f32, 5.0, 10.0])?.into_output();
    /// let a = device.sparse().sum_duplicates(2, 2, &rows, &columns, &values)?;
    /// assert_eq!(device.download(a.row_indices())?.await_result()?, [0, 1]);
    /// assert_eq!(device.download(a.values())?.await_result()?, [5.0, 11.0]);
    /// # Ok(()) }
    /// ```
    pub fn sum_duplicates<'a, T: SparseElement, I: SparseIndex>(
        &self,
        rows: usize,
        cols: usize,
        row_indices: impl ReadableTensor<'a, I>,
        column_indices: impl ReadableTensor<'a, I>,
        values: impl ReadableTensor<'a, T>,
    ) -> Result<Coo<T, I>> {
        self.summed((rows, cols), [&row_indices.into(), &column_indices.into()], &values.into())
    }

    fn summed<T: SparseElement, I: SparseIndex>(
        &self,
        (rows, cols): (usize, usize),
        [row_indices, column_indices]: [&TensorRef<'_, I>; 2],
        values: &TensorRef<'_, T>,
    ) -> Result<Coo<T, I>> {
        let (row_indices, column_indices) =
            (vector("row_indices", row_indices)?, vector("column_indices", column_indices)?);
        let values = vector("values", values)?;
        let (device, len) = (&self.device, values.len());
        Coo::<T, I>::layout_of(rows, cols, len).check_sizes::<I>()?;
        let sort = Sort::<T, I> { rows, cols, _types: PhantomData };
        let to = (device.unwritten(len)?, device.unwritten(len)?, device.unwritten(len)?);
        let sorted = self.submit(sort, (row_indices, column_indices, values), to)?.await_result()?;
        let Sorted { rows: sorted_rows, columns, values, places } = sorted;
        let places = usize::try_from(places).unwrap_or(usize::MAX).min(len);
        if places == len {
            // SAFETY: inside the matrix and sorted; there are as many positions as entries, so none is repeated.
            return unsafe { Coo::assume_valid(rows, cols, sorted_rows, columns, values) };
        }
        let to = (device.unwritten(places)?, device.unwritten(places)?, device.unwritten(places)?);
        let sum = Sum::<T, I> { _types: PhantomData };
        let reads = (sorted_rows.as_in(), columns.as_in(), values.as_in());
        let (sorted_rows, columns, values) = self.submit(sum, reads, to)?.into_output();
        // SAFETY: inside the matrix and sorted; the duplicates of each position are summed into one entry.
        unsafe { Coo::assume_valid(rows, cols, sorted_rows, columns, values) }
    }
}
