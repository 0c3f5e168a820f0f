//! What an operation writes of a tensor.

use super::{Layout, Tensor};
use crate::core::buffer::DeviceBuffer;
use crate::core::element::Element;
use crate::core::error::{Rejected, Result};
use crate::device::dispatch::Submitted;
use std::convert::Infallible;

/// A tensor that is moved into an operation which writes a part of it, or all: a [`Tensor`] converts to it. The whole
/// tensor comes back.
#[derive(Debug)]
pub struct Part<T: Element> {
    pub(super) tensor: Tensor<T>,
    /// `None` for the tensor's own.
    layout: Option<Layout>,
}

impl<T: Element> Tensor<T> {
    /// The part of it that an operation shall write: any layout made of its own.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.zeros::<i32>([3, 3])?;
    /// let x = device.fill(x.part(|all| all.diagonal(0, 0, 1))?, 1)?.await_result()?;
    /// assert_eq!(device.show(&x)?.to_string(), "[[1 0 0]\n [0 1 0]\n [0 0 1]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// That of `part`; [`Error::InvalidArgument`](crate::Error::InvalidArgument) when its layout reaches beyond the buffer.
    /// The tensor comes back.
    pub fn part(self, part: impl FnOnce(&Layout) -> Result<Layout>) -> Result<Part<T>, Rejected<Self>> {
        let made = part(self.layout()).and_then(|layout| {
            layout.check_inside("layout", self.buffer().len())?;
            Ok(layout)
        });
        match made {
            Ok(layout) => Ok(Part { tensor: self, layout: Some(layout) }),
            Err(error) => Err(Rejected::new(error, self)),
        }
    }
}

impl<T: Element> Part<T> {
    /// Where the part lies in the buffer.
    pub fn layout(&self) -> &Layout {
        self.layout.as_ref().unwrap_or(self.tensor.layout())
    }

    /// All of the tensor.
    #[allow(dead_code, reason = "for a GPU")]
    pub(crate) fn whole(&self) -> &Tensor<T> {
        &self.tensor
    }

    /// The tensor.
    pub fn into_tensor(self) -> Tensor<T> {
        self.tensor
    }
}

/// A tensor without its buffer, of which an operation has a window.
#[doc(hidden)]
pub struct Whole {
    window: (usize, usize),
    layout: Layout,
}

impl<T: Element> Part<T> {
    /// The window of the buffer from the first to the last element of the part, the layout in that window, and what makes the
    /// tensor again of the buffer.
    pub(crate) fn operand(self) -> (DeviceBuffer<T>, Layout, Whole) {
        let layout = self.layout().moved_down(self.layout().span().0);
        let (buffer, whole) = self.window();
        (buffer, layout, whole)
    }

    /// As [`operand`](Self::operand), without the layout.
    pub(crate) fn window(self) -> (DeviceBuffer<T>, Whole) {
        let (first, len) = self.layout().span();
        let (mut buffer, layout) = self.tensor.into_parts();
        let window = (buffer.offset, buffer.len);
        (buffer.offset, buffer.len) = (buffer.offset + first, len);
        (buffer, Whole { window, layout })
    }

    /// Submits an operation that writes the part, or returns the tensor with the error of its operands.
    #[allow(dead_code, reason = "a build may have no library that calls it")]
    pub(crate) fn submit<R, V>(
        self,
        (op, library): (&'static str, &'static str),
        operands: Result<R>,
        submit: impl FnOnce(R, DeviceBuffer<T>) -> Submitted<DeviceBuffer<T>, V>,
    ) -> Submitted<Tensor<T>, V> {
        match operands {
            Ok(operands) => {
                let (buffer, whole) = self.window();
                whole.submitted(submit(operands, buffer))
            }
            Err(error) => Err(Rejected::new(error.in_op(op, library), (self.tensor,))),
        }
    }

    /// As [`submit`](Self::submit), of an operation that writes a list.
    #[allow(dead_code, reason = "a build may have no library that calls it")]
    pub(crate) fn submit_list<R, V>(
        parts: Vec<Self>,
        (op, library): (&'static str, &'static str),
        operands: Result<R>,
        submit: impl FnOnce(R, Vec<DeviceBuffer<T>>) -> Submitted<Vec<DeviceBuffer<T>>, V>,
    ) -> Submitted<Vec<Tensor<T>>, V> {
        let operands = match operands {
            Ok(operands) => operands,
            Err(error) => {
                let tensors = parts.into_iter().map(Part::into_tensor).collect();
                return Err(Rejected::new(error.in_op(op, library), (tensors,)));
            }
        };
        let (buffers, wholes): (_, Vec<Whole>) = parts.into_iter().map(Part::window).unzip();
        let tensors = |(buffers,): (Vec<DeviceBuffer<T>>,)| {
            (wholes.into_iter().zip(buffers).map(|(whole, buffer)| whole.tensor(buffer)).collect(),)
        };
        match submit(operands, buffers) {
            Ok(pending) => Ok(pending
                .retype(|buffers| Ok::<_, Infallible>(tensors(buffers)))
                .unwrap_or_else(|never| match never {})),
            Err(rejected) => Err(rejected.map(tensors)),
        }
    }
}

impl Whole {
    pub(crate) fn tensor<T: Element>(self, mut buffer: DeviceBuffer<T>) -> Tensor<T> {
        (buffer.offset, buffer.len) = self.window;
        Tensor::from_parts(buffer, self.layout)
    }

    /// A submission that writes the window, as one that writes the tensor.
    pub(crate) fn submitted<T: Element, V>(self, submitted: Submitted<DeviceBuffer<T>, V>) -> Submitted<Tensor<T>, V> {
        match submitted {
            Ok(pending) => Ok(pending
                .retype(|(buffer,)| Ok::<_, Infallible>((self.tensor(buffer),)))
                .unwrap_or_else(|never| match never {})),
            Err(rejected) => Err(rejected.map(|(buffer,)| (self.tensor(buffer),))),
        }
    }
}

impl<T: Element> From<Tensor<T>> for Part<T> {
    fn from(tensor: Tensor<T>) -> Self {
        Part { tensor, layout: None }
    }
}

/// All of it, as a vector.
impl<T: Element> From<DeviceBuffer<T>> for Part<T> {
    fn from(buffer: DeviceBuffer<T>) -> Self {
        Tensor::from(buffer).into()
    }
}
