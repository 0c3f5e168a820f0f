//! The cloneable read handle.

use super::allocation::Allocation;
use super::init_state::InitState;
use super::operand::{narrow, resized};
use super::{DeviceBuffer, In, Region};
use crate::core::element::Element;
use crate::core::epoch::Epoch;
use crate::core::error::Result;
use crate::core::order::AccessHistory;
use crate::core::sync::Arc;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::RangeBounds;

/// A read handle of device memory: cloneable, `Send + Sync + 'static`, made by [`DeviceBuffer::share`].
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// let device = windlass::Device::host()?;
/// let x = device.upload(vec![1.0f64, 2.0, 3.0])?.into_output().share();
/// let y = x.slice(1..3)?;
/// assert_eq!(device.download(&y)?.await_result()?, [2.0, 3.0]);
/// drop(y);
/// assert!(x.try_unique().is_ok()); // the last handle: writable again
/// # Ok(()) }
/// ```
pub struct GpuRef<T: Element> {
    region: Arc<Region>,
    offset: usize,
    len: usize,
    _type: PhantomData<T>,
}

impl<T: Element> GpuRef<T> {
    pub(crate) fn new(region: Arc<Region>, offset: usize, len: usize) -> Self {
        GpuRef { region, offset, len, _type: PhantomData }
    }

    /// The number of elements in the window.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device generation in which it was made.
    pub fn generation(&self) -> u64 {
        self.region.epoch.generation
    }

    /// Where its window begins, in elements from the beginning of the full extent.
    pub(crate) fn window_start(&self) -> usize {
        self.offset - self.region.window.start / size_of::<T>()
    }

    /// The epoch that it belongs to.
    pub(crate) fn epoch(&self) -> &Arc<Epoch> {
        &self.region.epoch
    }

    /// A substitute for a handle of an epoch that has ended: same length, same generation, but it holds no memory. Any
    /// use of either is refused.
    pub(crate) fn of_the_past(&self) -> Self {
        let nothing = Arc::new(Allocation::nothing());
        let window = self.region.window.clone();
        let region =
            Region::new(nothing, self.region.epoch.clone(), InitState::Valid, AccessHistory::default(), window);
        GpuRef::new(region, self.offset, self.len)
    }

    /// Another handle of the same bytes, as elements of another size.
    pub(crate) fn of_elements<U: Element>(&self) -> GpuRef<U> {
        self.region.handles.add_one();
        let (offset, len) = resized::<T, U>(self.offset, self.len);
        GpuRef::new(self.region.clone(), offset, len)
    }

    /// As a read operand.
    pub fn as_in(&self) -> In<'_, T> {
        In::new(&self.region, self.offset, self.len)
    }

    /// A handle of the part in `range`, in elements.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the range is out of bounds.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let (offset, len) = narrow(self.offset, self.len, range)?;
        self.region.handles.add_one();
        Ok(GpuRef::new(self.region.clone(), offset, len))
    }

    /// Turns the last **handle** back into the owner, with its full extent.
    ///
    /// Work in flight does not count: the next writer follows the readers' completions. A program that captured the
    /// memory does not count either: later operations are ordered with its replays.
    ///
    /// # Errors
    /// Returns the handle while other handles exist, and when the full extent is no number of elements of this type.
    pub fn try_unique(self) -> Result<DeviceBuffer<T>, Self> {
        let (start, size) = (self.region.window.start, size_of::<T>());
        let whole = start.is_multiple_of(size) && self.region.window.end.is_multiple_of(size);
        if !whole || !self.region.handles.is_unique() {
            return Err(self);
        }
        // The count stays at one: the new buffer takes it over. So `Drop`, which would lower it, must not run.
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped or used again, so the region is moved out exactly once.
        let region = unsafe { std::ptr::read(&this.region) };
        let (offset, len) = (start / size, region.window.len() / size);
        Ok(DeviceBuffer::new(region, offset, len))
    }
}

impl<T: Element> Clone for GpuRef<T> {
    fn clone(&self) -> Self {
        self.region.handles.add_one();
        GpuRef::new(self.region.clone(), self.offset, self.len)
    }
}

/// As [`DeviceBuffer::share`].
impl<T: Element> From<DeviceBuffer<T>> for GpuRef<T> {
    fn from(buffer: DeviceBuffer<T>) -> Self {
        buffer.share()
    }
}

impl<T: Element> Drop for GpuRef<T> {
    fn drop(&mut self) {
        self.region.handles.drop_one();
    }
}

impl<T: Element> std::fmt::Debug for GpuRef<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GpuRef<{}>({} on {}", T::DTYPE, self.len, self.region.epoch.label)?;
        write!(f, ", generation {})", self.region.epoch.generation)
    }
}
