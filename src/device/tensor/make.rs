//! New tensors, and the value of one element.

use super::layout::Layout;
use super::{IntoShape, ReadableTensor, Tensor};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::copy::Uploadable;

impl Device {
    /// A tensor of these elements, in row-major order: the last axis is the fastest. Uploads them, as
    /// [`upload`](Self::upload); operations on the tensor are ordered after that.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there are more or fewer elements than the extents say; else as
    /// [`upload`](Self::upload).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 3], vec![1.0f64; 6])?;
    /// assert_eq!((x.shape(), x.rank(), x.len()), (&[2, 3][..], 2, 6));
    /// assert!(device.tensor([2, 3], vec![1.0f64; 5]).is_err());
    /// # Ok(()) }
    /// ```
    pub fn tensor<'a, T: Element>(&self, shape: impl IntoShape, elements: impl Uploadable<'a, T>) -> Result<Tensor<T>> {
        let (layout, elements) = (Layout::row_major(shape.axes())?, elements.into());
        let given = elements.as_slice().len();
        if given != layout.len() {
            let what = format!("{given} elements, but {:?} are {}", layout.shape(), layout.len());
            return Err(Error::invalid("elements", what));
        }
        let buffer = self.upload(elements)?.into_output();
        Ok(Tensor::from_parts(buffer, layout))
    }

    /// A row-major tensor of zeros; see [`zeros`](Self::zeros).
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros); [`Error::InvalidArgument`] for extents that no tensor can have.
    pub fn zeros_tensor<T: Element>(&self, shape: impl IntoShape) -> Result<Tensor<T>> {
        let layout = Layout::row_major(shape.axes())?;
        Ok(Tensor::from_parts(self.zeros(layout.len())?, layout))
    }

    /// A row-major tensor that was never written: the first operation on it must overwrite all of it. See
    /// [`uninit`](Self::uninit).
    ///
    /// # Errors
    /// As [`zeros_tensor`](Self::zeros_tensor).
    pub fn uninit_tensor<T: Element>(&self, shape: impl IntoShape) -> Result<Tensor<T>> {
        let layout = Layout::row_major(shape.axes())?;
        Ok(Tensor::from_parts(self.uninit(layout.len())?, layout))
    }

    /// A row-major tensor of one value.
    ///
    /// # Errors
    /// As [`zeros_tensor`](Self::zeros_tensor).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.full([2, 2], 0.5)?;
    /// let y = device.full_like(&x, 1)?; // of its shape, and of another type
    /// assert_eq!((device.to_vec(&x)?, device.to_vec(&y)?), (vec![0.5; 4], vec![1; 4]));
    /// # Ok(()) }
    /// ```
    #[doc(alias = "ones")]
    pub fn full<T: Element>(&self, shape: impl IntoShape, value: T) -> Result<Tensor<T>> {
        Ok(self.fill_part(self.uninit_tensor(shape)?, value)?.into_output())
    }

    /// As [`full`](Self::full), with the shape of `x`.
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "ones_like")]
    pub fn full_like<'a, U: Element, T: Element>(&self, x: impl ReadableTensor<'a, U>, value: T) -> Result<Tensor<T>> {
        self.full(x.into().shape(), value)
    }

    /// Zeros in the shape and of the type of `x`, row-major.
    ///
    /// # Errors
    /// As [`zeros_tensor`](Self::zeros_tensor).
    pub fn zeros_like<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>) -> Result<Tensor<T>> {
        self.zeros_tensor(x.into().shape())
    }

    /// A tensor that was never written, in the shape and of the type of `x`, row-major; see [`uninit_tensor`](Self::uninit_tensor).
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "empty_like")]
    pub fn uninit_like<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>) -> Result<Tensor<T>> {
        self.uninit_tensor(x.into().shape())
    }

    /// The value of a tensor of one element, of any rank: waits for it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is not exactly one element; else as [`download`](Self::download), and the
    /// failure of what makes it.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor([2, 2], [1, 2, 3, 4])?;
    /// assert_eq!(device.item(x.slice((1, 0))?)?, 3);
    /// # Ok(()) }
    /// ```
    pub fn item<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>) -> Result<T> {
        let x = x.into();
        let several = || Error::invalid("x", format!("{:?} are {} elements, not one", x.shape(), x.len()));
        if x.len() != 1 {
            return Err(several());
        }
        self.download(&x)?.await_result()?.first().copied().ok_or_else(several)
    }
}
