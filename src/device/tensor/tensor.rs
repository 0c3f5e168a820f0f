//! The owner.

use super::layout::IntoLayout;
use super::{IntoShape, Layout, TensorRef};
use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::op::{Immediate, Output};

/// A buffer, and where the elements of a tensor of some rank lie in it: its one owner, which may be written.
///
/// Not `Clone`, as the [`DeviceBuffer`] in it. Views of it ([`TensorRef`]) have other extents and strides, and share its
/// memory: [`slice`](Self::slice), [`reshape`](Self::reshape), [`permute`](Self::permute), [`broadcast`](Self::broadcast)
/// and so on make one without a copy. Operations read views and write tensors, or a [`part`](Self::part) of one: like a
/// buffer, what is written is moved in and comes back from the wait.
///
/// Unless stated otherwise, a new tensor is row-major: the last axis is the fastest, as in NumPy.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::Device;
/// let device = Device::best()?;
/// let x = device.tensor([2, 3], [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let columns = x.transpose();                                   // a view
/// assert_eq!(device.download(&columns)?.await_result()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// let y = device.zeros::<f32>([3, 3])?;
/// let y = device.assign(y.part(|all| all.slice((.., 1..)))?, &columns)?.await_result()?; // y[:, 1:] = x.T
/// assert_eq!(device.show(&y)?.to_string(), "[[0. 1. 4.]\n [0. 2. 5.]\n [0. 3. 6.]]");
/// # Ok(()) }
/// ```
pub struct Tensor<T: Element> {
    buffer: DeviceBuffer<T>,
    layout: Layout,
}

impl<T: Element> Tensor<T> {
    /// Gives a buffer extents; its elements are in row-major order. The buffer must have as many elements.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the numbers of elements differ; for others, [`Layout::row_major`] and
    /// [`with_layout`](Self::with_layout). The buffer comes back.
    pub fn from_buffer(
        buffer: DeviceBuffer<T>,
        extents: impl AsRef<[usize]>,
    ) -> Result<Self, Rejected<DeviceBuffer<T>>> {
        let extents = extents.as_ref();
        let layout = match Layout::row_major(extents) {
            Ok(layout) if layout.len() == buffer.len() => layout,
            Ok(layout) => {
                let what = format!("{extents:?} are {} elements, but the buffer has {}", layout.len(), buffer.len());
                return Err(Rejected::new(Error::invalid("extents", what), buffer));
            }
            Err(error) => return Err(Rejected::new(error, buffer)),
        };
        Ok(Tensor { buffer, layout })
    }

    /// The same buffer with another layout, which may be any that lies inside of it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the layout reaches beyond the buffer; the tensor comes back.
    pub fn with_layout(self, layout: impl IntoLayout) -> Result<Self, Rejected<Self>> {
        let len = self.buffer.len();
        let made = layout.into_layout().and_then(|layout| layout.check_inside("layout", len).map(|()| layout));
        match made {
            Ok(layout) => Ok(Tensor { layout, ..self }),
            Err(error) => Err(Rejected::new(error, self)),
        }
    }

    /// The same elements, in row-major order, with another shape: [`reshape`](Self::reshape) of a tensor that stays one.
    ///
    /// # Errors
    /// As [`Layout::reshape`]; the tensor comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([6], [1, 2, 3, 4, 5, 6])?.into_shape([2, 3])?;
    /// assert_eq!(device.show(&x)?.to_string(), "[[1 2 3]\n [4 5 6]]");
    /// # Ok(()) }
    /// ```
    pub fn into_shape(self, shape: impl IntoShape) -> Result<Self, Rejected<Self>> {
        match self.layout.reshape(shape.axes()) {
            Ok(layout) => Ok(Tensor { layout, ..self }),
            Err(error) => Err(Rejected::new(error, self)),
        }
    }

    /// Without a check: the caller knows that the layout lies inside the buffer.
    pub(crate) fn from_parts(buffer: DeviceBuffer<T>, layout: Layout) -> Self {
        Tensor { buffer, layout }
    }

    pub(crate) fn into_parts(self) -> (DeviceBuffer<T>, Layout) {
        (self.buffer, self.layout)
    }

    /// Where the elements lie in the [`buffer`](Self::buffer).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The buffer; it may have elements that do not belong to the tensor.
    pub fn buffer(&self) -> &DeviceBuffer<T> {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut DeviceBuffer<T> {
        &mut self.buffer
    }

    /// The buffer has grown, or shrunk, to the elements of this layout.
    pub(crate) fn set_layout(&mut self, layout: Layout) {
        self.layout = layout;
    }

    /// The buffer alone, with its elements where they lie.
    pub fn into_buffer(self) -> DeviceBuffer<T> {
        self.buffer
    }

    /// All of it as a view.
    pub fn view(&self) -> TensorRef<'_, T> {
        TensorRef::borrowed(self.buffer.as_in(), self.layout.clone())
    }

    /// Gives up the right to write. Returns a view that can be cloned, and read from any thread;
    /// [`TensorRef::try_unique`] takes the right back.
    pub fn share(self) -> TensorRef<'static, T> {
        TensorRef::shared(self.buffer.share(), self.layout)
    }
}

/// As a tensor.
impl<T: Element> DeviceBuffer<T> {
    /// A tensor with any layout that lies inside of it, to read and to write; [`Tensor::into_buffer`] gives the buffer back.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the layout reaches beyond the buffer, which comes back.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, tensor::Layout};
    /// let device = Device::host()?;
    /// let a = device.zeros::<f64>(12)?.with_layout(Layout::columns(3, 2).ld(4))?;
    /// assert_eq!(a.shape(), [3, 2]);
    /// assert_eq!(a.into_buffer().len(), 12);
    /// # Ok(()) }
    /// ```
    pub fn with_layout(self, layout: impl IntoLayout) -> Result<Tensor<T>, Rejected<Self>> {
        let len = self.len();
        let made = layout.into_layout().and_then(|layout| layout.check_inside("layout", len).map(|()| layout));
        match made {
            Ok(layout) => Ok(Tensor { buffer: self, layout }),
            Err(error) => Err(Rejected::new(error, self)),
        }
    }
}

/// A vector of all elements.
impl<T: Element> From<DeviceBuffer<T>> for Tensor<T> {
    fn from(buffer: DeviceBuffer<T>) -> Self {
        let layout = Layout::vector(buffer.len());
        Tensor { buffer, layout }
    }
}

impl<T: Element> Output for Tensor<T> {
    type Writes = (super::Strided<T>,);
    type Host = ();
    fn join((tensor,): (Self,), (): ()) -> Result<Self> {
        Ok(tensor)
    }
}

impl<T: Element> Immediate for Tensor<T> {
    fn assemble((tensor,): (Self,)) -> Self {
        tensor
    }
}

/// Says type, extents, device and generation. Neither waits nor copies; for the elements see
/// [`Device::show`](crate::Device::show).
impl<T: Element> std::fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor<{}>({:?} in {:?})", T::DTYPE, self.layout, self.buffer)
    }
}
