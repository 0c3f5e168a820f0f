//! Views that are read.

use super::Tensor;
use super::layout::{IntoLayout, Layout};
use super::views::views;
use crate::core::buffer::{DeviceBuffer, GpuRef, In, Readable};
use crate::core::element::Element;
use crate::core::error::Result;

/// A view of a tensor, which is read: it borrows a [`Tensor`], or shares the memory of one ([`Tensor::share`]).
///
/// A shared one is `TensorRef<'static, T>`: cloneable, `Send + Sync`, and it needs no owner. Operations take either, by
/// value or by reference, wherever they take a [`ReadableTensor`](crate::tensor::ReadableTensor); a buffer counts as a vector.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Device, TensorRef};
/// let device = Device::host()?;
/// let x: TensorRef<'static, i32> = device.tensor([2, 2], [1, 2, 3, 4])?.share();
/// let diagonal = x.diagonal(0, 0, 1)?;
/// assert_eq!(device.download(&diagonal)?.await_result()?, [1, 4]);
/// drop(diagonal);
/// assert!(x.try_unique().is_ok()); // the last handle: writable again
/// # Ok(()) }
/// ```
pub struct TensorRef<'a, T: Element> {
    handle: Handle<'a, T>,
    layout: Layout,
}

enum Handle<'a, T: Element> {
    Borrowed(In<'a, T>),
    Shared(GpuRef<T>),
}

impl<T: Element> Clone for Handle<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Handle::Borrowed(part) => Handle::Borrowed(*part),
            Handle::Shared(shared) => Handle::Shared(shared.clone()),
        }
    }
}

impl<T: Element> Clone for TensorRef<'_, T> {
    fn clone(&self) -> Self {
        TensorRef { handle: self.handle.clone(), layout: self.layout.clone() }
    }
}

impl<'a, T: Element> TensorRef<'a, T> {
    pub(super) fn borrowed(part: In<'a, T>, layout: Layout) -> Self {
        TensorRef { handle: Handle::Borrowed(part), layout }
    }

    pub(super) fn shared(shared: GpuRef<T>, layout: Layout) -> TensorRef<'static, T> {
        TensorRef { handle: Handle::Shared(shared), layout }
    }

    /// A view of a buffer or of a part of one, with any layout that lies inside of it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the layout reaches beyond the buffer.
    pub fn from_buffer(buffer: impl Readable<'a, T>, layout: Layout) -> Result<Self> {
        let part = buffer.into();
        layout.check_inside("layout", part.len())?;
        Ok(TensorRef::borrowed(part, layout))
    }

    /// As [`from_buffer`](Self::from_buffer), of a shared buffer.
    ///
    /// # Errors
    /// As there.
    pub fn from_shared(buffer: GpuRef<T>, layout: Layout) -> Result<TensorRef<'static, T>> {
        layout.check_inside("layout", buffer.len())?;
        Ok(TensorRef::<'static, T>::shared(buffer, layout))
    }

    /// Where its elements lie in the [`buffer`](Self::buffer).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The buffer; it may have elements that do not belong to the view.
    pub fn buffer(&self) -> In<'_, T> {
        match &self.handle {
            Handle::Borrowed(part) => *part,
            Handle::Shared(shared) => shared.as_in(),
        }
    }

    /// The same memory as elements of another size, with a layout that lies inside of it.
    pub(super) fn of_elements<U: Element>(&self, layout: Layout) -> TensorRef<'a, U> {
        let handle = match &self.handle {
            Handle::Borrowed(part) => Handle::Borrowed(part.of_elements()),
            Handle::Shared(shared) => Handle::Shared(shared.of_elements()),
        };
        TensorRef { handle, layout }
    }

    /// The same view, borrowed from this one.
    pub fn view(&self) -> TensorRef<'_, T> {
        TensorRef::borrowed(self.buffer(), self.layout.clone())
    }

    /// The part of the buffer from the first to the last element.
    pub(crate) fn window(&self) -> Result<In<'_, T>> {
        let (first, len) = self.layout.span();
        self.buffer().slice(first..first + len)
    }

    /// The part of the buffer from the first to the last element, and the layout in that part.
    pub(crate) fn operand(&self) -> Result<(In<'_, T>, Layout)> {
        let (first, len) = self.layout.span();
        Ok((self.buffer().slice(first..first + len)?, self.layout.moved_down(first)))
    }
}

#[cfg(feature = "dlpack")]
impl<T: Element> TensorRef<'static, T> {
    /// One more handle, if it shares.
    pub(crate) fn shared_handle(&self) -> Option<GpuRef<T>> {
        match &self.handle {
            Handle::Shared(shared) => Some(shared.clone()),
            Handle::Borrowed(_) => None,
        }
    }

    /// Counts a handle that nobody has, so that [`try_unique`](Self::try_unique) never makes it writable.
    pub(crate) fn never_unique(self) -> Self {
        self.buffer().region.handles.add_one();
        self
    }
}

impl<T: Element> TensorRef<'static, T> {
    /// Turns the last handle of the memory back into the owner. The tensor has the layout of this view.
    ///
    /// # Errors
    /// Returns the view when it borrows, and while other handles exist.
    pub fn try_unique(self) -> Result<Tensor<T>, Self> {
        let TensorRef { handle, layout } = self;
        let shared = match handle {
            Handle::Shared(shared) => shared,
            handle => return Err(TensorRef { handle, layout }),
        };
        // The owner's window is the full extent of the buffer; the layout counts from the beginning of this handle's.
        let before = shared.window_start();
        match shared.try_unique() {
            Ok(mut buffer) => {
                // No overflow, and inside: the window is a part of the full extent.
                (buffer.len, buffer.offset) = (buffer.len - before, buffer.offset + before);
                Ok(Tensor::from_parts(buffer, layout))
            }
            Err(shared) => Err(TensorRef { handle: Handle::Shared(shared), layout }),
        }
    }
}

impl<'a, T: Element> From<&'a Tensor<T>> for TensorRef<'a, T> {
    fn from(tensor: &'a Tensor<T>) -> Self {
        tensor.view()
    }
}

impl<'a, T: Element> From<&'a TensorRef<'_, T>> for TensorRef<'a, T> {
    fn from(view: &'a TensorRef<'_, T>) -> Self {
        view.view()
    }
}

/// A vector of all elements.
impl<'a, T: Element> From<&'a DeviceBuffer<T>> for TensorRef<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        TensorRef::borrowed(buffer.as_in(), Layout::vector(buffer.len()))
    }
}

/// A vector of all elements.
impl<'a, T: Element> From<In<'a, T>> for TensorRef<'a, T> {
    fn from(part: In<'a, T>) -> Self {
        TensorRef::borrowed(part, Layout::vector(part.len()))
    }
}

/// A vector of all elements.
impl<'a, T: Element> From<&'a GpuRef<T>> for TensorRef<'a, T> {
    fn from(shared: &'a GpuRef<T>) -> Self {
        shared.as_in().into()
    }
}

/// A vector of all elements.
impl<T: Element> From<GpuRef<T>> for TensorRef<'static, T> {
    fn from(shared: GpuRef<T>) -> Self {
        let layout = Layout::vector(shared.len());
        TensorRef::shared(shared, layout)
    }
}

/// As a tensor.
impl<T: Element> DeviceBuffer<T> {
    /// A view of it with any layout that lies inside of it, to read.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the layout reaches beyond the buffer.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, tensor::Layout};
    /// let device = Device::host()?;
    /// let x = device.buffer([1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(device.to_vec(x.view(Layout::columns(2, 3))?)?, [1, 3, 5, 2, 4, 6]);
    /// # Ok(()) }
    /// ```
    pub fn view(&self, layout: impl IntoLayout) -> Result<TensorRef<'_, T>> {
        TensorRef::from_buffer(self, layout.into_layout()?)
    }
}

/// As a tensor.
impl<'a, T: Element> In<'a, T> {
    /// As [`DeviceBuffer::view`], of a part.
    ///
    /// # Errors
    /// As there.
    pub fn view(self, layout: impl IntoLayout) -> Result<TensorRef<'a, T>> {
        TensorRef::from_buffer(self, layout.into_layout()?)
    }
}

/// As a tensor.
impl<T: Element> GpuRef<T> {
    /// As [`DeviceBuffer::view`].
    ///
    /// # Errors
    /// As there.
    pub fn view(&self, layout: impl IntoLayout) -> Result<TensorRef<'_, T>> {
        TensorRef::from_buffer(self, layout.into_layout()?)
    }
}

/// Says type, extents, device and generation. Neither waits nor copies; for the elements see
/// [`Device::show`](crate::Device::show).
impl<T: Element> std::fmt::Debug for TensorRef<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let epoch = &self.buffer().region.epoch;
        write!(f, "TensorRef<{}>({:?} on {}, generation {})", T::DTYPE, self.layout, epoch.label, epoch.generation)
    }
}

impl<T: Element> Tensor<T> {
    fn view_of(&self, layout: Layout) -> TensorRef<'_, T> {
        TensorRef::borrowed(self.buffer().as_in(), layout)
    }

    /// The device generation in which its memory was made.
    pub fn generation(&self) -> u64 {
        self.buffer().as_in().region.epoch.generation
    }

    views!(TensorRef<'_, T>);
}

impl<T: Element> TensorRef<'_, T> {
    fn view_of(&self, layout: Layout) -> Self {
        TensorRef { handle: self.handle.clone(), layout }
    }

    /// The device generation in which its memory was made.
    pub fn generation(&self) -> u64 {
        self.buffer().region.epoch.generation
    }

    views!(Self);
}
