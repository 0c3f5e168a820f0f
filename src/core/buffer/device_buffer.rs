//! The single owner of a window of device memory.

#[cfg(feature = "cuda")]
use super::Allocation;
use super::init_state::{InitCell, InitState};
use super::operand::{narrow, resized};
use super::{GpuRef, In, Region};
use crate::core::element::Element;
#[cfg(feature = "cuda")]
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Rejected, Result};
use crate::core::order::AccessHistory;
use crate::core::sync::Arc;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Range, RangeBounds};

/// The single owner of a window of device memory, which may be written.
///
/// Not `Clone`: this alone rules out aliasing. Operations take written buffers by value, and the wait returns them;
/// they read `&DeviceBuffer` or [`GpuRef`]. Dropping a buffer while work on it is in flight is fine: the memory is
/// freed when that work is done, and the drop itself makes no call to the device.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// let device = windlass::Device::host()?;
/// let x = device.upload(vec![1.0f32, 2.0, 3.0, 4.0])?.into_output();
/// let (left, right) = x.split_at(2)?;
/// let left = device.fill(left, 9.0)?.into_buffer(); // does not wait for work on `right`
/// let x = left.join(right)?;
/// assert_eq!(device.download(&x)?.await_result()?, [9.0, 9.0, 3.0, 4.0]);
/// # Ok(()) }
/// ```
pub struct DeviceBuffer<T: Element> {
    pub(crate) region: Arc<Region>,
    pub(crate) offset: usize,
    pub(crate) len: usize,
    _type: PhantomData<T>,
}

impl<T: Element> DeviceBuffer<T> {
    pub(crate) fn new(region: Arc<Region>, offset: usize, len: usize) -> Self {
        DeviceBuffer { region, offset, len, _type: PhantomData }
    }

    /// A buffer of no bytes that represents something other than memory in the ordering of dispatches. Several threads
    /// may alias it and submit it at once, to operations that are [`GATED`](crate::op::Op::GATED).
    #[cfg(feature = "cuda")]
    pub(crate) fn token(epoch: &Arc<Epoch>) -> Self {
        // No device counts it: it is not memory.
        Self::token_of(Arc::new(Allocation::nothing()), epoch)
    }

    /// As [`token`](Self::token), for something that an allocation of no bytes identifies.
    #[cfg(feature = "cuda")]
    pub(crate) fn token_of(allocation: Arc<Allocation>, epoch: &Arc<Epoch>) -> Self {
        Self::new(Region::token(allocation, epoch.clone()), 0, 0)
    }

    /// Makes this new buffer one without a single owner: several threads may alias it and submit it at once, to
    /// operations that are [`GATED`](crate::op::Op::GATED). `None` when the buffer is in use already.
    pub(crate) fn gated(mut self) -> Option<Self> {
        Arc::get_mut(&mut self.region)?.gate = Some(Box::default());
        Some(self)
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

    /// As a read operand.
    pub fn as_in(&self) -> In<'_, T> {
        In::new(&self.region, self.offset, self.len)
    }

    /// The part in `range`, in elements, as a read operand.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the range is out of bounds.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<In<'_, T>> {
        self.as_in().slice(range)
    }

    /// Gives up the right to write. Returns a handle that can be cloned, and read from any thread.
    pub fn share(self) -> GpuRef<T> {
        let (region, offset, len) = self.into_parts();
        GpuRef::new(region, offset, len)
    }

    /// The same bytes as elements of another size.
    pub(crate) fn of_elements<U: Element>(self) -> DeviceBuffer<U> {
        let (region, offset, len) = self.into_parts();
        let (offset, len) = resized::<T, U>(offset, len);
        DeviceBuffer::new(region, offset, len)
    }

    /// Takes it apart into region, offset and length. The handle stays counted: it passes to what is made from the
    /// parts.
    pub(super) fn into_parts(self) -> (Arc<Region>, usize, usize) {
        // `Drop`, which would lower the count, must not run.
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped or used again, so the region is moved out exactly once.
        let region = unsafe { std::ptr::read(&this.region) };
        (region, this.offset, this.len)
    }

    /// Restricts the buffer to a smaller window. `range` is in elements, from the beginning of the current window. The
    /// buffer remembers its full extent, and [`widen`](Self::widen) restores it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the range is out of bounds; the buffer is returned.
    pub fn narrow(mut self, range: impl RangeBounds<usize>) -> Result<Self, Rejected<Self>> {
        match narrow(self.offset, self.len, range) {
            Ok((offset, len)) => {
                (self.offset, self.len) = (offset, len);
                Ok(self)
            }
            Err(error) => Err(Rejected::new(error, self)),
        }
    }

    /// The elements of the full extent: offset and number.
    fn extent(&self) -> (usize, usize) {
        let (window, size) = (&self.region.window, size_of::<T>());
        let start = window.start.div_ceil(size);
        (start, (window.end / size).saturating_sub(start))
    }

    /// Restores the full extent, after [`narrow`](Self::narrow).
    pub fn widen(mut self) -> Self {
        (self.offset, self.len) = self.extent();
        self
    }

    /// Splits it into two buffers that can be written independently: the first `mid` elements of the window, and the
    /// rest of it. Each part follows the work that was in flight on the whole.
    ///
    /// If the buffer is [narrowed](Self::narrow), the elements before the window go to the first part and the elements
    /// after it to the second. Each part is narrowed to its share of the window; [`widen`](Self::widen) restores its
    /// full extent.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `mid` is past the end; the buffer is returned.
    pub fn split_at(self, mid: usize) -> Result<(Self, Self), Rejected<Self>> {
        if mid > self.len {
            let error = Error::invalid("mid", format!("{mid} is past the end; the buffer has {} elements", self.len));
            return Err(Rejected::new(error, self));
        }
        let full = self.region.window.clone();
        let window = self.offset..self.offset + self.len;
        let middle = (window.start + mid) * size_of::<T>();
        let track = self.region.legacy();
        let part = |full: Range<usize>, window: Range<usize>, track: AccessHistory| {
            let content = self.region.init.get();
            let region = Region::new(self.region.allocation.clone(), self.region.epoch.clone(), content, track, full);
            region.init.fails_by(self.region.init.why());
            region.init.inherit(&self.region.init);
            Self::new(region, window.start, window.len())
        };
        let left = part(full.start..middle, window.start..window.start + mid, track.clone());
        Ok((left, part(middle..full.end, window.start + mid..window.end, track)))
    }

    /// The inverse of [`split_at`](Self::split_at): the full extent of `self` must end where the full extent of `right`
    /// begins, in the same allocation. The new window is from the beginning of the first window to the end of the
    /// second. Later work follows the work in flight on both.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when they are not adjacent; both are returned.
    pub fn join(self, right: Self) -> Result<Self, Rejected<(Self, Self)>> {
        let neighbours = Arc::ptr_eq(&self.region.allocation, &right.region.allocation)
            && self.region.window.end == right.region.window.start;
        if !neighbours {
            let error = Error::invalid(
                "right",
                format!(
                    "the bytes {:?} and {:?} are not adjacent parts of one allocation",
                    self.region.window, right.region.window
                ),
            );
            return Err(Rejected::new(error, (self, right)));
        }
        Ok(self.joined(&right))
    }

    /// The buffer of both, which are neighbours; both are about to be dropped.
    pub(crate) fn joined(&self, right: &Self) -> Self {
        let mut track = self.region.legacy();
        track.absorb(right.region.legacy());
        let window = self.region.window.start..right.region.window.end;
        // No underflow: the second begins after the full extent of the first.
        let (offset, len) = (self.offset, right.offset + right.len - self.offset);
        let content = self.region.init.get().worse(right.region.init.get());
        let region = Region::new(self.region.allocation.clone(), self.region.epoch.clone(), content, track, window);
        let failed = [self, right].map(|part| &part.region.init).into_iter().find(|w| w.get() == InitState::Failed);
        region.init.fails_by(failed.and_then(InitCell::why));
        region.init.inherit(&self.region.init);
        region.init.inherit(&right.region.init);
        Self::new(region, offset, len)
    }

    /// A second owner of the same window, ordered with this one, for blocked algorithms that write disjoint parts that
    /// no split can express (the tiles of a matrix).
    ///
    /// Both share one ordering state: operations through either follow each other as if there were one handle.
    ///
    /// # Safety
    /// A single operation must not get overlapping windows of the two if it writes one of them. Two threads must not
    /// submit operations on overlapping windows through the two at the same time: their order would be undefined.
    /// Neither may be split, joined, grown or shrunk while both exist, because parts have an ordering state of their own.
    /// (Programs that captured the memory need no such care: every operation is ordered with their replays, whatever handle
    /// it uses.)
    pub unsafe fn alias(&self) -> Self {
        self.region.handles.add_one();
        Self::new(self.region.clone(), self.offset, self.len)
    }
}

impl<T: Element> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        self.region.handles.drop_one();
    }
}

impl<T: Element> std::fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceBuffer<{}>({} on {}", T::DTYPE, self.len, self.region.epoch.label)?;
        write!(f, ", generation {})", self.region.epoch.generation)
    }
}
