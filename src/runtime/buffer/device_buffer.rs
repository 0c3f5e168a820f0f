//! The one owner of a window of device memory.

#[cfg(feature = "cuda")]
use super::Allocation;
use super::access_history::AccessHistory;
use super::init_state::{InitCell, InitState};
use super::operand::narrow;
use super::{GpuRef, In, Region};
#[cfg(feature = "cuda")]
use crate::engine::Epoch;
use crate::error::Rejected;
use crate::sync::Arc;
use crate::{Element, Error, Result};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Range, RangeBounds};

/// Device memory that may be written: the one owner of a window of it.
///
/// Not `Clone`: that is the whole aliasing rule. Operations take written buffers by value and give them back from the
/// wait; they read `&DeviceBuffer` or [`GpuRef`]. Dropping one while work on it is in flight is fine: the memory goes
/// back when that work is done, and the drop itself does nothing on the device.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// let device = windlass::Device::host()?;
/// let x = device.upload(vec![1.0f32, 2.0, 3.0, 4.0])?.into_output();
/// let (left, right) = x.split_at(2)?;
/// let left = device.fill(left, 9.0)?.into_output(); // does not wait for work on `right`
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

    /// A buffer of no bytes that stands for something else in the order of things. It may be aliased and submitted by
    /// several threads at once, by operations that are [`GATED`](crate::Op::GATED).
    #[cfg(feature = "cuda")]
    pub(crate) fn token(epoch: &Arc<Epoch>) -> Self {
        // Counted by nobody: it is no memory.
        Self::token_of(Arc::new(Allocation::nothing()), epoch)
    }

    /// As [`token`](Self::token), for something that is named by an allocation of no bytes.
    #[cfg(feature = "cuda")]
    pub(crate) fn token_of(allocation: Arc<Allocation>, epoch: &Arc<Epoch>) -> Self {
        Self::new(Region::gated(allocation, epoch.clone()), 0, 0)
    }

    /// A new buffer that has no one owner from now on: it may be aliased and submitted by several threads at once, by
    /// operations that are [`GATED`](crate::Op::GATED). `None` when somebody uses it already.
    pub(crate) fn gated(mut self) -> Option<Self> {
        Arc::get_mut(&mut self.region)?.gate = Some(Box::default());
        Some(self)
    }

    /// Elements in the window.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The generation of the device that it was made in.
    pub fn generation(&self) -> u64 {
        self.region.epoch.generation
    }

    /// As a read operand.
    pub fn as_in(&self) -> In<'_, T> {
        In::new(&self.region, self.offset, self.len)
    }

    /// `range` of it as a read operand, in elements.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the range does not lie inside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<In<'_, T>> {
        self.as_in().slice(range)
    }

    /// Gives up the right to write: a handle that can be cloned and read from anywhere.
    pub fn share(self) -> GpuRef<T> {
        let (region, offset, len) = self.into_parts();
        GpuRef::new(region, offset, len)
    }

    /// Takes it apart. The handle stays counted: it is that of whatever is made of the parts.
    pub(super) fn into_parts(self) -> (Arc<Region>, usize, usize) {
        // `Drop`, which would lower the count, must not run.
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped or used again, so the region is moved out exactly once.
        let region = unsafe { std::ptr::read(&this.region) };
        (region, this.offset, this.len)
    }

    /// A smaller window to be written, in elements from the beginning of this one. The buffer remembers its full extent:
    /// [`widen`](Self::widen) gives it back.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the range does not lie inside; the buffer comes back.
    pub fn narrow(mut self, range: impl RangeBounds<usize>) -> Result<Self, Rejected<Self>> {
        match narrow(self.offset, self.len, range) {
            Ok((offset, len)) => {
                (self.offset, self.len) = (offset, len);
                Ok(self)
            }
            Err(error) => Err(Rejected::new(error, self)),
        }
    }

    /// The full extent again, after [`narrow`](Self::narrow).
    pub fn widen(mut self) -> Self {
        self.offset = self.region.window.start;
        self.len = self.region.window.len();
        self
    }

    /// Two buffers that can be written independently: the first `mid` elements of the window, and the rest of it. Each
    /// starts from what was in flight on the whole.
    ///
    /// Of a [narrowed](Self::narrow) buffer, what lies before the window goes with the first and what lies behind it with the
    /// second, each narrowed to its part of the window: [`widen`](Self::widen) shows it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when `mid` is past the end; the buffer comes back.
    pub fn split_at(self, mid: usize) -> Result<(Self, Self), Rejected<Self>> {
        if mid > self.len {
            let error = Error::invalid("mid", format!("{mid} is past the end, {}", self.len));
            return Err(Rejected::new(error, self));
        }
        let full = self.region.window.clone();
        let window = self.offset..self.offset + self.len;
        let middle = window.start + mid;
        let track = self.region.legacy();
        let part = |full: Range<usize>, window: Range<usize>, track: AccessHistory| {
            let content = self.region.init.get();
            let region = Region::new(self.region.allocation.clone(), self.region.epoch.clone(), content, track, full);
            region.init.fails_by(self.region.init.why());
            Self::new(region, window.start, window.len())
        };
        let left = part(full.start..middle, window.start..middle, track.clone());
        Ok((left, part(middle..full.end, middle..window.end, track)))
    }

    /// The inverse of [`split_at`](Self::split_at): `self` must end where `right` begins, in the same memory, both in their
    /// full extents. The window is from the beginning of the first's to the end of the second's. What follows waits for the
    /// writers of both.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when they are not neighbours; both come back.
    pub fn join(self, right: Self) -> Result<Self, Rejected<(Self, Self)>> {
        let neighbours = Arc::ptr_eq(&self.region.allocation, &right.region.allocation)
            && self.region.window.end == right.region.window.start;
        if !neighbours {
            let error = Error::invalid(
                "right",
                format!(
                    "{:?} of one buffer and {:?} of another are not neighbours",
                    self.region.window, right.region.window
                ),
            );
            return Err(Rejected::new(error, (self, right)));
        }
        let mut track = self.region.legacy();
        track.absorb(right.region.legacy());
        let window = self.region.window.start..right.region.window.end;
        // The second begins behind all of the first.
        let (offset, len) = (self.offset, right.offset + right.len - self.offset);
        let content = self.region.init.get().worse(right.region.init.get());
        let region = Region::new(self.region.allocation.clone(), self.region.epoch.clone(), content, track, window);
        let failed = [&self, &right].map(|part| &part.region.init).into_iter().find(|w| w.get() == InitState::Failed);
        region.init.fails_by(failed.and_then(InitCell::why));
        Ok(Self::new(region, offset, len))
    }

    /// A second owner of the same window, ordered with this one, for blocked algorithms that write disjoint parts that
    /// no split can express (the tiles of a matrix).
    ///
    /// Both share one ordering state: operations through either follow each other as if there were one handle.
    ///
    /// # Safety
    /// No single operation may be given overlapping windows of the two, one of them to be written, and two threads must
    /// not submit operations on overlapping windows through the two at the same time: their order would be undefined.
    /// Neither may be split or joined while both exist: parts have an ordering state of their own.
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
