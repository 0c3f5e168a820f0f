//! Products of dense matrices, computed only at the entries of a sparse matrix.

use super::super::element::{Number, SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::sddmm;
#[cfg(feature = "cuda")]
use super::super::native::{Cusparse, ENTRIES, Factor, dense_matrix};
use super::super::operands::{DenseAt, check_vector};
use super::super::routine::{Call, Routine};
use super::super::{Csr, Sparse};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::Result;
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::flags::Order;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::align;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::handle;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// The factors of [`Sparse::sddmm`]: `alpha * A * B + beta * C` at the entries of the sparse C. By default `alpha` is 1 and `beta`
/// is 0.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Sddmm<S> {
    alpha: S,
    beta: S,
}

impl<S: Number> Sddmm<S> {
    /// The product alone.
    pub fn new() -> Self {
        Sddmm { alpha: S::ONE, beta: S::default() }
    }

    /// The factor of the product.
    pub fn alpha(mut self, alpha: S) -> Self {
        self.alpha = alpha;
        self
    }

    /// The factor of the old values of C. With zero they are not read: a NaN in them does not propagate.
    pub fn beta(mut self, beta: S) -> Self {
        self.beta = beta;
        self
    }
}

impl<S: Number> Default for Sddmm<S> {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Sampled<T: SparseElement, I> {
    rows: usize,
    cols: usize,
    nnz: usize,
    spec: Sddmm<T::Scalar>,
    a: DenseAt,
    b: DenseAt,
    _index: PhantomData<fn() -> I>,
}

impl<T: SparseElement, I: SparseIndex> Routine for Sampled<T, I> {
    type Front = crate::libraries::sparse::Sparse;
    const NAME: &'static str = "sddmm";
    const OPERANDS: OperandNames = (&["pattern", "pattern", "a", "b"], &["values"]);
    type Reads = (I, I, T, T);
    type Output = DeviceBuffer<T>;
    type Raw = ();

    fn check(&self, (offsets, columns, a, b): &Spans<Self::Reads>, (values,): &Spans<(T,)>) -> Result<()> {
        let layout = Csr::<T, I>::layout_of(self.rows, self.cols, self.nnz);
        layout.check::<I>(offsets.len(), columns.len(), values.len())?;
        let (rows, cols, k) = (self.rows, self.cols, self.a.cols);
        self.a.check_shape("a", (rows, k), format_args!("C is {rows} x {cols}, which takes"))?;
        self.b.check_shape("b", (k, cols), format_args!("A is {rows} x {k} and C {rows} x {cols}, which takes"))?;
        self.a.check("a", a.len())?;
        self.b.check("b", b.len())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        self.spec.beta == T::Scalar::default()
    }

    fn cost(&self) -> Cost {
        let k = self.a.cols;
        let flops = self.nnz.saturating_mul(k).saturating_mul(2) as u64;
        let dense = self.rows.saturating_add(self.cols).saturating_mul(k).saturating_mul(size_of::<T>());
        Cost { flops, bytes: dense as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (offsets, columns, a, b): (&[I], &[I], &[T], &[T]), (values,): (&mut [T],)) -> Result<()> {
        let (a, b) = ((a, self.a.steps()), (b, self.b.steps()));
        let factors = (self.spec.alpha, self.spec.beta);
        sddmm::sddmm((offsets, columns, self.rows), self.a.cols, factors, a, b, values);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, columns, a, b), (values,)) = (*queue.reads(), *queue.writes());
        let (alpha, beta) = (Factor::new(self.spec.alpha, &None), Factor::new(self.spec.beta, &None));
        if values.is_empty() {
            return Ok(());
        }
        if self.a.cols == 0 || alpha.is_zero() {
            let n = values.len();
            let args = [values.into(), n.into(), 1usize.into(), n.into(), self.spec.beta.into(), 0u64.into()];
            // SAFETY: the parameters in order and type.
            return unsafe { kernels::each(queue, ENTRIES(T::DTYPE)?, c"scale_dense_all", n, &args) };
        }
        if beta.is_zero() {
            // Memory that was never written may hold NaNs, and the documentation of cuSPARSE does not say that C is not
            // read.
            // SAFETY: an operand that this dispatch writes.
            unsafe { queue.fill(values.address(), values.bytes(), &[0]) }?;
        }
        let arrays = [
            align::aligned(queue, &offsets)?,
            align::aligned(queue, &columns)?,
            align::aligned_output(queue, &values)?,
        ];
        let (from_a, from_b) = (align::aligned(queue, &a)?, align::aligned(queue, &b)?);
        let (api, handle) = handle::sparse(queue, false)?;
        let api = api.regular;
        let failed = |(call, code)| queue.failure::<Cusparse>(call, code);
        let layout = Csr::<T, I>::layout_of(self.rows, self.cols, self.nnz);
        let c = layout.describe::<T, I>(api, arrays)?.map_err(failed)?;
        let a = dense_matrix::<T>(api, &self.a, from_a).map_err(failed)?;
        let b = dense_matrix::<T>(api, &self.b, from_b).map_err(failed)?;
        let (alpha, beta, compute, mut bytes) = (alpha.pointer(), beta.pointer(), T::CODES.compute, 0);
        // SAFETY: the handle is this slot's, its descriptors are alive, the scalars too; it enqueues nothing.
        let code =
            unsafe { api.sddmm_size(handle, 0, 0, alpha, a.raw(), b.raw(), beta, c.raw(), compute, 0, &mut bytes) };
        queue.status::<Cusparse>("cusparseSDDMM_bufferSize", code)?;
        let buffer = queue.workspace(bytes)?;
        queue.stream();
        // SAFETY: as above; the arrays lie in operands or scratch, which live until this work is done, and were validated;
        // the workspace has the bytes asked for; scalars in host memory are read before the call returns.
        let code =
            unsafe { api.sddmm(handle, 0, 0, alpha, a.raw(), b.raw(), beta, c.raw(), compute, 0, buffer as *mut _) };
        queue.status::<Cusparse>("cusparseSDDMM", code)?;
        let [.., computed] = arrays;
        align::put_back(queue, &values, computed)
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    /// `alpha * A * B + beta * C` at the entries of C (`cusparseSDDMM`). A and B are tensors of two axes, each in either order. Of C
    /// only the structure is used; its values are `values`, a tensor of one axis, which is moved in and comes back with the result.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the shapes do not agree, neither the rows nor the columns of A
    /// or B are contiguous, or `values` does not have one element for each entry of C, side by side; a stale or foreign buffer.
    /// `values` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, sparse::Sddmm};
    /// let device = Device::host()?;
    /// let c = device.sparse().upload_csr(2, 2, &[0, 1, 2], &[1, 0], &[0.0f32, 0.0])?;
    /// let (a, b) = (device.tensor([2, 1], [1.0f32, 2.0])?, device.tensor([1, 2], [3.0f32, 5.0])?);
    /// let values = device.sparse().sddmm(Sddmm::new(), &c, &a, &b, device.uninit([2])?)?.await_result()?;
    /// assert_eq!(device.to_vec(&values)?, [5.0, 6.0]);
    /// # Ok(()) }
    /// ```
    pub fn sddmm<'a, T: SparseElement, I: SparseIndex, U: SparseElement>(
        &self,
        spec: Sddmm<T::Scalar>,
        c: &Csr<U, I>,
        a: impl ReadableTensor<'a, T>,
        b: impl ReadableTensor<'a, T>,
        values: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        self.sampled(spec, c, [&a.into(), &b.into()], values.into())
    }

    fn sampled<T: SparseElement, I: SparseIndex, U: SparseElement>(
        &self,
        spec: Sddmm<T::Scalar>,
        pattern: &Csr<U, I>,
        [a, b]: [&TensorRef<'_, T>; 2],
        values: Part<T>,
    ) -> Submitted<Tensor<T>> {
        let operands = a.operand().and_then(|(a, of_a)| {
            let (b, of_b) = b.operand()?;
            check_vector("values", &values)?;
            let of_a = DenseAt::from_matrix("a", &of_a, Order::Row)?;
            Ok((a, of_a, b, DenseAt::from_matrix("b", &of_b, Order::Column)?))
        });
        values.submit(("sddmm", "sparse"), operands, |(a, of_a, b, of_b), values| {
            let (rows, cols, nnz) = (pattern.rows(), pattern.cols(), pattern.nnz());
            let sampled = Sampled::<T, I> { rows, cols, nnz, spec, a: of_a, b: of_b, _index: PhantomData };
            self.submit(sampled, (pattern.offsets().as_in(), pattern.indices().as_in(), a, b), (values,))
        })
    }
}
