//! A buffer that is still computed, as an operand: what reads it follows on the device.

use super::PendingDispatch;
use crate::core::buffer::readable::sealed;
use crate::core::buffer::{AnyIn, DeviceBuffer, GpuRef, In, Readable, ReadableAny, Shareable};
use crate::core::element::Element;
use crate::core::error::{Rejected, Result};
use std::ops::{Deref, RangeBounds};

/// What reads the buffer follows this work on the device; if the work fails, it fails with
/// [`Error::Upstream`](crate::Error::Upstream). Of a call with a verdict there is no buffer before the wait.
impl<T: Element> Deref for PendingDispatch<DeviceBuffer<T>> {
    type Target = DeviceBuffer<T>;
    fn deref(&self) -> &DeviceBuffer<T> {
        &self.buffers().0
    }
}

/// What takes the buffer by value does not wait either.
impl<T: Element> PendingDispatch<DeviceBuffer<T>> {
    /// As [`DeviceBuffer::share`].
    pub fn share(self) -> GpuRef<T> {
        self.into_output().share()
    }

    /// As [`DeviceBuffer::narrow`].
    ///
    /// # Errors
    /// As there.
    pub fn narrow(self, range: impl RangeBounds<usize>) -> Result<DeviceBuffer<T>, Rejected<DeviceBuffer<T>>> {
        self.into_output().narrow(range)
    }
}

impl<'a, T: Element> From<&'a PendingDispatch<DeviceBuffer<T>>> for In<'a, T> {
    fn from(pending: &'a PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.as_in()
    }
}

impl<'a, T: Element> From<&'a PendingDispatch<DeviceBuffer<T>>> for AnyIn<'a> {
    fn from(pending: &'a PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.as_in().into()
    }
}

/// As [`PendingDispatch::into_output`].
impl<T: Element> From<PendingDispatch<DeviceBuffer<T>>> for DeviceBuffer<T> {
    fn from(pending: PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.into_output()
    }
}

impl<T: Element> From<PendingDispatch<DeviceBuffer<T>>> for GpuRef<T> {
    fn from(pending: PendingDispatch<DeviceBuffer<T>>) -> Self {
        pending.share()
    }
}

impl<'a, T: Element> sealed::Readable<'a, T> for &'a PendingDispatch<DeviceBuffer<T>> {}
impl<'a, T: Element> Readable<'a, T> for &'a PendingDispatch<DeviceBuffer<T>> {}
impl<'a, T: Element> sealed::ReadableAny<'a> for &'a PendingDispatch<DeviceBuffer<T>> {}
impl<'a, T: Element> ReadableAny<'a> for &'a PendingDispatch<DeviceBuffer<T>> {}
impl<T: Element> sealed::Shareable<T> for PendingDispatch<DeviceBuffer<T>> {}
impl<T: Element> Shareable<T> for PendingDispatch<DeviceBuffer<T>> {}
