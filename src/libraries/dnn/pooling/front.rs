//! The calls.

use super::op::{Divide, Pass, Pooling};
use super::spec::Pool;
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIn, AnyIns};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor};
use crate::libraries::dnn::Dnn;
use crate::libraries::tensor_routine::TensorRoutine;

/// An operand that is read.
type Read<'a> = (AnyIn<'a>, Layout);

/// A pass, without its operands' memory: compiled once for all types.
fn pooling(
    pass: Pass,
    dtype: crate::core::element::DType,
    pool: &Pool,
    elements: &[usize],
    reads: &[Read<'_>],
) -> Result<Pooling> {
    let axes = pool.axes(elements)?;
    let outer = elements.get(..elements.len().saturating_sub(axes.len())).unwrap_or_default().to_vec();
    let op = Pooling { pass, dtype, axes, sources: reads.iter().map(|(_, layout)| layout.clone()).collect(), outer };
    // Its size, before there is memory for it.
    Layout::row_major(op.target())?;
    Ok(op)
}

fn submit(
    device: &Device,
    op: Pooling,
    reads: Vec<Read<'_>>,
    targets: Vec<AnyBuffer>,
) -> Result<PendingDispatch<AnyBuffers>> {
    let ins: AnyIns<'_> = reads.into_iter().map(|(read, _)| read).collect();
    device.dispatch(op, ins, targets.into_iter().collect()).map_err(Rejected::into_error)
}

/// The tensor of a buffer.
pub(in crate::libraries::dnn) fn tied<T: Element>(
    buffer: Option<AnyBuffer>,
    extents: &[usize],
) -> Result<Tensor<T>, AnyBuffers> {
    let buffer = buffer.ok_or_else(AnyBuffers::default)?;
    let buffer = buffer.downcast::<T>().map_err(|buffer| -> AnyBuffers { [buffer].into_iter().collect() })?;
    let tensor = Tensor::from_buffer(buffer, extents);
    tensor.map_err(|rejected| rejected.back.map(AnyBuffer::from).into_iter().collect())
}

/// A pass that makes one tensor.
pub(in crate::libraries::dnn) fn one<T: Element>(
    device: &Device,
    pass: Pass,
    pool: &Pool,
    elements: &[usize],
    reads: Vec<Read<'_>>,
) -> Result<PendingDispatch<Tensor<T>>> {
    let op = pooling(pass, T::DTYPE, pool, elements, &reads).map_err(Pooling::refused)?;
    let extents = op.target();
    let target = device.unwritten::<T>(extents.iter().product())?;
    let pending = submit(device, op, reads, vec![target.into()])?;
    pending.retype(|buffers| Ok((tied(buffers.into_iter().next(), &extents)?,))).map_err(|any: AnyBuffers| any.into())
}

/// By what a mean is divided.
fn mean(pool: &Pool) -> Divide {
    if pool.counts_padding() { Divide::Places } else { Divide::Elements }
}

impl Dnn {
    /// The largest element of each window of [`Pool`]; NaN if one is. A window of padding alone gives -inf, or the smallest integer.
    ///
    /// Elements are f16, bf16, f32, f64, i8 or u8. The result is row-major, with the number of windows along each axis of the
    /// windows.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Pool;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([1, 5], [1.0f32, 5.0, 2.0, 0.0, 3.0])?;
    /// let y = device.dnn().max_pool(&x, &Pool::new([3]).stride([2]).padding([1]))?.await_result()?;
    /// assert_eq!(device.show(&y)?.to_string(), "[[5. 5. 3.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for settings that do not fit the axes, a window that spans more than an axis with its padding, a
    /// type that is not pooled; a stale tensor, or one of another device; [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn max_pool<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        pool: &Pool,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x = x.into();
        let (read, layout) = x.operand()?;
        let elements = layout.shape().to_vec();
        one(&self.device, Pass::Max, pool, &elements, vec![(read.into(), layout)])
    }

    /// As [`max_pool`](Self::max_pool), with the places of the largest elements: their numbers in the axes of the windows, of equal
    /// ones the first, -1 where a window has none. [`max_pool_gradient`](Self::max_pool_gradient) takes them.
    ///
    /// # Errors
    /// As [`max_pool`](Self::max_pool).
    pub fn max_pool_places<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        pool: &Pool,
    ) -> Result<PendingDispatch<(Tensor<T>, Tensor<i64>)>> {
        let x = x.into();
        let (read, layout) = x.operand()?;
        let elements = layout.shape().to_vec();
        let reads = vec![(read.into(), layout)];
        let op = pooling(Pass::MaxPlace, T::DTYPE, pool, &elements, &reads).map_err(Pooling::refused)?;
        let extents = op.target();
        let len = extents.iter().product();
        let targets = vec![self.device.unwritten::<T>(len)?.into(), self.device.unwritten::<i64>(len)?.into()];
        let pending = submit(&self.device, op, reads, targets)?;
        let back = |buffers: AnyBuffers| {
            let mut buffers = buffers.into_iter();
            Ok((tied(buffers.next(), &extents)?, tied(buffers.next(), &extents)?))
        };
        pending.retype(back).map_err(|any: AnyBuffers| any.into())
    }

    /// The gradient of [`max_pool`](Self::max_pool) for its operand, of extents `elements`: each element gets the sum of `dy` over
    /// the windows whose largest element it is, in their order. A place that is not in its window belongs to no element; one
    /// that is out of range of its plane, but for -1, makes NaN of all elements of its window.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Pool;
    /// let device = windlass::Device::best()?;
    /// let x = device.tensor([1, 4], [1.0f32, 5.0, 2.0, 0.0])?;
    /// let pool = Pool::new([2]).stride([1]);
    /// let (y, places) = device.dnn().max_pool_places(&x, &pool)?.await_result()?;
    /// let dx = device.dnn().max_pool_gradient(&y, &places, x.shape(), &pool)?.await_result()?;
    /// assert_eq!(device.show(&dx)?.to_string(), "[[ 0. 10.  2.  0.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`max_pool`](Self::max_pool); [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the extents of `dy` or `places` are not those of the windows.
    pub fn max_pool_gradient<'a, 'p, T: Element>(
        &self,
        dy: impl ReadableTensor<'a, T>,
        places: impl ReadableTensor<'p, i64>,
        elements: &[usize],
        pool: &Pool,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let (dy, places) = (dy.into(), places.into());
        let ((dy, dy_layout), (places, places_layout)) = (dy.operand()?, places.operand()?);
        let reads = vec![(dy.into(), dy_layout), (places.into(), places_layout)];
        one(&self.device, Pass::MaxBack, pool, elements, reads)
    }

    /// The mean of each window of [`Pool`], added in the order of the rows; halves are added in `f32`. Places of the padding count
    /// if [`Pool::count_padding`] says so. A window of padding alone gives 0.
    ///
    /// # Errors
    /// As [`max_pool`](Self::max_pool), without integers.
    pub fn average_pool<'a, T: Element>(
        &self,
        x: impl ReadableTensor<'a, T>,
        pool: &Pool,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let x = x.into();
        let (read, layout) = x.operand()?;
        let elements = layout.shape().to_vec();
        one(&self.device, Pass::Sum(mean(pool)), pool, &elements, vec![(read.into(), layout)])
    }

    /// The gradient of [`average_pool`](Self::average_pool) for its operand, of extents `elements`.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::dnn::Pool;
    /// let device = windlass::Device::best()?;
    /// let dy = device.tensor([1, 2], [2.0f32, 4.0])?;
    /// let dx = device.dnn().average_pool_gradient(&dy, &[1, 3], &Pool::new([2]).stride([1]))?.await_result()?;
    /// assert_eq!(device.show(&dx)?.to_string(), "[[1. 3. 2.]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`max_pool_gradient`](Self::max_pool_gradient).
    pub fn average_pool_gradient<'a, T: Element>(
        &self,
        dy: impl ReadableTensor<'a, T>,
        elements: &[usize],
        pool: &Pool,
    ) -> Result<PendingDispatch<Tensor<T>>> {
        let dy = dy.into();
        let (read, layout) = dy.operand()?;
        one(&self.device, Pass::SumBack(mean(pool)), pool, elements, vec![(read.into(), layout)])
    }
}
