//! Read operands, and what an engine sees of an operand.

use super::{DeviceBuffer, GpuRef, Region};
use crate::core::element::Element;
use crate::core::error::{Error, Result, Text};
#[cfg(feature = "cuda")]
use crate::core::order::AccessHistory;
use crate::core::sync::Arc;
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

/// A read operand: a borrowed [`DeviceBuffer`] or [`GpuRef`], or a range of one.
///
/// Borrowed for the duration of the *call* only. When the call returns, the completion of the dispatch is published,
/// and whatever the caller does with the buffer next is ordered after it.
pub struct In<'a, T: Element> {
    pub(crate) region: &'a Arc<Region>,
    pub(crate) offset: usize,
    pub(crate) len: usize,
    _type: PhantomData<T>,
}

impl<T: Element> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for In<'_, T> {}

impl<T: Element> std::fmt::Debug for In<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "In<{}>({})", T::DTYPE, self.len())
    }
}

impl<'a, T: Element> In<'a, T> {
    pub(crate) fn new(region: &'a Arc<Region>, offset: usize, len: usize) -> Self {
        In { region, offset, len, _type: PhantomData }
    }

    /// The same bytes as elements of another size, which begin and end where some of these do.
    pub(crate) fn of_elements<U: Element>(&self) -> In<'a, U> {
        let (offset, len) = resized::<T, U>(self.offset, self.len);
        In::new(self.region, offset, len)
    }

    /// The part of it in `range`, in elements.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the range is out of bounds.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let (offset, len) = narrow(self.offset, self.len, range)?;
        Ok(In { offset, len, ..*self })
    }

    /// The elements, in memory of this process.
    ///
    /// # Safety
    /// The memory is the host's to read; the borrow keeps it alive, and nothing writes it meanwhile.
    pub(crate) unsafe fn host_slice(&self) -> &'a [T] {
        // SAFETY: the caller's promise.
        unsafe { Span::new(self.region, self.offset, self.len).slice() }
    }

    /// The elements, in memory of this process, for writing.
    ///
    /// # Safety
    /// As [`host_slice`](Self::host_slice), and nothing else reads or writes it meanwhile.
    pub(crate) unsafe fn host_slice_mut(&self) -> &'a mut [T] {
        // SAFETY: the caller's promise.
        unsafe { Span::new(self.region, self.offset, self.len).slice_mut() }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<'a, T: Element> From<&'a DeviceBuffer<T>> for In<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        buffer.as_in()
    }
}

impl<'a, T: Element> From<&'a GpuRef<T>> for In<'a, T> {
    fn from(shared: &'a GpuRef<T>) -> Self {
        shared.as_in()
    }
}

/// A window in elements of another size.
pub(super) fn resized<T, U>(offset: usize, len: usize) -> (usize, usize) {
    // No overflow: a window lies inside the allocation, whose length in bytes was checked when it was made.
    (offset * size_of::<T>() / size_of::<U>(), len * size_of::<T>() / size_of::<U>())
}

/// Checked sub-range of a window of `len` elements that begins at `offset`.
pub(super) fn narrow(offset: usize, len: usize, range: impl RangeBounds<usize>) -> Result<(usize, usize)> {
    let outside =
        |range: String| Err(Error::invalid(Text::Borrowed("range"), format!("{range} does not lie inside 0..{len}")));
    let start = match range.start_bound() {
        Bound::Included(start) => Some(*start),
        Bound::Excluded(before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.checked_add(1),
        Bound::Excluded(end) => Some(*end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok((offset + start, end - start)),
        (Some(start), Some(end)) => outside(format!("{start}..{end}")),
        (None, _) | (_, None) => outside("a range whose bound overflows `usize`".to_string()),
    }
}

/// An operand without its type, as the ordering of dispatches sees it.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) region: &'a Arc<Region>,
    /// The operand's window, in bytes from the allocation's beginning.
    pub(crate) offset: usize,
    pub(crate) len: usize,
    /// Bytes of an element; 1 where it is not known.
    size: usize,
    /// It covers the whole region, not a narrowed window; or it is the first of several pieces that cover the whole
    /// region. Overwriting it leaves nothing of the earlier contents.
    pub(crate) whole: bool,
    /// The operation writes every byte of it and reads none: its earlier contents do not matter.
    pub(crate) overwritten: bool,
    /// What the operation leaves there is undefined.
    pub(crate) undefined: bool,
    /// It is no operand: the operation writes memory that recorded programs read (`capture.rs`).
    pub(crate) capture: bool,
    /// It is written, and its buffer, which was moved in, is the only handle of the region. Set only where the views of
    /// a dispatch are collected (`elems.rs`): while such a view exists, no other thread uses the region's history.
    sole: bool,
}

/// The history of a view's region; locked, unless nothing else can reach it.
#[cfg(feature = "cuda")]
pub(crate) struct Track<'x> {
    history: std::ptr::NonNull<AccessHistory>,
    _locked: Option<parking_lot::MutexGuard<'x, AccessHistory>>,
}

#[cfg(feature = "cuda")]
impl std::ops::Deref for Track<'_> {
    type Target = AccessHistory;
    #[inline]
    fn deref(&self) -> &AccessHistory {
        // SAFETY: locked, or reached by this value alone: see `View::history`.
        unsafe { self.history.as_ref() }
    }
}

#[cfg(feature = "cuda")]
impl std::ops::DerefMut for Track<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut AccessHistory {
        // SAFETY: as above.
        unsafe { self.history.as_mut() }
    }
}

impl<'a> View<'a> {
    /// An operand without a handle of its own, or one that is read.
    pub(crate) fn new(region: &'a Arc<Region>, (offset, len): (usize, usize), whole: bool) -> Self {
        View { region, offset, len, size: 1, whole, overwritten: false, undefined: false, capture: false, sole: false }
    }

    /// An operand of `len` elements of `size` bytes. (One struct, made in place: this runs for each operand of each dispatch.)
    #[inline(always)]
    pub(super) fn of(region: &'a Arc<Region>, (offset, len): (usize, usize), size: usize) -> Self {
        // No overflow: a window lies inside the allocation, whose length in bytes was checked when it was made.
        let (offset, len) = (offset * size, len * size);
        let whole = len == region.window.end - region.window.start;
        View { region, offset, len, size, whole, overwritten: false, undefined: false, capture: false, sole: false }
    }

    /// Offset and length in elements, and the bytes of one.
    #[inline]
    pub(crate) fn elements(&self) -> (usize, usize, usize) {
        (self.offset / self.size, self.len / self.size, self.size)
    }

    /// An operand that is written, by a handle that was moved in for the lifetime of the view.
    #[inline(always)]
    pub(super) fn owned(region: &'a Arc<Region>, window: (usize, usize), size: usize) -> Self {
        let mut view = View::of(region, window, size);
        view.sole = region.handles.is_unique();
        view
    }

    /// The history of its region. A history that only the dispatch itself can reach is not locked: that saves two locked
    /// instructions in each of the two turns that a dispatch takes.
    ///
    /// # Safety
    /// The caller has no other [`Track`] of this region.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(crate) unsafe fn history(&self) -> Track<'a> {
        let history = &self.region.history;
        if self.sole {
            // The one handle of the region was moved in, so no other thread has a handle or a borrow of one, and all that
            // other threads did with theirs happened before this (`Handles::is_unique`). Work in flight holds regions
            // too, but looks at no history; programs have regions of their own.
            if let Some(history) = std::ptr::NonNull::new(history.data_ptr()) {
                return Track { history, _locked: None };
            }
        }
        let mut locked = history.lock();
        Track { history: std::ptr::NonNull::from(&mut *locked), _locked: Some(locked) }
    }
}

impl View<'_> {
    /// Whether a write through it needs the earlier contents, so that it fails if an earlier writer failed. A write of
    /// a window leaves the rest of the region as it was, even if that is the result of a failed operation. (A capture
    /// is no operand; the operand itself decides.)
    #[inline]
    pub(crate) fn needs_contents(&self) -> bool {
        !(self.capture || self.overwritten && self.whole)
    }

    /// Whether it stands for a write of a part of captured memory: see [`AccessHistory::publish_part`].
    ///
    /// [`AccessHistory::publish_part`]: super::AccessHistory::publish_part
    #[inline]
    pub(crate) fn is_part(&self) -> bool {
        self.capture && !self.whole
    }
}

/// The operands of one dispatch.
pub(crate) type Views<'a> = SmallVec<[View<'a>; 10]>;

/// An operand as an engine sees it: an address in the engine's memory and a length in elements.
///
/// [`Op::check`](crate::op::Op::check) inspects it, and [`Op::cuda`](crate::op::Op::cuda) passes it to a library.
#[derive(Debug)]
pub struct Span<T> {
    pub(crate) address: u64,
    pub(crate) len: usize,
    _type: PhantomData<T>,
}

impl<T> Clone for Span<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<T> {}

impl<T: Element> Span<T> {
    pub(crate) fn new(region: &Region, offset: usize, len: usize) -> Self {
        // No overflow: an offset lies inside the allocation, whose length in bytes was checked when it was made.
        let address = region.allocation.address + (offset * size_of::<T>()) as u64;
        Span { address, len, _type: PhantomData }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The length in bytes.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The address of the first element in the engine's memory. Valid only during the dispatch that the span belongs
    /// to.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The elements, on an engine that uses this process's memory.
    ///
    /// # Safety
    /// The span lies in host memory that outlives `'a` and is not written meanwhile.
    pub(super) unsafe fn slice<'a>(&self) -> &'a [T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller promises live, unshared-for-writing memory; every bit pattern is a value; the allocation
        // is aligned to 64 bytes and the offset is a multiple of the element's size.
        unsafe { std::slice::from_raw_parts(self.address as *const T, self.len) }
    }

    /// The elements, for writing.
    ///
    /// # Safety
    /// As [`Span::slice`], and nothing else reads them meanwhile either.
    pub(super) unsafe fn slice_mut<'a>(&self) -> &'a mut [T] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: as above, and the caller promises that the access is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.address as *mut T, self.len) }
    }
}
