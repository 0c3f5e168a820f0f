//! What calls take in an operand's place: traits of this crate, so that the compiler names the remedy where something
//! else is given. (`impl Into<In<T>>` would report a conversion that is missing.)

use super::{AnyIn, DeviceBuffer, GpuRef, In};
use crate::core::element::Element;

pub(crate) mod sealed {
    pub trait Readable<'a, T> {}
    pub trait ReadableAny<'a> {}
    pub trait Shareable<T> {}
}

/// A buffer that a call reads: `&DeviceBuffer<T>`, `&GpuRef<T>`, or a part of one by `slice` ([`In`]). Sealed.
///
/// ```
/// # fn main() -> windlass::Result<()> {
/// use windlass::{Device, In, op::Readable};
///
/// fn mean<'a>(device: &Device, x: impl Readable<'a, f64>) -> windlass::Result<f64> {
///     let x: In<'_, f64> = x.into();
///     let x = device.to_vec(x)?;
///     Ok(x.iter().sum::<f64>() / x.len() as f64)
/// }
/// let device = Device::host()?;
/// let x = device.buffer([1.0, 2.0, 6.0])?;
/// assert_eq!(mean(&device, &x)?, 3.0);
/// assert_eq!(mean(&device, x.slice(1..)?)?, 4.0);
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand that a call can read elements of `{T}` from",
    label = "expected `&DeviceBuffer<{T}>`, `&GpuRef<{T}>`, or a part of one: `x.slice(range)?`",
    note = "work in flight is read as `&pending`, unless it has a verdict: then `.await_result()?` gives its buffer",
    note = "a tensor is taken by `to_vec`, by methods whose names end in `_tensor`, and in any order that a view gives it; `tensor.buffer()` lends its buffer, in the order of memory"
)]
pub trait Readable<'a, T: Element>: Into<In<'a, T>> + sealed::Readable<'a, T> {}

/// As [`Readable`], of any element type: what a program's replay reads. Also an [`AnyIn`]. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand that a replay can read",
    label = "expected `&DeviceBuffer`, `&GpuRef`, or a part of one: `x.slice(range)?`",
    note = "work in flight is read as `&pending`, unless it has a verdict: then `.await_result()?` gives its buffer"
)]
pub trait ReadableAny<'a>: Into<AnyIn<'a>> + sealed::ReadableAny<'a> {}

/// A buffer that an object keeps and reads for as long as it lives: a [`GpuRef`], or a [`DeviceBuffer`] that is shared
/// from then on. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no buffer of `{T}` that can be kept",
    label = "expected a `GpuRef<{T}>` or a `DeviceBuffer<{T}>`, by value",
    note = "work in flight is kept as it is, unless it has a verdict; `x.clone()` of a `GpuRef` is another handle"
)]
pub trait Shareable<T: Element>: Into<GpuRef<T>> + sealed::Shareable<T> {}

macro_rules! readable { ($($t:ty),*) => { $(
    impl<'a, T: Element> sealed::Readable<'a, T> for $t {}
    impl<'a, T: Element> Readable<'a, T> for $t {}
    impl<'a, T: Element> sealed::ReadableAny<'a> for $t {}
    impl<'a, T: Element> ReadableAny<'a> for $t {}
)* } }
readable!(&'a DeviceBuffer<T>, &'a GpuRef<T>, In<'a, T>);

impl<'a> sealed::ReadableAny<'a> for AnyIn<'a> {}
impl<'a> ReadableAny<'a> for AnyIn<'a> {}

macro_rules! shareable { ($($t:ty),*) => { $(
    impl<T: Element> sealed::Shareable<T> for $t {}
    impl<T: Element> Shareable<T> for $t {}
)* } }
shareable!(DeviceBuffer<T>, GpuRef<T>);
