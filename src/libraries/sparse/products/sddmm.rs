//! Products of dense matrices, computed only at the entries of a sparse matrix.

use super::super::element::{Number, SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::sddmm;
use super::super::layout::DenseAt;
#[cfg(feature = "cuda")]
use super::super::layout::operation;
#[cfg(feature = "cuda")]
use super::super::native::{Cusparse, ENTRIES, Factor, dense_matrix};
use super::super::routine::{Call, Routine};
use super::super::{Csr, Sparse};
use crate::core::buffer::{DeviceBuffer, Readable};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, OperandNames, Spans};
use crate::device::dispatch::Submitted;
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::flags::{Order, Transpose};
use crate::libraries::setters::array_setters;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::align;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::handle;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// What [`Sparse::sddmm`] computes: `alpha * op(A) * op(B) + beta * C` at the entries of the sparse C. A and B are
/// dense; the inner products have length `k`. By default nothing is transposed, A and B are column-major without gaps,
/// `alpha` is 1 and `beta` is 0.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[must_use]
pub struct Sddmm<S> {
    k: usize,
    trans: [Transpose; 2],
    alpha: S,
    beta: S,
    order: [Order; 2],
    ld: [Option<usize>; 2],
}

impl<S: Number> Sddmm<S> {
    /// Inner products of length `k`.
    pub fn new(k: usize) -> Self {
        let (trans, order) = ([Transpose::No; 2], [Order::Column; 2]);
        Sddmm { k, trans, alpha: S::ONE, beta: S::default(), order, ld: [None; 2] }
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

    /// A and B are row-major.
    pub fn row_major(mut self) -> Self {
        self.order = [Order::Row; 2];
        self
    }

    array_setters! {
        /// The operation applied to A.
        trans_a: trans[0] = Transpose;
        /// The operation applied to B.
        trans_b: trans[1] = Transpose;
        /// The storage order of A.
        order_a: order[0] = Order;
        /// The storage order of B.
        order_b: order[1] = Order;
        /// Leading dimension of A: elements between its stored columns, or between its rows if it is row-major.
        lda: ld[0] = usize;
        /// Leading dimension of B: elements between its stored columns, or between its rows if it is row-major.
        ldb: ld[1] = usize;
    }

    /// A and B as stored.
    fn dense(&self, rows: usize, cols: usize) -> (DenseAt, DenseAt) {
        let ([trans_a, trans_b], [order_a, order_b], [lda, ldb]) = (self.trans, self.order, self.ld);
        let (a_rows, a_cols) = trans_a.stored(rows, self.k);
        let (b_rows, b_cols) = trans_b.stored(self.k, cols);
        (DenseAt::new(a_rows, a_cols, lda, order_a), DenseAt::new(b_rows, b_cols, ldb, order_b))
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Sampled<T: SparseElement, I> {
    rows: usize,
    cols: usize,
    nnz: usize,
    spec: Sddmm<T::Scalar>,
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
        let [trans_a, trans_b] = self.spec.trans;
        if (trans_a == Transpose::Conjugate || trans_b == Transpose::Conjugate) && T::DTYPE.is_complex() {
            return Err(Error::unsupported("a conjugated operand in `sddmm`: cuSPARSE computes it incorrectly"));
        }
        let (a_at, b_at) = self.spec.dense(self.rows, self.cols);
        a_at.check("a", "lda", a.len())?;
        b_at.check("b", "ldb", b.len())
    }

    fn overwrites_each(&self, _: &Spans<(T,)>, _: usize) -> bool {
        self.spec.beta == T::Scalar::default()
    }

    fn cost(&self) -> Cost {
        let flops = self.nnz.saturating_mul(self.spec.k).saturating_mul(2) as u64;
        let dense = self.rows.saturating_add(self.cols).saturating_mul(self.spec.k).saturating_mul(size_of::<T>());
        Cost { flops, bytes: dense as u64 }
    }

    #[cfg(feature = "host")]
    fn host(&self, (offsets, columns, a, b): (&[I], &[I], &[T], &[T]), (values,): (&mut [T],)) -> Result<()> {
        let ((a_at, b_at), [trans_a, trans_b]) = (self.spec.dense(self.rows, self.cols), self.spec.trans);
        let dense = |data, at: DenseAt, trans: Transpose| {
            let steps = if trans == Transpose::No { at.steps() } else { at.steps().flipped() };
            sddmm::Dense { data, steps, conj: false }
        };
        let (a, b) = (dense(a, a_at, trans_a), dense(b, b_at, trans_b));
        let factors = (self.spec.alpha, self.spec.beta);
        sddmm::sddmm((offsets, columns, self.rows), self.spec.k, factors, a, b, values);
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
        let ((offsets, columns, a, b), (values,)) = (*queue.reads(), *queue.writes());
        let (a_at, b_at) = self.spec.dense(self.rows, self.cols);
        let (alpha, beta) = (Factor::new(self.spec.alpha, &None), Factor::new(self.spec.beta, &None));
        if values.is_empty() {
            return Ok(());
        }
        if self.spec.k == 0 || alpha.is_zero() {
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
        let a = dense_matrix::<T>(api, &a_at, from_a).map_err(failed)?;
        let b = dense_matrix::<T>(api, &b_at, from_b).map_err(failed)?;
        let [op_a, op_b] = self.spec.trans.map(operation::<T>);
        let (alpha, beta, compute, mut bytes) = (alpha.pointer(), beta.pointer(), T::CODES.compute, 0);
        // SAFETY: the handle is this slot's, its descriptors are alive, the scalars too; it enqueues nothing.
        let code = unsafe {
            api.sddmm_size(handle, op_a, op_b, alpha, a.raw(), b.raw(), beta, c.raw(), compute, 0, &mut bytes)
        };
        queue.status::<Cusparse>("cusparseSDDMM_bufferSize", code)?;
        let buffer = queue.workspace(bytes)?;
        queue.stream();
        // SAFETY: as above; the arrays lie in operands or scratch, which live until this work is done, and were validated;
        // the workspace has the bytes asked for; scalars in host memory are read before the call returns.
        let code = unsafe {
            api.sddmm(handle, op_a, op_b, alpha, a.raw(), b.raw(), beta, c.raw(), compute, 0, buffer as *mut _)
        };
        queue.status::<Cusparse>("cusparseSDDMM", code)?;
        let [.., computed] = arrays;
        align::put_back(queue, &values, computed)
    }

    fn finish(&self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Sparse {
    /// `alpha * op(A) * op(B) + beta * C` at the entries of C (`cusparseSDDMM`). A and B are dense. Of C only the
    /// structure is used; its values are `values`, which are moved in and come back with the result.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a matrix does not lie inside its buffer, or if `values` does not have one element
    /// for each entry of C; [`Error::Unsupported`] for a conjugated operand of a complex type; a stale or foreign
    /// buffer. `values` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, sparse::Sddmm};
    /// let device = Device::host()?;
    /// let c = device.sparse().upload_csr(2, 2, &[0, 1, 2], &[1, 0], &[0.0f32, 0.0])?;
    /// let a = device.upload([1.0f32, 2.0])?.into_output(); // 2 x 1
    /// let b = device.upload([3.0f32, 5.0])?.into_output(); // 1 x 2
    /// let values = device.sparse().sddmm(Sddmm::new(1), &c, &a, &b, device.uninit(2)?)?.await_result()?;
    /// assert_eq!(device.download(&values)?.await_result()?, [5.0, 6.0]);
    /// # Ok(()) }
    /// ```
    pub fn sddmm<'a, T: SparseElement, I: SparseIndex, U: SparseElement>(
        &self,
        spec: Sddmm<T::Scalar>,
        c: &Csr<U, I>,
        a: impl Readable<'a, T>,
        b: impl Readable<'a, T>,
        values: DeviceBuffer<T>,
    ) -> Submitted<DeviceBuffer<T>> {
        let (rows, cols, nnz) = (c.rows(), c.cols(), c.nnz());
        let sampled = Sampled::<T, I> { rows, cols, nnz, spec, _index: PhantomData };
        self.submit(sampled, (c.offsets().as_in(), c.indices().as_in(), a.into(), b.into()), (values,))
    }
}
