//! Results whose number of elements the device finds.

use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::Device;
use crate::device::tensor::{Layout, Tensor};

/// A result in flight whose number of elements is not known yet: it lies in memory for the largest one.
///
/// Dropping it does nothing else: the work goes on.
#[must_use = "the result comes from `await_result`"]
pub struct Found<R> {
    pub(super) device: Device,
    pub(super) parts: R,
    /// How many elements there are.
    pub(super) count: Tensor<i64>,
    /// The axis that has as many.
    pub(super) axis: isize,
    pub(super) narrow: fn(R, isize, usize) -> Result<R>,
}

impl<R> Found<R> {
    /// Waits for the number of elements, and gives the tensors, of as many.
    ///
    /// # Errors
    /// What the wait for the number returns.
    pub fn await_result(self) -> Result<R> {
        let count = self.device.item(&self.count)?;
        (self.narrow)(self.parts, self.axis, usize::try_from(count).unwrap_or(0))
    }

    /// The number of elements, on the device.
    pub fn count(&self) -> &Tensor<i64> {
        &self.count
    }
}

impl<R> std::fmt::Debug for Found<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Found(count {:?})", self.count)
    }
}

/// The first `count` of a tensor along an axis, in the same memory.
pub(in crate::libraries::arrays) fn first<T: Element>(x: Tensor<T>, axis: isize, count: usize) -> Result<Tensor<T>> {
    let (front, _) = x.layout().split(axis, count)?;
    x.with_layout(front).map_err(Rejected::into_error)
}

/// The same elements with other extents.
pub(super) fn reshaped<T: Element>(x: Tensor<T>, extents: &[usize]) -> Result<Tensor<T>> {
    let layout = Layout::row_major(extents)?;
    if layout.len() != x.len() || !x.layout().is_row_major() {
        return Err(Error::library("internal error: other extents of another number of elements"));
    }
    x.with_layout(layout).map_err(Rejected::into_error)
}

/// All elements in row-major order, as a vector.
pub(in crate::libraries::arrays) fn vector<'a, T: Element>(
    device: &Device,
    x: impl crate::device::tensor::ReadableTensor<'a, T>,
) -> Result<Tensor<T>> {
    let x = x.into();
    let len = x.len();
    reshaped(device.contiguous(&x)?.into_output(), &[len])
}

/// The same, in the memory of the operand where that lies in order.
pub(in crate::libraries::arrays) fn flat<'a, T: Element>(
    device: &Device,
    x: &crate::device::tensor::TensorRef<'a, T>,
) -> Result<crate::device::tensor::TensorRef<'a, T>> {
    match x.reshape([x.len()]) {
        Ok(flat) => Ok(flat),
        Err(_) => Ok(vector(device, x)?.share()),
    }
}
