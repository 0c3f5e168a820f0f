//! What an operation writes of a tensor.

use super::tensor::check_inside;
use super::{Layout, Tensor};
use crate::error::Rejected;
use crate::{Element, Result};

/// A tensor that is moved into an operation which writes a part of it, or all: a [`Tensor`] converts to it. The whole
/// tensor comes back.
#[derive(Debug)]
pub struct Part<T: Element> {
    pub(super) tensor: Tensor<T>,
    pub(super) layout: Layout,
}

impl<T: Element> Tensor<T> {
    /// The part of it that an operation shall write: any layout made of its own.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.zeros_tensor::<i32>([3, 3])?;
    /// let x = device.fill_part(x.part(|all| all.diagonal(0, 0, 1))?, 1)?.await_result()?;
    /// assert_eq!(device.show(&x)?.to_string(), "[[1 0 0]\n [0 1 0]\n [0 0 1]]");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// That of `part`; [`Error::InvalidArgument`](crate::Error::InvalidArgument) when its layout reaches beyond the buffer.
    /// The tensor comes back.
    pub fn part(self, part: impl FnOnce(&Layout) -> Result<Layout>) -> Result<Part<T>, Rejected<Self>> {
        let made = part(self.layout()).and_then(|layout| {
            check_inside(&layout, self.buffer().len())?;
            Ok(layout)
        });
        match made {
            Ok(layout) => Ok(Part { tensor: self, layout }),
            Err(error) => Err(Rejected::new(error, self)),
        }
    }
}

impl<T: Element> Part<T> {
    /// Where the part lies in the buffer.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The tensor.
    pub fn into_tensor(self) -> Tensor<T> {
        self.tensor
    }
}

impl<T: Element> From<Tensor<T>> for Part<T> {
    fn from(tensor: Tensor<T>) -> Self {
        let layout = tensor.layout().clone();
        Part { tensor, layout }
    }
}
