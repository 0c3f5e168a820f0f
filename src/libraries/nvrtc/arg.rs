//! One argument of a launch, and the conversions to it.

use super::packed::Written;
use crate::core::buffer::{AnyBuffer, AnyIn, DeviceBuffer, GpuRef, In};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::device::tensor::{Layout, Part, Tensor, TensorRef};
use bytemuck::NoUninit;
use smallvec::SmallVec;

/// A plain `#[repr(C)]` struct, passed by value. Usable as an argument, and as a parameter of a
/// [`Signature`](super::Signature).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain<S>(pub S);

/// A device address, passed without any check. It does not keep memory alive, and its use is not ordered with other
/// operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DevicePtr(pub u64);

/// The number of elements, for kernels that take a length in addition to their buffers. It is filled in from the
/// buffers of the launch, which must all have the same length. The kernel's parameter has 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Len;

/// One argument of a launch.
///
/// | value | meaning |
/// |---|---|
/// | `&DeviceBuffer`, `&GpuRef`, [`In`] | a buffer that the kernel reads; passed as its address |
/// | `DeviceBuffer` | a buffer that the kernel writes and may read; comes back from the wait |
/// | `&Tensor`, `&TensorRef` | a tensor in row-major order without gaps, which the kernel reads; passed as the address of its first element |
/// | `Tensor` | the same, which the kernel writes and may read; its elements come back as a buffer |
/// | [`Arg::out`] of a `DeviceBuffer` | a buffer of which the kernel writes every element and reads none |
/// | any element type, `usize` | a scalar |
/// | [`Len`] | the length of the launch's buffers |
/// | [`Plain`] | a `#[repr(C)]` struct |
/// | [`DevicePtr`] | a raw device address |
#[derive(Debug)]
pub struct Arg<'a>(pub(super) Value<'a>);

mod sealed {
    pub trait KernelArgument<'a> {}
}

/// What a launch takes for a parameter: any value of the table at [`Arg`], or an [`Arg`]. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument that a kernel takes",
    label = "expected a buffer, an element type or `usize`, `Len`, `Plain`, or an `Arg`",
    note = "a buffer or tensor that the kernel reads goes in by reference, one that it writes by value",
    note = "work in flight counts as its buffer, unless it has a verdict: then `.await_result()?` gives the buffer"
)]
pub trait KernelArgument<'a>: Into<Arg<'a>> + sealed::KernelArgument<'a> {}

macro_rules! arguments { ($([$($bound:tt)*] $t:ty),* $(,)?) => { $(
    impl<'a, $($bound)*> sealed::KernelArgument<'a> for $t {}
    impl<'a, $($bound)*> KernelArgument<'a> for $t {}
)* } }
arguments!(
    [T: Element] &'a DeviceBuffer<T>, [T: Element] &'a GpuRef<T>, [T: Element] In<'a, T>, [T: Element] DeviceBuffer<T>,
    [T: Element] &'a PendingDispatch<DeviceBuffer<T>>, [T: Element] PendingDispatch<DeviceBuffer<T>>, [T: Element] T, [] usize,
    [T: Element] &'a Tensor<T>, [T: Element] &'a TensorRef<'_, T>, [T: Element] Tensor<T>,
    [T: Element] &'a PendingDispatch<Tensor<T>>, [T: Element] PendingDispatch<Tensor<T>>,
    [S: NoUninit] Plain<S>, [] Len, [] DevicePtr, [] Arg<'a>,
);

/// The value of an argument.
pub(super) enum Value<'a> {
    Read(AnyIn<'a>),
    Write(AnyBuffer, Written),
    /// A tensor whose elements lie otherwise than kernels take them: the launch is refused.
    Unfit(Box<Value<'a>>, Layout),
    Scalar(DType, [u8; 16]),
    Pointer(u64),
    Len,
    Plain(SmallVec<[u8; 64]>),
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Read(x) => write!(f, "read {} x {}", x.len(), x.dtype()),
            Value::Write(x, _) => write!(f, "write {} x {}", x.len(), x.dtype()),
            Value::Unfit(_, layout) => write!(f, "a tensor of {layout:?}"),
            Value::Scalar(dtype, _) => write!(f, "{dtype}"),
            Value::Pointer(address) => write!(f, "{address:#x}"),
            Value::Len => write!(f, "the length"),
            Value::Plain(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

impl<'a> Arg<'a> {
    /// A buffer of which the kernel writes **every** element and reads none, so its contents may be uninitialised. If
    /// the kernel does not write an element, that element keeps its old, possibly undefined, value.
    pub fn out<T: Element>(buffer: DeviceBuffer<T>) -> Self {
        Arg(Value::Write(buffer.into(), Written::All))
    }

    /// A buffer to be read whose type is known only at run time.
    pub fn read(input: AnyIn<'a>) -> Self {
        Arg(Value::Read(input))
    }

    /// A buffer to be written whose type is known only at run time.
    pub fn write(buffer: AnyBuffer) -> Self {
        Arg(Value::Write(buffer, Written::Some))
    }
}

impl<'a, T: Element> From<&'a DeviceBuffer<T>> for Arg<'a> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        Arg(Value::Read(buffer.into()))
    }
}

impl<'a, T: Element> From<&'a PendingDispatch<DeviceBuffer<T>>> for Arg<'a> {
    fn from(pending: &'a PendingDispatch<DeviceBuffer<T>>) -> Self {
        Arg(Value::Read(pending.into()))
    }
}

impl<T: Element> From<PendingDispatch<DeviceBuffer<T>>> for Arg<'_> {
    fn from(pending: PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.into_output().into()
    }
}

impl<'a, T: Element> From<&'a GpuRef<T>> for Arg<'a> {
    fn from(shared: &'a GpuRef<T>) -> Self {
        Arg(Value::Read(shared.into()))
    }
}

impl<'a, T: Element> From<In<'a, T>> for Arg<'a> {
    fn from(input: In<'a, T>) -> Self {
        Arg(Value::Read(input.into()))
    }
}

impl<T: Element> From<DeviceBuffer<T>> for Arg<'_> {
    fn from(buffer: DeviceBuffer<T>) -> Self {
        Arg(Value::Write(buffer.into(), Written::Some))
    }
}

impl<T: Element> From<T> for Arg<'_> {
    fn from(value: T) -> Self {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(bytemuck::bytes_of(&value)) {
            *to = *from;
        }
        Arg(Value::Scalar(T::DTYPE, bytes))
    }
}

impl<'a, T: Element> From<&'a TensorRef<'_, T>> for Arg<'a> {
    fn from(x: &'a TensorRef<'_, T>) -> Self {
        Arg(of_tensor(Value::Read(window(x.buffer(), x.layout()).into()), x.layout()))
    }
}

impl<'a, T: Element> From<&'a Tensor<T>> for Arg<'a> {
    fn from(x: &'a Tensor<T>) -> Self {
        Arg(of_tensor(Value::Read(window(x.buffer().as_in(), x.layout()).into()), x.layout()))
    }
}

impl<'a, T: Element> From<&'a PendingDispatch<Tensor<T>>> for Arg<'a> {
    fn from(pending: &'a PendingDispatch<Tensor<T>>) -> Self {
        (&**pending).into()
    }
}

impl<T: Element> From<Tensor<T>> for Arg<'_> {
    fn from(x: Tensor<T>) -> Self {
        let (buffer, layout, _) = Part::from(x).operand();
        Arg(of_tensor(Value::Write(buffer.into(), Written::Some), &layout))
    }
}

impl<T: Element> From<PendingDispatch<Tensor<T>>> for Arg<'_> {
    fn from(pending: PendingDispatch<Tensor<T>>) -> Self {
        pending.into_output().into()
    }
}

/// The part of a buffer in which a tensor lies, which is inside of it.
fn window<'a, T: Element>(buffer: In<'a, T>, layout: &Layout) -> In<'a, T> {
    let (first, len) = layout.span();
    buffer.slice(first..first + len).unwrap_or(buffer)
}

fn of_tensor<'a>(value: Value<'a>, layout: &Layout) -> Value<'a> {
    if layout.is_row_major() { value } else { Value::Unfit(Box::new(value), layout.clone()) }
}

impl From<usize> for Arg<'_> {
    fn from(value: usize) -> Self {
        (value as u64).into()
    }
}

impl<S: NoUninit> From<Plain<S>> for Arg<'_> {
    fn from(Plain(value): Plain<S>) -> Self {
        Arg(Value::Plain(SmallVec::from_slice(bytemuck::bytes_of(&value))))
    }
}

impl From<Len> for Arg<'_> {
    fn from(_: Len) -> Self {
        Arg(Value::Len)
    }
}

impl From<DevicePtr> for Arg<'_> {
    fn from(DevicePtr(address): DevicePtr) -> Self {
        Arg(Value::Pointer(address))
    }
}
