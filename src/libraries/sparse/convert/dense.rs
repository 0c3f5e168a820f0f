//! Sparse matrices to dense ones and back.

use super::super::element::{SparseElement, SparseIndex};
use super::super::formats::{SparseMatrix, Stored};
#[cfg(feature = "host")]
use super::super::host::convert;
#[cfg(feature = "cuda")]
use super::super::layout::Format;
use super::super::layout::Layout;
#[cfg(feature = "host")]
use super::super::layout::store;
use super::super::made::Producer;
#[cfg(feature = "cuda")]
use super::super::native::{ARRANGE, ENTRIES, Pick};
use super::super::operands::DenseAt;
use super::super::routine::{Call, Routine};
use super::super::{Csr, Sparse};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
#[cfg(feature = "cuda")]
use crate::engines::cuda::KernelArg;
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::flags::Order;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct ToDense<T, I> {
    layout: Layout,
    at: DenseAt,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Routine for ToDense<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "sparse_to_dense";
    const OPERANDS: OperandNames = (&["a", "a", "a"], &["dense"]);
    type Reads = (I, I, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (first, second, values): &Spans<Self::Reads>, (dense,): &Spans<(T,)>) -> Result<()> {
        self.layout.check::<I>(first.len(), second.len(), values.len())?;
        self.at.check_shape("dense", (self.layout.rows, self.layout.cols), format_args!("the matrix is"))?;
        self.at.check("dense", dense.len())
    }

    fn overwrites_each(&self, (dense,): &Spans<(T,)>, _: usize) -> bool {
        self.at.fills(dense.len())
    }

    fn cost(&self) -> Cost {
        let dense = self.at.rows.saturating_mul(self.at.cols).saturating_mul(size_of::<T>());
        Cost { flops: 0, bytes: self.layout.bytes::<T, I>().saturating_add(dense as u64) }
    }

    #[cfg(feature = "host")]
    fn host(&self, arrays: (&[I], &[I], &[T]), (dense,): (&mut [T],)) -> Result<()> {
        let mut made = store();
        let (rows, columns) = self.layout.seen(arrays, &mut made);
        let steps = self.at.steps();
        convert::to_dense(&rows, dense, if columns { steps.flipped() } else { steps });
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((first, second, values), (dense,)) = (*queue.reads(), *queue.writes());
        let (ptx, (line, count), (row, column)) = (ENTRIES(T::DTYPE)?, self.at.lines(), self.at.strides());
        let zeros = [dense.into(), line.into(), count.into(), self.at.ld.into()];
        let arrays = [first.into(), second.into(), values.into()];
        let (name, threads, args): (_, _, Vec<KernelArg>) = match self.layout.format {
            Format::Csr | Format::Csc => {
                let by_rows = self.layout.format == Format::Csr;
                let rows = if by_rows { self.layout.rows } else { self.layout.cols };
                let (row, column) = if by_rows { (row, column) } else { (column, row) };
                let rest = [rows.into(), second.len().into(), dense.into(), row.into(), column.into()];
                (I::pick([c"to_dense_4", c"to_dense_8"]), rows, arrays.into_iter().chain(rest).collect())
            }
            Format::Coo => {
                let rest = [second.len().into(), dense.into(), row.into(), column.into()];
                let name = I::pick([c"coo_to_dense_4", c"coo_to_dense_8"]);
                (name, second.len(), arrays.into_iter().chain(rest).collect())
            }
            Format::Bsr(size, order) => {
                let blocks = [
                    (self.layout.rows / size.max(1)).into(),
                    second.len().into(),
                    size.into(),
                    u64::from(order == Order::Column).into(),
                ];
                let rest = [dense.into(), row.into(), column.into()];
                let args = arrays.into_iter().chain(blocks).chain(rest).collect();
                (I::pick([c"blocks_to_dense_4", c"blocks_to_dense_8"]), self.layout.rows, args)
            }
        };
        let entries = if let Format::Bsr(..) = self.layout.format { ARRANGE(T::DTYPE)? } else { ptx };
        // SAFETY: the parameters have this order and these types; the matrix lies inside its buffer, the entries inside
        // the matrix.
        unsafe {
            kernels::each(queue, ptx, c"zero_lines_all", line.saturating_mul(count), &zeros)?;
            kernels::each(queue, entries, name, threads, &args)
        }
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

/// Collects the elements larger than a threshold into compressed rows.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct FromDense<T, I> {
    at: DenseAt,
    threshold: f64,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Producer for FromDense<T, I> {
    const NAMES: [&'static str; 2] = ["dense_to_sparse_count", "dense_to_sparse"];
    const READS: &'static [&'static str] = &["dense"];
    type Reads = (T,);
    type Value = T;
    type Index = I;

    fn count_of_rows(&self) -> usize {
        self.at.rows
    }

    fn check(&self, (dense,): &Spans<(T,)>) -> Result<()> {
        self.at.check("dense", dense.len())
    }

    fn cost(&self) -> Cost {
        let dense = self.at.rows.saturating_mul(self.at.cols).saturating_mul(size_of::<T>());
        Cost { flops: 0, bytes: dense as u64 }
    }

    #[cfg(feature = "cuda")]
    fn cuda<O: crate::engines::op::Op>(
        &self,
        queue: &mut Enqueue<'_, O>,
        (dense,): &Spans<(T,)>,
        offsets: u64,
        [indices, values]: [u64; 2],
    ) -> Result<()> {
        let (row, column) = self.at.strides();
        let args = [
            dense.address().into(),
            self.at.rows.into(),
            self.at.cols.into(),
            row.into(),
            column.into(),
            self.threshold.into(),
            offsets.into(),
            indices.into(),
            values.into(),
        ];
        // SAFETY: the parameters have this order and these types; the matrix lies inside its buffer (checked); the
        // number of entries was counted.
        unsafe {
            kernels::each(queue, ENTRIES(T::DTYPE)?, I::pick([c"from_dense_4", c"from_dense_8"]), self.at.rows, &args)
        }
    }

    #[cfg(feature = "host")]
    fn count(&self, (dense,): (&[T],), offsets: &mut [I]) -> usize {
        convert::dense_count(dense, (self.at.rows, self.at.cols), self.at.steps(), self.threshold, offsets)
    }

    #[cfg(feature = "host")]
    fn fill(&self, (dense,): (&[T],), offsets: &[I], indices: &mut [I], values: &mut [T]) {
        let shape = (self.at.rows, self.at.cols);
        convert::dense_fill(dense, shape, self.at.steps(), self.threshold, offsets, (indices, values));
    }
}

impl Sparse {
    /// Writes the matrix, zeros included, to a dense one (`cusparseSparseToDense`): a tensor of two axes, in either order. The matrix
    /// may have any format.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the shapes differ, or neither the rows nor the columns of `dense` are contiguous; a stale or
    /// foreign buffer. `dense` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(2, 2, &[0, 1, 2], &[1, 0], &[1.0f32, 2.0])?;
    /// let dense = device.sparse().to_dense(&a, device.uninit([2, 2])?)?.await_result()?;
    /// assert_eq!(device.show(&dense)?.to_string(), "[[0. 1.]\n [2. 0.]]");
    /// # Ok(()) }
    /// ```
    pub fn to_dense<T: SparseElement, I: SparseIndex>(
        &self,
        a: &impl SparseMatrix<T, I>,
        dense: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.spread(a.stored(), dense.into())
    }

    fn spread<T: SparseElement, I: SparseIndex>(
        &self,
        Stored { layout, first, second, values, .. }: Stored<'_, T, I>,
        dense: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let at = DenseAt::from_matrix("dense", dense.layout(), Order::Row);
        dense.submit(("sparse_to_dense", "sparse"), at, |at, dense| {
            self.submit(ToDense::<T, I> { layout, at, _types: PhantomData }, (first, second, values), (dense,))
        })
    }

    /// Makes compressed rows from the elements of a dense matrix that are NaN or larger in magnitude than `threshold`: of a tensor
    /// of two axes, in either order. A threshold of 0 keeps all elements that are not zero. The call waits for the number of
    /// entries.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if neither the rows nor the columns of `dense` are contiguous, the threshold is negative or NaN,
    /// or there are more entries than the index type can count; a stale or foreign buffer; [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, sparse::Csr};
    /// let device = Device::host()?;
    /// let dense = device.tensor([2, 2], [0.0f32, 3.0, 0.5, 0.0])?;
    /// let a: Csr<f32> = device.sparse().from_dense(&dense, 1.0)?;
    /// assert_eq!(device.download(a.values())?.await_result()?, [3.0]);
    /// # Ok(()) }
    /// ```
    pub fn from_dense<'a, T: SparseElement, I: SparseIndex>(
        &self,
        dense: impl ReadableTensor<'a, T>,
        threshold: f64,
    ) -> Result<Csr<T, I>> {
        self.collected(&dense.into(), threshold)
    }

    fn collected<T: SparseElement, I: SparseIndex>(
        &self,
        dense: &TensorRef<'_, T>,
        threshold: f64,
    ) -> Result<Csr<T, I>> {
        if threshold.is_nan() || threshold < 0.0 {
            return Err(Error::invalid("threshold", format!("{threshold} is negative or NaN")));
        }
        let (dense, layout) = dense.operand()?;
        let at = DenseAt::from_matrix("dense", &layout, Order::Row)?;
        Csr::<T, I>::layout_of(at.rows, at.cols, 0).check_sizes::<I>()?;
        let from = FromDense::<T, I> { at, threshold, _types: PhantomData };
        let (offsets, columns, values) = self.produce(from, || (dense,))?;
        // SAFETY: each row is read from its first column to its last, and the same elements are counted and stored.
        unsafe { Csr::assume_valid(at.rows, at.cols, offsets, columns, values) }
    }
}
