//! Operations of a sparse vector and a dense one.

use super::super::element::{SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::vectors;
#[cfg(feature = "cuda")]
use super::super::native::{ENTRIES, Pick};
use super::super::operands::{check_vector, vector};
use super::super::routine::{Call, Routine};
use super::super::{Sparse, SparseVector};
use crate::core::buffer::DeviceBuffer;
use crate::core::dispatch::PendingDispatch;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Cost, OperandNames, Spans, Verdict};
use crate::device::dispatch::Submitted;
use crate::device::tensor::{ReadableTensor, Tensor, TensorRef, WritableTensor};
#[cfg(feature = "cuda")]
use crate::engines::cuda::Ptx;
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;

/// The lengths of a sparse vector and of the dense one.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
struct Places {
    len: usize,
    nnz: usize,
}

impl Places {
    fn from_vector<T: SparseElement, I: SparseIndex>(x: &SparseVector<T, I>) -> Self {
        Places { len: x.len(), nnz: x.nnz() }
    }

    fn check(&self, indices: usize, values: usize, dense: usize) -> Result<()> {
        if [indices, values] != [self.nnz; 2] {
            return Err(Error::invalid("x", format!("{values} values and {indices} indices, but {} stored", self.nnz)));
        }
        if dense != self.len {
            return Err(Error::invalid("y", format!("{dense} elements, but x has {}", self.len)));
        }
        Ok(())
    }

    fn cost<T, I>(&self, flops: usize) -> Cost {
        let bytes = self.nnz.saturating_mul(size_of::<T>().saturating_mul(2).saturating_add(size_of::<I>()));
        Cost { flops: self.nnz.saturating_mul(flops) as u64, bytes: bytes as u64 }
    }
}

macro_rules! routine {
    ($(#[$doc:meta])* $name:ident<$t:ident, $i:ident> { $($field:ident: $type:ty),* } $label:literal of $operands:expr,
        ($($read:ty),* $(,)?) => $output:ty, $raw:ty, $flops:literal,
        check $check:expr, overwrites $over:expr, host $host:expr, cuda $cuda:expr) => {
        $(#[$doc])*
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(bound = "")]
        pub(super) struct $name<$t: SparseElement, $i> {
            at: Places,
            $($field: $type,)*
            _types: PhantomData<fn() -> ($t, $i)>,
        }

        impl<$t: SparseElement, $i: SparseIndex> Routine for $name<$t, $i> {
            type Front = crate::libraries::sparse::Sparse;
            const NAME: &'static str = $label;
            const OPERANDS: OperandNames = $operands;
            type Reads = ($($read,)*);
            type Output = $output;
            type Raw = $raw;

            fn check(
                &self,
                reads: &Spans<Self::Reads>,
                writes: &Spans<<$output as crate::core::op::Output>::Writes>,
            ) -> Result<()> {
                let check: fn(&Self, &Spans<Self::Reads>, &Spans<<$output as crate::core::op::Output>::Writes>) -> Result<()> = $check;
                check(self, reads, writes)
            }

            fn overwrites_each(&self, _: &Spans<<$output as crate::core::op::Output>::Writes>, _: usize) -> bool {
                let over: fn(&Self) -> bool = $over;
                over(self)
            }

            fn cost(&self) -> Cost {
                self.at.cost::<$t, $i>($flops)
            }

            #[cfg(feature = "host")]
            fn host(
                &self,
                reads: <Self::Reads as crate::core::buffer::Elems>::Slices<'_>,
                writes: <<$output as crate::core::op::Output>::Writes as crate::core::buffer::Elems>::SlicesMut<'_>,
            ) -> Result<$raw> {
                Ok(($host)(self, reads, writes))
            }

            #[cfg(feature = "cuda")]
            fn cuda(&self, queue: &mut Enqueue<'_, Call<Self>>) -> Result<()> {
                let half: fn(&Self, &mut Enqueue<'_, Call<Self>>, &'static Ptx) -> Result<()> = $cuda;
                half(self, queue, ENTRIES(<$t as crate::core::element::Element>::DTYPE)?)
            }

            fn finish(&self, raw: $raw) -> Result<$raw> {
                Ok(raw)
            }
        }
    };
}

routine! {
    /// `y = alpha * x + beta * y`.
    Axpby<T, I> { alpha: T::Scalar, beta: T::Scalar } "sparse_axpby" of (&["x", "x"], &["y"]), (I, T) => DeviceBuffer<T>, (), 2,
    check |this, (indices, values), (y,)| this.at.check(indices.len(), values.len(), y.len()),
    overwrites |this| this.beta == T::Scalar::default(),
    host |this: &Self, (indices, values), (y,): (&mut [T],)| {
        vectors::axpby(this.alpha, (indices, values), this.beta, y);
    },
    cuda |this, queue, ptx| {
        let ((indices, values), (y,)) = (*queue.reads(), *queue.writes());
        // Scaling y overwrites its elements at the indices of x, so they are saved first.
        let old = queue.scratch(values.bytes())?;
        let (n, nnz) = (y.len(), values.len());
        let keep = [indices.into(), nnz.into(), y.into(), old.into()];
        let scale = [y.into(), n.into(), 1usize.into(), n.into(), this.beta.into(), 0u64.into()];
        let add = [indices.into(), values.into(), nnz.into(), this.alpha.into(), old.into(), this.beta.into(), y.into()];
        // SAFETY: the parameters in order and type, of arrays as long as was checked; the places lie inside y.
        unsafe {
            kernels::each(queue, ptx, I::pick([c"gather_4", c"gather_8"]), nnz, &keep)?;
            kernels::each(queue, ptx, c"scale_dense_all", n, &scale)?;
            kernels::each(queue, ptx, I::pick([c"scatter_add_4", c"scatter_add_8"]), nnz, &add)
        }
    }
}

routine! {
    /// The elements of y at the indices of x.
    Gather<T, I> {} "gather" of (&["x", "y"], &["x"]), (I, T) => DeviceBuffer<T>, (), 0,
    check |this, (indices, y), (values,)| this.at.check(indices.len(), values.len(), y.len()),
    overwrites |_| true,
    host |_, (indices, y): (&[I], &[T]), (values,): (&mut [T],)| vectors::gather(y, indices, values),
    cuda |_, queue, ptx| {
        let ((indices, y), (values,)) = (*queue.reads(), *queue.writes());
        let args = [indices.into(), values.len().into(), y.into(), values.into()];
        // SAFETY: the parameters in order and type, of arrays as long as was checked; the places lie inside y.
        unsafe { kernels::each(queue, ptx, I::pick([c"gather_4", c"gather_8"]), values.len(), &args) }
    }
}

routine! {
    /// Writes the values of x to y at the indices of x.
    Scatter<T, I> {} "scatter" of (&["x", "x"], &["y"]), (I, T) => DeviceBuffer<T>, (), 0,
    check |this, (indices, values), (y,)| this.at.check(indices.len(), values.len(), y.len()),
    overwrites |_| false,
    host |_, (indices, values): (&[I], &[T]), (y,): (&mut [T],)| vectors::scatter((indices, values), y),
    cuda |_, queue, ptx| {
        let ((indices, values), (y,)) = (*queue.reads(), *queue.writes());
        let args = [indices.into(), values.into(), values.len().into(), y.into()];
        // SAFETY: the parameters in order and type, of arrays as long as was checked; the places lie inside y, none twice.
        unsafe { kernels::each(queue, ptx, I::pick([c"scatter_4", c"scatter_8"]), values.len(), &args) }
    }
}

routine! {
    /// Rotates x and y at the indices of x.
    Rot<T, I> { c: T::Scalar, s: T::Scalar } "sparse_rot" of (&["x"], &["x", "y"]), (I,) => (DeviceBuffer<T>, DeviceBuffer<T>), (), 6,
    check |this, (indices,), (values, y)| this.at.check(indices.len(), values.len(), y.len()),
    overwrites |_| false,
    host |this: &Self, (indices,): (&[I],), (values, y): (&mut [T], &mut [T])| {
        vectors::rot((this.c, this.s), indices, values, y);
    },
    cuda |this, queue, ptx| {
        let ((indices,), (values, y)) = (*queue.reads(), *queue.writes());
        let args = [indices.into(), values.len().into(), this.c.into(), this.s.into(), values.into(), y.into()];
        // SAFETY: the parameters in order and type, of arrays as long as was checked; the places lie inside y, none twice.
        unsafe { kernels::each(queue, ptx, I::pick([c"rot_4", c"rot_8"]), values.len(), &args) }
    }
}

routine! {
    /// The sum of the products.
    Dot<T, I> { conj: bool } "sparse_dot" of (&["x", "x", "y"], &[]), (I, T, T) => T, T, 2,
    check |this, (indices, values, y), ()| this.at.check(indices.len(), values.len(), y.len()),
    overwrites |_| false,
    host |this: &Self, (indices, values, y): (&[I], &[T], &[T]), ()| vectors::dot((indices, values), this.conj, y),
    cuda |this, queue, ptx| {
        let ((indices, values, y), result) = (*queue.reads(), queue.result()?);
        let args =
            [indices.into(), values.into(), values.len().into(), u64::from(this.conj).into(), y.into(), result.into()];
        let dims = crate::core::launch::LaunchDims { grid: (1, 1, 1), block: (32, 1, 1), shared: 0 };
        // SAFETY: the parameters in order and type, of arrays as long as was checked; the result is an element.
        unsafe { queue.launch(ptx, I::pick([c"dot_4", c"dot_8"]), dims, &args) }
    }
}

impl Sparse {
    /// `y = alpha * x + beta * y` with a sparse x and a dense y: a tensor of one axis, whose elements must be neighbours. On a GPU a
    /// kernel of our own computes it: cuSPARSE's `Axpby` is deprecated.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths of x and y differ, or the elements of y are not neighbours; a stale or foreign
    /// buffer. `y` comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.sparse().vector(3, device.buffer([2i32])?, device.buffer([5.0f32])?)?.await_result()?;
    /// let y = device.tensor([3], [1.0f32, 2.0, 3.0])?;
    /// let y = device.sparse().axpby(2.0, &x, 10.0, y)?.await_result()?;
    /// assert_eq!(device.to_vec(&y)?, [10.0, 20.0, 40.0]);
    /// # Ok(()) }
    /// ```
    pub fn axpby<T: SparseElement, I: SparseIndex>(
        &self,
        alpha: T::Scalar,
        x: &SparseVector<T, I>,
        beta: T::Scalar,
        y: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (y, axpby) = (y.into(), Axpby::<T, I> { at: Places::from_vector(x), alpha, beta, _types: PhantomData });
        let reads = check_vector("y", &y).map(|()| (x.indices().as_in(), x.values().as_in()));
        y.submit(("sparse_axpby", "sparse"), reads, |reads, y| self.submit(axpby, reads, (y,)))
    }

    /// Reads the elements of a dense y at the indices of x (`cusparseGather`). Both `y` and `values` are tensors of one axis, whose
    /// elements must be neighbours. The values of x are not read: [`with_values`](SparseVector::with_values) makes a sparse vector
    /// from the buffer of the result.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths of x and y differ, `values` does not have the length of x's stored
    /// elements, or elements are not neighbours; a stale or foreign buffer. `values` comes back.
    pub fn gather<'a, T: SparseElement, I: SparseIndex, U: SparseElement>(
        &self,
        y: impl ReadableTensor<'a, T>,
        x: &SparseVector<U, I>,
        values: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (y, values) = (y.into(), values.into());
        let gather = Gather::<T, I> { at: Places::from_vector(x), _types: PhantomData };
        let reads = check_vector("values", &values).and_then(|()| Ok((x.indices().as_in(), vector("y", &y)?)));
        values.submit(("gather", "sparse"), reads, |reads, values| self.submit(gather, reads, (values,)))
    }

    /// Writes the values of a sparse x to y at the indices of x (`cusparseScatter`); the other elements of y do not
    /// change.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby).
    pub fn scatter<T: SparseElement, I: SparseIndex>(
        &self,
        x: &SparseVector<T, I>,
        y: impl WritableTensor<T>,
    ) -> Submitted<Tensor<T>> {
        let (y, scatter) = (y.into(), Scatter::<T, I> { at: Places::from_vector(x), _types: PhantomData });
        let reads = check_vector("y", &y).map(|()| (x.indices().as_in(), x.values().as_in()));
        y.submit(("scatter", "sparse"), reads, |reads, y| self.submit(scatter, reads, (y,)))
    }

    /// The Givens rotation `x, y = c * x + s * y, c * y - s * x` at the indices of `x`; `values` are the values of x. Both are
    /// tensors of one axis, whose elements must be neighbours.
    ///
    /// # Errors
    /// As [`axpby`](Self::axpby). Both tensors come back.
    pub fn rot<T: SparseElement, I: SparseIndex, U: SparseElement>(
        &self,
        c: T::Scalar,
        s: T::Scalar,
        x: &SparseVector<U, I>,
        values: impl WritableTensor<T>,
        y: impl WritableTensor<T>,
    ) -> Submitted<(Tensor<T>, Tensor<T>)> {
        let (values, y) = (values.into(), y.into());
        if let Err(error) = check_vector("values", &values).and_then(|()| check_vector("y", &y)) {
            let back = (values.into_tensor(), y.into_tensor());
            return Err(Rejected::new(error.in_op("sparse_rot", "sparse"), back));
        }
        let rot = Rot::<T, I> { at: Places::from_vector(x), c, s, _types: PhantomData };
        let ((values, _, of_values), (y, _, of_y)) = (values.operand(), y.operand());
        let whole = |(values, y)| (of_values.tensor(values), of_y.tensor(y));
        match self.submit(rot, (x.indices().as_in(),), (values, y)) {
            Ok(pending) => Ok(pending.retype(|buffers| Ok::<_, Error>(whole(buffers)))?),
            Err(rejected) => Err(rejected.map(whole)),
        }
    }

    /// The sum of `x_i * y_i`, where y is a tensor of one axis, whose elements must be neighbours. On a GPU a kernel of our own
    /// computes it: cuSPARSE's `SpVV` is deprecated.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the lengths of x and y differ, or the elements of y are not neighbours; a stale or foreign
    /// buffer.
    pub fn dot<'a, T: SparseElement, I: SparseIndex>(
        &self,
        x: &SparseVector<T, I>,
        y: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<T, Verdict>> {
        self.sum_of_products(x, false, &y.into())
    }

    /// As [`dot`](Self::dot) with the conjugate of x; the same for real types.
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn dotc<'a, T: SparseElement, I: SparseIndex>(
        &self,
        x: &SparseVector<T, I>,
        y: impl ReadableTensor<'a, T>,
    ) -> Result<PendingDispatch<T, Verdict>> {
        self.sum_of_products(x, true, &y.into())
    }

    fn sum_of_products<T: SparseElement, I: SparseIndex>(
        &self,
        x: &SparseVector<T, I>,
        conj: bool,
        y: &TensorRef<'_, T>,
    ) -> Result<PendingDispatch<T, Verdict>> {
        let y = vector("y", y).map_err(|error| error.in_op("sparse_dot", "sparse"))?;
        let dot = Dot::<T, I> { at: Places::from_vector(x), conj, _types: PhantomData };
        self.submit(dot, (x.indices().as_in(), x.values().as_in(), y), ())
    }
}
