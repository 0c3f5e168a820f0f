//! Uploads of arrays.

use super::elements;
use crate::core::buffer::DeviceBuffer;
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Result};
use crate::device::Device;
use crate::device::copy::HostData;
use crate::libraries::flags::Order;
use ndarray::{ArrayRef, Dimension};

impl<'a, T: Element> HostData<'a, T> {
    /// The elements of an array (or of a view of one), in this order. Borrowed if they lie in it without gaps; else
    /// copied into it by the calling thread. Steps, reversed axes and broadcasts are supported.
    pub fn from_array<D: Dimension>(array: &'a ArrayRef<T, D>, order: Order) -> Self {
        match (elements(array, order), order) {
            (Some(elements), _) => HostData::Borrowed(elements),
            (None, Order::Row) => HostData::Owned(array.iter().copied().collect()),
            (None, Order::Column) => HostData::Owned(array.view().reversed_axes().iter().copied().collect()),
        }
    }

    /// The elements of an array (or of a view of one), which must lie in this order without gaps: never a copy.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], with the array's shape and strides, when they do not.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, HostData, Order, ndarray::array};
    /// let (device, a) = (Device::host()?, array![[1.0f32, 2.0], [3.0, 4.0]]);
    /// let data = HostData::borrow_array(&a, Order::Row)?;
    /// let buffer = device.upload_into(data, device.uninit(4)?)?.into_output();
    /// assert_eq!(device.download(&buffer)?.await_result()?, [1.0, 2.0, 3.0, 4.0]);
    /// assert!(HostData::borrow_array(&a, Order::Column).is_err());
    /// # Ok(()) }
    /// ```
    pub fn borrow_array<D: Dimension>(array: &'a ArrayRef<T, D>, order: Order) -> Result<Self> {
        elements(array, order).map(HostData::Borrowed).ok_or_else(|| {
            let lines = match order {
                Order::Row => "row after row (the last axis fastest)",
                Order::Column => "column after column (the first axis fastest)",
            };
            let (shape, strides) = (array.shape(), array.strides());
            Error::invalid("array", format!("a shape of {shape:?} with strides of {strides:?} is not stored {lines}"))
        })
    }
}

impl Device {
    /// Copies an array (or a view of one) of any dimension into a new buffer, its elements in this order: `Order::Row`
    /// for the row-major helpers ([`Gemm::row_major`](crate::Gemm::row_major)), `Order::Column` for everything else.
    ///
    /// An array in that order is copied once, as a slice is by [`upload`](Self::upload); any other is rearranged first,
    /// by the calling thread. [`HostData::borrow_array`] refuses such an array instead. The array may be changed as
    /// soon as this returns.
    ///
    /// A batch is an array whose first axis counts matrices. In `Order::Row` they lie one after the other, as row-major
    /// specifications expect them with `.batch(count)`. If they must be column-major, swap the other two axes first:
    /// `Order::Column` would put the first elements of all matrices side by side.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, Order, blas::LuBatch, ndarray::array};
    /// let (device, a) = (Device::host()?, array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// let buffer = device.upload_array(&a, Order::Column)?.into_output();
    /// assert_eq!(device.download(&buffer)?.await_result()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    ///
    /// let batch = array![[[4.0, 2.0], [2.0, 3.0]], [[5.0, 1.0], [5.0, 2.0]]];
    /// let a = device.upload_array(&batch.view().permuted_axes([0, 2, 1]), Order::Row)?.into_output();
    /// let (lu, pivots, info) = (LuBatch::new(2).batch(2), device.uninit(4)?, device.uninit(2)?);
    /// let (a, _, _) = device.blas().getrf_strided_batched(lu, a, pivots, info)?.await_result()?;
    /// let factors = device.download_array(&a, (2, 2, 2), Order::Row)?.await_result()?.permuted_axes([0, 2, 1]);
    /// assert_eq!(factors, array![[[4.0, 2.0], [0.5, 2.0]], [[5.0, 1.0], [1.0, 1.0]]]);
    /// # Ok(()) }
    /// ```
    pub fn upload_array<T: Element, D: Dimension>(
        &self,
        array: &ArrayRef<T, D>,
        order: Order,
    ) -> Result<PendingDispatch<DeviceBuffer<T>>> {
        self.upload(HostData::from_array(array, order))
    }
}
