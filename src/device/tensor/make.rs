//! New tensors, and the value of one element.

use super::layout::Layout;
use super::{IntoShape, ReadableTensor, Tensor};
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::copy::Uploadable;

/// Making tensors.
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

    /// A row-major tensor of zeros.
    ///
    /// Returns a tensor, not a pending: nothing is left to report, and later operations on it are ordered after the zeroing.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a shape that no tensor can have; [`Error::OutOfMemory`] with the bytes that were requested, free
    /// and allowed; the device's own error when it cannot be used.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let (x, y) = (device.zeros::<f32>([2, 3])?, device.zeros::<i64>(4)?);
    /// assert_eq!((x.shape(), y.shape()), (&[2, 3][..], &[4][..]));
    /// # Ok(()) }
    /// ```
    pub fn zeros<T: Element>(&self, shape: impl IntoShape) -> Result<Tensor<T>> {
        let layout = Layout::row_major(shape.axes())?;
        Ok(Tensor::from_parts(self.zeroed(layout.len())?, layout))
    }

    /// A row-major tensor that was never written.
    ///
    /// Checked: the first operation on it must overwrite all of it (an upload, a fill, a product with `beta == 0`). Reading it before
    /// that fails with [`Error::InvalidArgument`].
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    #[doc(alias = "empty")]
    pub fn uninit<T: Element>(&self, shape: impl IntoShape) -> Result<Tensor<T>> {
        let layout = Layout::row_major(shape.axes())?;
        Ok(Tensor::from_parts(self.unwritten(layout.len())?, layout))
    }

    /// A row-major tensor of one value.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
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
        Ok(self.fill(self.uninit(shape)?, value)?.into_output())
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
    /// As [`zeros`](Self::zeros).
    pub fn zeros_like<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>) -> Result<Tensor<T>> {
        self.zeros(x.into().shape())
    }

    /// A tensor that was never written, in the shape and of the type of `x`, row-major; see [`uninit`](Self::uninit).
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "empty_like")]
    pub fn uninit_like<'a, T: Element>(&self, x: impl ReadableTensor<'a, T>) -> Result<Tensor<T>> {
        self.uninit(x.into().shape())
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
