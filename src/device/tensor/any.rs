//! Tensors whose element type is known only when the program runs: those of files, of graphs, of other programs.

use super::views::views;
use super::{Layout, Tensor, TensorRef};
use crate::core::buffer::{AnyBuffer, AnyIn, DeviceBuffer, GpuRef, In};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected, Result};

/// A [`Tensor`] whose element type is known only when the program runs. It owns its memory and is not `Clone` either.
///
/// Its views are those of a tensor. Calls that take it have names that end in `_any`; [`downcast`](Self::downcast) makes the
/// typed tensor for all others.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{DType, Device, tensor::AnyTensor};
/// let device = Device::host()?;
/// let x: AnyTensor = device.tensor([2, 2], [1.5f32, 2.5, 3.5, 4.5])?.into();
/// assert_eq!((x.dtype(), x.shape()), (DType::F32, &[2, 2][..]));
/// assert_eq!(device.show_any(x.transpose())?.to_string(), "[[1.5 3.5]\n [2.5 4.5]]");
/// let x = x.downcast::<i32>().unwrap_err(); // it comes back
/// assert_eq!(device.item(&x.downcast::<f32>().unwrap().slice((0, 1))?)?, 2.5);
/// # Ok(()) }
/// ```
pub struct AnyTensor {
    buffer: AnyBuffer,
    layout: Layout,
}

impl AnyTensor {
    /// A tensor of a buffer, with any layout that lies inside of it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the layout reaches beyond the buffer, which comes back.
    pub fn from_buffer(buffer: impl Into<AnyBuffer>, layout: Layout) -> Result<Self, Rejected<AnyBuffer>> {
        let buffer = buffer.into();
        match layout.check_inside("layout", buffer.len()) {
            Ok(()) => Ok(AnyTensor { buffer, layout }),
            Err(error) => Err(Rejected::new(error, buffer)),
        }
    }

    /// The buffer, and where the elements lie in it.
    pub fn into_parts(self) -> (AnyBuffer, Layout) {
        (self.buffer, self.layout)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.buffer.dtype()
    }

    /// Where the elements lie in the [`buffer`](Self::buffer).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The buffer; it may have elements that do not belong to the tensor.
    pub fn buffer(&self) -> &AnyBuffer {
        &self.buffer
    }

    /// All of it as a view.
    pub fn view(&self) -> AnyTensorRef<'_> {
        self.view_of(self.layout.clone())
    }

    /// Converts it to a typed tensor.
    ///
    /// # Errors
    /// Returns the tensor when the element type is not `T`.
    pub fn downcast<T: Element>(self) -> Result<Tensor<T>, Self> {
        let AnyTensor { buffer, layout } = self;
        match buffer.downcast() {
            Ok(buffer) => Ok(Tensor::from_parts(buffer, layout)),
            Err(buffer) => Err(AnyTensor { buffer, layout }),
        }
    }

    /// The same bytes as elements of another type of the same size.
    pub(super) fn named(self, dtype: DType) -> Self {
        AnyTensor { buffer: self.buffer.named(dtype), layout: self.layout }
    }

    /// The device generation in which its memory was made.
    pub fn generation(&self) -> u64 {
        self.buffer.generation()
    }

    fn view_of(&self, layout: Layout) -> AnyTensorRef<'_> {
        AnyTensorRef { part: self.buffer.as_in(), layout }
    }

    views!(AnyTensorRef<'_>);
}

impl<T: Element> From<Tensor<T>> for AnyTensor {
    fn from(tensor: Tensor<T>) -> Self {
        let (buffer, layout) = tensor.into_parts();
        AnyTensor { buffer: buffer.into(), layout }
    }
}

impl From<AnyTensor> for Error {
    /// The error for a tensor of another type than was asked for, so that `?` behind [`downcast`](AnyTensor::downcast) says the type.
    fn from(tensor: AnyTensor) -> Self {
        let reason =
            format!("its elements are {}, but another type was asked for: `cast_any` converts", tensor.dtype());
        Error::invalid("tensor", reason)
    }
}

/// Says type, extents, device and generation. Neither waits nor copies; for the elements see
/// [`Device::show_any`](crate::Device::show_any).
impl std::fmt::Debug for AnyTensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AnyTensor<{}>({:?} in {:?})", self.dtype(), self.layout, self.buffer)
    }
}

/// A [`TensorRef`] whose element type is known only when the program runs. It borrows an [`AnyTensor`], a tensor or a view.
#[derive(Clone)]
pub struct AnyTensorRef<'a> {
    part: AnyIn<'a>,
    layout: Layout,
}

impl<'a> AnyTensorRef<'a> {
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.part.dtype()
    }

    /// Where its elements lie in the [`buffer`](Self::buffer).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The buffer; it may have elements that do not belong to the view.
    pub fn buffer(&self) -> AnyIn<'a> {
        self.part
    }

    /// The typed view; `None` when the element type is not `T`.
    pub fn downcast<T: Element>(&self) -> Option<TensorRef<'a, T>> {
        Some(TensorRef::borrowed(self.part.downcast()?, self.layout.clone()))
    }

    /// As elements of another type of the same size; `None` if the sizes differ.
    pub(super) fn reinterpreted<T: Element>(&self) -> Option<TensorRef<'a, T>> {
        Some(TensorRef::borrowed(self.part.reinterpreted()?, self.layout.clone()))
    }

    /// The part of the buffer from the first to the last element.
    #[allow(dead_code, reason = "for a library that keeps the layouts")]
    pub(crate) fn part(&self) -> Result<AnyIn<'a>> {
        let (first, len) = self.layout.span();
        self.part.slice(first..first + len)
    }

    /// The view that an operand of a call is.
    pub(crate) fn of(part: AnyIn<'a>, layout: Layout) -> Self {
        AnyTensorRef { part, layout }
    }

    /// The part of the buffer from the first to the last element, and the layout in that part.
    pub(crate) fn operand(&self) -> Result<(AnyIn<'a>, Layout)> {
        let (first, len) = self.layout.span();
        Ok((self.part.slice(first..first + len)?, self.layout.moved_down(first)))
    }

    fn view_of(&self, layout: Layout) -> Self {
        AnyTensorRef { part: self.part, layout }
    }

    views!(Self);
}

impl std::fmt::Debug for AnyTensorRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AnyTensorRef<{}>({:?} of {:?})", self.dtype(), self.layout, self.part)
    }
}

impl<'a> From<&'a AnyTensor> for AnyTensorRef<'a> {
    fn from(tensor: &'a AnyTensor) -> Self {
        tensor.view()
    }
}

impl<'a> From<&AnyTensorRef<'a>> for AnyTensorRef<'a> {
    fn from(view: &AnyTensorRef<'a>) -> Self {
        view.clone()
    }
}

impl<'a, T: Element> From<&'a Tensor<T>> for AnyTensorRef<'a> {
    fn from(tensor: &'a Tensor<T>) -> Self {
        AnyTensorRef { part: tensor.buffer().into(), layout: tensor.layout().clone() }
    }
}

/// All of it, as a vector.
impl<'a> From<AnyIn<'a>> for AnyTensorRef<'a> {
    fn from(part: AnyIn<'a>) -> Self {
        AnyTensorRef { part, layout: Layout::vector(part.len()) }
    }
}

macro_rules! vectors { ($($t:ty),*) => { $(
    /// All of it, as a vector.
    impl<'a, T: Element> From<$t> for AnyTensorRef<'a> {
        fn from(buffer: $t) -> Self {
            AnyIn::from(buffer).into()
        }
    }
)* } }
vectors!(&'a DeviceBuffer<T>, &'a GpuRef<T>, In<'a, T>);

impl<'a, T: Element> From<&'a PendingDispatch<DeviceBuffer<T>>> for AnyTensorRef<'a> {
    fn from(pending: &'a PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.as_in().into()
    }
}

impl<'a, T: Element> From<&'a TensorRef<'_, T>> for AnyTensorRef<'a> {
    fn from(view: &'a TensorRef<'_, T>) -> Self {
        AnyTensorRef { part: view.buffer().into(), layout: view.layout().clone() }
    }
}
