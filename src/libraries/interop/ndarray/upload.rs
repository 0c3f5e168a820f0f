//! Tensors of arrays.

use super::first_is_fastest;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::Device;
use crate::device::copy::HostData;
use crate::device::tensor::literal::{Nested, sealed};
use crate::device::tensor::{Layout, Tensor};
use ndarray::{ArrayBase, ArrayRef, ArrayView, Data, Dimension, RawData};

/// An array whose first axis is the fastest keeps that order: the tensor is column-major. One whose elements lie in neither order is
/// copied into a row-major one by the calling thread.
fn tensor<T: Element, D: Dimension>(device: &Device, array: &ArrayRef<T, D>) -> Result<Tensor<T>> {
    let turned = array.view().reversed_axes();
    let (layout, elements) = match first_is_fastest(array) {
        Some(true) => (Layout::column_major(array.shape())?, turned.to_slice()),
        _ => (Layout::row_major(array.shape())?, array.as_slice()),
    };
    let elements = elements.map_or_else(|| HostData::Owned(array.iter().copied().collect()), HostData::Borrowed);
    Ok(Tensor::from_parts(device.upload(elements)?.into_output(), layout))
}

impl<T, S: RawData<Elem = T>, D> sealed::Nested for &ArrayBase<S, D> {}
impl<T: Element, S: Data<Elem = T>, D: Dimension> Nested for &ArrayBase<S, D> {
    type Element = T;
    fn tensor_on(self, device: &Device) -> Result<Tensor<T>> {
        tensor(device, self)
    }
}

impl<T, D> sealed::Nested for &ArrayRef<T, D> {}
impl<T: Element, D: Dimension> Nested for &ArrayRef<T, D> {
    type Element = T;
    fn tensor_on(self, device: &Device) -> Result<Tensor<T>> {
        tensor(device, self)
    }
}

impl<T, D> sealed::Nested for ArrayView<'_, T, D> {}
impl<T: Element, D: Dimension> Nested for ArrayView<'_, T, D> {
    type Element = T;
    fn tensor_on(self, device: &Device) -> Result<Tensor<T>> {
        tensor(device, &self)
    }
}
