//! A tensor that is still computed, as an operand: what reads it follows on the device.

use super::readable::sealed;
use super::{AnyTensorRef, IntoLayout, IntoShape, Layout, Part, ReadableTensor, Tensor, TensorRef, WritableTensor};
use crate::core::buffer::DeviceBuffer;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Rejected, Result};
use std::convert::Infallible;
use std::ops::Deref;

/// A dispatch in flight has the methods of its tensor, and stands where an operand stands: it is read as `&p`, and moved in where it
/// is written. What reads it follows on the device; if the work fails, it fails with
/// [`Error::Upstream`](crate::Error::Upstream). Of a call with a verdict there is no tensor before the wait.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// let device = windlass::Device::host()?;
/// let a = device.tensor([2, 2], [1.0, 2.0, 3.0, 4.0])?;
/// let square = device.matmul(&a, &a)?;
/// let y = (&square * 0.5 + square.transpose()).eval(&device)?; // nothing waits
/// assert_eq!(device.show(&y)?.to_string(), "[[10.5 20. ]\n [17.5 33. ]]");
/// # Ok(()) }
/// ```
impl<T: Element> Deref for PendingDispatch<Tensor<T>> {
    type Target = Tensor<T>;
    fn deref(&self) -> &Tensor<T> {
        &self.buffers().0
    }
}

/// What takes the tensor by value does not wait either.
impl<T: Element> PendingDispatch<Tensor<T>> {
    /// As [`Tensor::share`].
    pub fn share(self) -> TensorRef<'static, T> {
        self.into_output().share()
    }

    /// As [`Tensor::part`].
    ///
    /// # Errors
    /// As there.
    pub fn part(self, part: impl FnOnce(&Layout) -> Result<Layout>) -> Result<Part<T>, Rejected<Tensor<T>>> {
        self.into_output().part(part)
    }

    /// As [`Tensor::with_layout`].
    ///
    /// # Errors
    /// As there.
    pub fn with_layout(self, layout: impl IntoLayout) -> Result<Tensor<T>, Rejected<Tensor<T>>> {
        self.into_output().with_layout(layout)
    }

    /// As [`Tensor::into_shape`].
    ///
    /// # Errors
    /// As there.
    pub fn into_shape(self, shape: impl IntoShape) -> Result<Tensor<T>, Rejected<Tensor<T>>> {
        self.into_output().into_shape(shape)
    }

    /// As [`Tensor::into_buffer`].
    pub fn into_buffer(self) -> DeviceBuffer<T> {
        self.into_output().into_buffer()
    }
}

impl<'a, T: Element> From<&'a PendingDispatch<Tensor<T>>> for TensorRef<'a, T> {
    fn from(pending: &'a PendingDispatch<Tensor<T>>) -> Self {
        pending.view()
    }
}

/// Its memory is shared, so nothing is borrowed.
impl<T: Element> From<PendingDispatch<Tensor<T>>> for TensorRef<'static, T> {
    fn from(pending: PendingDispatch<Tensor<T>>) -> Self {
        pending.share()
    }
}

/// A vector of all elements.
impl<'a, T: Element> From<&'a PendingDispatch<DeviceBuffer<T>>> for TensorRef<'a, T> {
    fn from(pending: &'a PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.as_in().into()
    }
}

/// A vector of all elements; its memory is shared.
impl<T: Element> From<PendingDispatch<DeviceBuffer<T>>> for TensorRef<'static, T> {
    fn from(pending: PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.share().into()
    }
}

impl<'a, T: Element> From<&'a PendingDispatch<Tensor<T>>> for AnyTensorRef<'a> {
    fn from(pending: &'a PendingDispatch<Tensor<T>>) -> Self {
        (&**pending).into()
    }
}

/// As [`PendingDispatch::into_output`].
impl<T: Element> From<PendingDispatch<Tensor<T>>> for Tensor<T> {
    fn from(pending: PendingDispatch<Tensor<T>>) -> Self {
        pending.into_output()
    }
}

/// A vector of all elements.
impl<T: Element> From<PendingDispatch<DeviceBuffer<T>>> for Tensor<T> {
    fn from(pending: PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.into_output().into()
    }
}

/// All of it, to be written.
impl<T: Element> From<PendingDispatch<Tensor<T>>> for Part<T> {
    fn from(pending: PendingDispatch<Tensor<T>>) -> Self {
        pending.into_output().into()
    }
}

/// As [`Tensor::into_buffer`].
impl<T: Element> From<PendingDispatch<Tensor<T>>> for DeviceBuffer<T> {
    fn from(pending: PendingDispatch<Tensor<T>>) -> Self {
        pending.into_buffer()
    }
}

/// The same work, which gives the buffer of its tensor.
impl<T: Element> From<PendingDispatch<Tensor<T>>> for PendingDispatch<DeviceBuffer<T>> {
    fn from(pending: PendingDispatch<Tensor<T>>) -> Self {
        let pending = pending.retype(|(tensor,)| Ok::<_, Infallible>((tensor.into_buffer(),)));
        pending.unwrap_or_else(|never| match never {})
    }
}

/// A vector of all elements, to be written.
impl<T: Element> From<PendingDispatch<DeviceBuffer<T>>> for Part<T> {
    fn from(pending: PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.into_output().into()
    }
}

macro_rules! readable { ($($t:ident),*) => { $(
    impl<'a, T: Element> sealed::ReadableTensor<'a, T> for &'a PendingDispatch<$t<T>> {}
    impl<'a, T: Element> ReadableTensor<'a, T> for &'a PendingDispatch<$t<T>> {}
    impl<T: Element> sealed::ReadableTensor<'static, T> for PendingDispatch<$t<T>> {}
    impl<T: Element> ReadableTensor<'static, T> for PendingDispatch<$t<T>> {}
)* } }
readable!(Tensor, DeviceBuffer);

macro_rules! writable { ($($t:ident),*) => { $(
    impl<T: Element> sealed::WritableTensor<T> for PendingDispatch<$t<T>> {}
    impl<T: Element> WritableTensor<T> for PendingDispatch<$t<T>> {}
)* } }
writable!(Tensor, DeviceBuffer);
