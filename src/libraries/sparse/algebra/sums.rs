//! Sums of rows and columns, diagonals.

use super::super::element::{SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::scaling;
#[cfg(feature = "cuda")]
use super::super::native::{ENTRIES, Pick};
use super::super::products::Side;
use super::super::routine::{Call, Routine};
use super::super::{Compressed, Major, Sparse};
use crate::core::buffer::DeviceBuffer;
use crate::core::device_info::DeviceKind;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::tensor::Tensor;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Sums<T, I> {
    side: Side,
    /// Whether the sums run along the compressed dimension; else across it.
    compressed: bool,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Sums<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "sparse_sums";
    const OPERANDS: OperandNames = (&["a", "a", "a"], &["sums"]);
    type Reads = (I, I, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (offsets, indices, values): &Spans<Self::Reads>, (sums,): &Spans<(T,)>) -> Result<()> {
        self.side.check(offsets.len(), indices.len(), values.len())?;
        let need = if self.compressed { self.side.count } else { self.side.width };
        if sums.len() != need {
            return Err(Error::invalid("sums", format!("{} elements for {need} sums", sums.len())));
        }
        Ok(())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (offsets, indices, values): (&[I], &[I], &[T]), (sums,): (&mut [T],)) -> Result<()> {
        let rows = self.side.rows(offsets, indices, values);
        if self.compressed {
            scaling::row_sums(&rows, sums)
        } else {
            scaling::column_sums(&rows, sums)
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, _, values), (sums,)) = (*queue.reads(), *queue.writes());
        if !self.compressed {
            return Err(Error::unsupported("column sums of CSR or row sums of CSC on a GPU: convert the matrix first"));
        }
        let args = [offsets.into(), values.into(), self.side.count.into(), values.len().into(), sums.into()];
        // SAFETY: the parameters in order and type, of arrays as long as was checked.
        unsafe {
            kernels::each(queue, ENTRIES(T::DTYPE)?, I::pick([c"row_sums_4", c"row_sums_8"]), self.side.count, &args)
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Diagonal<T, I> {
    side: Side,
    /// The row and the column (in compressed terms) of the first element of the diagonal.
    first: (usize, usize),
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Diagonal<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "sparse_diagonal";
    const OPERANDS: OperandNames = (&["a", "a", "a"], &["diagonal"]);
    type Reads = (I, I, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (offsets, indices, values): &Spans<Self::Reads>, _: &Spans<(T,)>) -> Result<()> {
        self.side.check(offsets.len(), indices.len(), values.len())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "host")]
    fn host(&self, (offsets, indices, values): (&[I], &[I], &[T]), (diagonal,): (&mut [T],)) -> Result<()> {
        scaling::diagonal(&self.side.rows(offsets, indices, values), self.first, diagonal);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, indices, values), (diagonal,)) = (*queue.reads(), *queue.writes());
        let ((row, column), len) = (self.first, diagonal.len());
        if row.checked_add(len).is_none_or(|end| end > self.side.count) {
            return Err(Error::invalid(
                "diagonal",
                format!("{len} rows from row {row} on, but there are {}", self.side.count),
            ));
        }
        let arrays = [offsets.into(), indices.into(), values.into(), indices.len().into()];
        let args = [arrays.as_slice(), &[row.into(), column.into(), len.into(), diagonal.into()]].concat();
        // SAFETY: the parameters have this order and these types, of arrays as long as was checked; all rows lie inside
        // the matrix.
        unsafe { kernels::each(queue, ENTRIES(T::DTYPE)?, I::pick([c"diagonal_4", c"diagonal_8"]), len, &args) }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    fn sums<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        rows: bool,
    ) -> Result<Tensor<T>> {
        if rows != M::ROWS && self.device.kind() != DeviceKind::Host {
            // Across compressed rows a GPU would add in any order, so the matrix is converted first.
            return self.sums(&self.recompress(a, false)?, rows);
        }
        let sums = Sums::<T, I> { side: Side::from_compressed(a), compressed: rows == M::ROWS, _types: PhantomData };
        let to = self.device.unwritten(if rows { a.rows() } else { a.cols() })?;
        Ok(self
            .submit(sums, (a.offsets().as_in(), a.indices().as_in(), a.values().as_in()), (to,))?
            .into_output()
            .into())
    }

    /// The sum of each row, in the order of its entries, as a tensor of one axis. The sums are returned at once, while the device
    /// still computes them.
    ///
    /// # Errors
    /// A stale or foreign matrix; [`Error::OutOfMemory`].
    pub fn row_sums<T: SparseElement, I: SparseIndex, M: Major>(&self, a: &Compressed<T, I, M>) -> Result<Tensor<T>> {
        self.sums(a, true)
    }

    /// The sum of each column, in the order of its entries, as a tensor of one axis. The sums are returned at once, while the device
    /// still computes them.
    ///
    /// # Errors
    /// A stale or foreign matrix; [`Error::OutOfMemory`].
    pub fn column_sums<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
    ) -> Result<Tensor<T>> {
        self.sums(a, false)
    }

    /// A diagonal as a tensor of one axis, zeros included: 0 is the main one, 1 the one above it, -1 the one below it. It is
    /// returned at once, while the device still computes it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the matrix has no such diagonal; a stale or foreign matrix;
    /// [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 2, &[0, 2, 2], &[0, 1], &[1.0f32, 2.0])?;
    /// assert_eq!(device.to_vec(&device.sparse().diagonal(&a, 0)?)?, [1.0, 0.0]);
    /// assert_eq!(device.to_vec(&device.sparse().diagonal(&a, 1)?)?, [2.0]);
    /// # Ok(()) }
    /// ```
    pub fn diagonal<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        number: i64,
    ) -> Result<Tensor<T>> {
        let away = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
        let (row, column) = if number < 0 { (away, 0) } else { (0, away) };
        let (Some(rows), Some(cols)) = (a.rows().checked_sub(row), a.cols().checked_sub(column)) else {
            let reason = format!("a {} x {} matrix has no diagonal {number}", a.rows(), a.cols());
            return Err(Error::invalid("number", reason));
        };
        let first = if M::ROWS { (row, column) } else { (column, row) };
        let diagonal = Diagonal::<T, I> { side: Side::from_compressed(a), first, _types: PhantomData };
        let to = self.device.unwritten(rows.min(cols))?;
        let reads = (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
        Ok(self.submit(diagonal, reads, (to,))?.into_output().into())
    }
}
