//! Tensors from arrays, and back.

use super::Coming;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, ReadableTensor, Tensor};
use crate::libraries::flags::Order;
use ndarray::{ArrayRef, Dimension, IntoDimension, IxDyn};

impl Device {
    /// A tensor with the extents and the elements of an array (or of a view of one) of any dimension. An array whose first
    /// axis is the fastest keeps that order: the tensor is column-major. One whose elements lie in neither order is copied
    /// into a row-major one.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, ndarray::array};
    /// let (device, a) = (Device::host()?, array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// let x = device.tensor_of_array(&a.t())?;
    /// assert_eq!((x.shape(), x.layout().strides()), (&[3, 2][..], &[1, 3][..]));
    /// assert_eq!(device.download_tensor_array::<_, ndarray::Ix2>(&x)?.await_result()?, a.t());
    /// # Ok(()) }
    /// ```
    pub fn tensor_of_array<T: Element, D: Dimension>(&self, array: &ArrayRef<T, D>) -> Result<Tensor<T>> {
        let order = Order::of_array(array).unwrap_or(Order::Row);
        let layout = match order {
            Order::Row => Layout::row_major(array.shape())?,
            Order::Column => Layout::column_major(array.shape())?,
        };
        let buffer = self.upload_array(array, order)?.into_output();
        Ok(Tensor::from(buffer).with_layout(layout)?)
    }

    /// Copies the elements of a view to an array on the host: see [`download`](Self::download). `D` is the dimension:
    /// `Ix2`, or `IxDyn` for any.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the tensor has another number of axes than `D`; else as
    /// [`download`](Self::download).
    pub fn download_tensor_array<'a, T: Element, D: Dimension + 'static>(
        &self,
        x: impl ReadableTensor<'a, T>,
    ) -> Coming<T, D> {
        let x = x.into();
        let dim = D::from_dimension(&IxDyn(x.shape()).into_dimension()).ok_or_else(|| {
            let axes = D::NDIM.map_or("others".to_owned(), |n| n.to_string());
            Error::invalid("x", format!("{:?} has {} axes, but the array {axes}", x.shape(), x.rank()))
        })?;
        if x.layout().is_row_major() {
            return self.download_array(x.operand()?.0, dim, Order::Row);
        }
        if x.layout().is_column_major() {
            return self.download_array(x.operand()?.0, dim, Order::Column);
        }
        let dense = self.contiguous(&x)?.into_output();
        self.download_array(dense.buffer(), dim, Order::Row)
    }
}
