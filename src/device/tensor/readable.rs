//! What calls take in a tensor's place: see `buffer/readable.rs`.

use super::{Part, Tensor, TensorRef};
use crate::core::buffer::{DeviceBuffer, GpuRef, In};
use crate::core::element::Element;

pub(super) mod sealed {
    pub trait ReadableTensor<'a, T> {}
    pub trait WritableTensor<T> {}
}

/// A tensor that a call reads: `&Tensor<T>`, a [`TensorRef`] or a reference to one, or work in flight that has nothing to report; a
/// buffer counts as a vector. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tensor that a call can read elements of `{T}` from",
    label = "expected `&Tensor<{T}>`, a `TensorRef<{T}>`, or `&DeviceBuffer<{T}>` as a vector",
    note = "work in flight is read as `&pending`, unless it has a verdict: then `.await_result()?` gives its tensor",
    note = "a view that can fail, such as `slice` or `reshape`, is taken out of its `Result` by `?`",
    note = "operators on tensors compute nothing until `.eval(&device)?`, whose result is read as `&result`"
)]
pub trait ReadableTensor<'a, T: Element>: Into<TensorRef<'a, T>> + sealed::ReadableTensor<'a, T> {}

/// A tensor that a call writes, and gives back: a [`Tensor`], or a [`Part`] of one, or work in flight that has nothing to report; a
/// buffer counts as a vector. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tensor that a call can write elements of `{T}` to",
    label = "expected a `Tensor<{T}>` by value, a part of one (`x.part(|all| ..)?`), or a `DeviceBuffer<{T}>` as a vector",
    note = "what is written is moved in and comes back from the wait; a view (`TensorRef`) is only read",
    note = "work in flight is moved in as it is, unless it has a verdict: then `.await_result()?` gives its tensor"
)]
pub trait WritableTensor<T: Element>: Into<Part<T>> + sealed::WritableTensor<T> {}

macro_rules! readable { ($($t:ty),*) => { $(
    impl<'a, T: Element> sealed::ReadableTensor<'a, T> for $t {}
    impl<'a, T: Element> ReadableTensor<'a, T> for $t {}
)* } }
readable!(&'a Tensor<T>, &'a TensorRef<'_, T>, TensorRef<'a, T>, &'a DeviceBuffer<T>, &'a GpuRef<T>, In<'a, T>);

impl<T: Element> sealed::ReadableTensor<'static, T> for GpuRef<T> {}
impl<T: Element> ReadableTensor<'static, T> for GpuRef<T> {}

macro_rules! writable { ($($t:ty),*) => { $(
    impl<T: Element> sealed::WritableTensor<T> for $t {}
    impl<T: Element> WritableTensor<T> for $t {}
)* } }
writable!(Tensor<T>, Part<T>, DeviceBuffer<T>);
