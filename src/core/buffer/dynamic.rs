//! Operands whose number and element types are known only when the program runs: the arguments of a kernel.
//!
//! This file keeps the guarantee of `elems.rs`: every operand is visited exactly once, reads as reads and writes as
//! writes. An untyped handle keeps its `DType`, and can be downcast only to that type.

use super::any::{AnySlice, AnySliceMut, AnySpan};
use super::elems::{Elems, Places, Receive, Shape, Visit, sealed};
use super::operand::narrow;
use super::typed_output::TypedOutput;
use super::{DeviceBuffer, GpuRef, In, Region};
use crate::core::element::{DType, Element};
use crate::core::error::{Rejected, Result};
use crate::core::op::{Bufs, Immediate, Output};
use crate::core::sync::Arc;
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::RangeBounds;

/// Any number of operands, each with its own element type: `type Reads = Dyn`.
///
/// For ops whose operands are known only at run time, such as the launch of a kernel. What the caller passes, what an
/// engine sees and what a host half gets are lists; each member knows its [`DType`].
pub struct Dyn(PhantomData<()>);

/// A read operand whose element type is known only at run time: a buffer, a [`GpuRef`], or a range of one.
#[derive(Clone, Copy)]
pub struct AnyIn<'a> {
    region: &'a Arc<Region>,
    offset: usize,
    len: usize,
    dtype: DType,
}

/// Read operands without their types.
pub type AnyIns<'a> = SmallVec<[AnyIn<'a>; 8]>;

impl<'a> AnyIn<'a> {
    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The part of it in `range`, in elements.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the range is out of bounds.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let (offset, len) = narrow(self.offset, self.len, range)?;
        Ok(AnyIn { offset, len, ..*self })
    }

    /// The region, the offset from the beginning of its allocation, and the length; both in bytes.
    pub(crate) fn place(&self) -> (&'a Arc<Region>, usize, usize) {
        let size = self.dtype.size();
        (self.region, self.offset * size, self.len * size)
    }

    /// The part of `bytes` bytes that begins `offset` bytes after its start. `None` if one of the two is not a multiple
    /// of the element size, or if the part is out of bounds.
    pub(crate) fn bytes(self, offset: usize, bytes: usize) -> Option<Self> {
        let size = self.dtype.size();
        let whole = offset.is_multiple_of(size) && bytes.is_multiple_of(size);
        let inside = offset.checked_add(bytes)? <= self.len * size;
        (whole && inside).then(|| AnyIn { offset: self.offset + offset / size, len: bytes / size, ..self })
    }

    /// As elements of another type of the same size; `None` if the sizes differ.
    pub(crate) fn reinterpreted<T: Element>(self) -> Option<In<'a, T>> {
        (self.dtype.size() == size_of::<T>()).then(|| In::new(self.region, self.offset, self.len))
    }

    /// A handle of the same window for a program, which reads it in each replay: see `capture.rs`.
    pub(crate) fn captured(&self) -> AnyBuffer {
        AnyBuffer::captured(self.region, (self.offset, self.len), self.dtype)
    }

    /// The typed operand; `None` when the element type is not `T`.
    pub fn downcast<T: Element>(self) -> Option<In<'a, T>> {
        (self.dtype == T::DTYPE).then(|| In::new(self.region, self.offset, self.len))
    }
}

impl std::fmt::Debug for AnyIn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AnyIn<{}>({} on {})", self.dtype, self.len, self.region.epoch.label)
    }
}

impl<'a, T: Element> From<In<'a, T>> for AnyIn<'a> {
    fn from(typed: In<'a, T>) -> Self {
        AnyIn { region: typed.region, offset: typed.offset, len: typed.len, dtype: T::DTYPE }
    }
}

impl<'a, T: Element> From<&'a DeviceBuffer<T>> for AnyIn<'a> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        buffer.as_in().into()
    }
}

impl<'a, T: Element> From<&'a GpuRef<T>> for AnyIn<'a> {
    fn from(shared: &'a GpuRef<T>) -> Self {
        shared.as_in().into()
    }
}

/// A [`DeviceBuffer`] whose element type is known only at run time. It owns the memory, and is not `Clone` either.
pub struct AnyBuffer {
    region: Arc<Region>,
    offset: usize,
    len: usize,
    dtype: DType,
}

impl AnyBuffer {
    /// A handle of a window that another handle owns, for a program, which reads it in each replay.
    pub(crate) fn captured(region: &Arc<Region>, (offset, len): (usize, usize), dtype: DType) -> Self {
        let size = dtype.size();
        let region = region.capture(offset * size..(offset + len) * size);
        region.handles.add_one();
        AnyBuffer { region, offset, len, dtype }
    }

    /// Whether a program that captured some of the memory may still read it.
    #[cfg(feature = "external")]
    pub(crate) fn is_captured(&self) -> bool {
        self.region.allocation.is_captured()
    }

    /// All elements of a new region.
    #[cfg(feature = "external")]
    pub(crate) fn whole(region: Arc<Region>, dtype: DType) -> Self {
        let len = region.window.len() / dtype.size();
        AnyBuffer { region, offset: 0, len, dtype }
    }

    /// A second handle of captured memory.
    pub(crate) fn captured_again(&self) -> Self {
        self.region.handles.add_one();
        AnyBuffer { region: self.region.clone(), offset: self.offset, len: self.len, dtype: self.dtype }
    }

    /// The same bytes as elements of type `dtype`, which has the same size.
    pub(crate) fn named(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }

    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// The offset from the beginning of the allocation, and the length; both in elements.
    pub(crate) fn window(&self) -> (usize, usize) {
        (self.offset, self.len)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
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
    pub fn as_in(&self) -> AnyIn<'_> {
        AnyIn { region: &self.region, offset: self.offset, len: self.len, dtype: self.dtype }
    }

    /// Converts it to a typed buffer.
    ///
    /// # Errors
    /// Returns the buffer when the element type is not `T`.
    pub fn downcast<T: Element>(self) -> Result<DeviceBuffer<T>, Self> {
        if self.dtype != T::DTYPE {
            return Err(self);
        }
        // The handle stays counted: the new buffer takes it over. So `Drop`, which would lower the count, must not run.
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped or used again, so the region is moved out exactly once.
        let region = unsafe { std::ptr::read(&this.region) };
        Ok(DeviceBuffer::new(region, this.offset, this.len))
    }
}

impl<T: Element> From<DeviceBuffer<T>> for AnyBuffer {
    fn from(buffer: DeviceBuffer<T>) -> Self {
        let (region, offset, len) = buffer.into_parts();
        AnyBuffer { region, offset, len, dtype: T::DTYPE }
    }
}

impl Drop for AnyBuffer {
    fn drop(&mut self) {
        if self.region.is_capture {
            self.region.release_capture();
        }
        self.region.handles.drop_one();
    }
}

impl std::fmt::Debug for AnyBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AnyBuffer<{}>({} on {}", self.dtype, self.len, self.region.epoch.label)?;
        write!(f, ", generation {})", self.region.epoch.generation)
    }
}

/// Written buffers without their types, in the order they were passed.
#[derive(Debug, Default)]
pub struct AnyBuffers(SmallVec<[AnyBuffer; FEW]>);

/// Most launches write one buffer; a replay of a program that writes one also writes the program's memory.
const FEW: usize = 2;

impl AnyBuffers {
    /// As a typed buffer, if it is the only one and has this type.
    #[inline]
    pub(super) fn single<T: Element>(mut self) -> Result<DeviceBuffer<T>, Self> {
        match self.0.as_slice() {
            [only] if only.dtype == T::DTYPE => {}
            _ => return Err(self),
        }
        match self.0.pop() {
            // Its type was compared above.
            Some(only) => only.downcast().map_err(|_| AnyBuffers::default()),
            None => Err(self),
        }
    }
}

impl AnyBuffers {
    /// Converts them to typed buffers: none, one, or a tuple of two to eight.
    ///
    /// # Errors
    /// Returns all of them when their number or one of the element types is different.
    pub fn downcast<O: TypedOutput>(self) -> Result<Bufs<O>, Self> {
        O::typed(self)
    }

    #[inline]
    pub(crate) fn push(&mut self, buffer: AnyBuffer) {
        self.0.push(buffer);
    }

    pub(crate) fn pop(&mut self) -> Option<AnyBuffer> {
        self.0.pop()
    }
}

impl std::ops::Deref for AnyBuffers {
    type Target = [AnyBuffer];
    fn deref(&self) -> &[AnyBuffer] {
        &self.0
    }
}

impl FromIterator<AnyBuffer> for AnyBuffers {
    fn from_iter<I: IntoIterator<Item = AnyBuffer>>(buffers: I) -> Self {
        AnyBuffers(buffers.into_iter().collect())
    }
}

impl IntoIterator for AnyBuffers {
    type Item = AnyBuffer;
    type IntoIter = smallvec::IntoIter<[AnyBuffer; FEW]>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Output for AnyBuffers {
    type Writes = Dyn;
    type Host = ();
    fn join(buffers: Self, (): ()) -> Result<Self> {
        Ok(buffers)
    }
}

impl Immediate for AnyBuffers {
    fn assemble(buffers: Self) -> Self {
        buffers
    }
}

impl sealed::Elems for Dyn {}
impl Elems for Dyn {
    type Ins<'a> = AnyIns<'a>;
    type Bufs = AnyBuffers;
    type Failure = Rejected<AnyBuffers>;
    type Spans = SmallVec<[AnySpan; 8]>;
    type Slices<'a> = SmallVec<[AnySlice<'a>; 8]>;
    type SlicesMut<'a> = SmallVec<[AnySliceMut<'a>; 4]>;
    /// Empty: the types are known only at run time, see `Op::dtypes`.
    const DTYPES: &'static [DType] = &[];

    #[inline]
    fn read<'x>(ins: &'x AnyIns<'_>, visit: &mut Visit<'_, 'x>) -> Self::Spans {
        // A loop rather than `collect`, which makes a call for each element.
        let mut spans = Self::Spans::new();
        for x in ins {
            visit.add_view(x.region, (x.offset, x.len), x.dtype.size());
            spans.push(AnySpan::new(x.region, x.offset, x.len, x.dtype));
        }
        spans
    }
    #[inline]
    fn write<'x>(buffers: &'x AnyBuffers, visit: &mut Visit<'_, 'x>) -> Self::Spans {
        let mut spans = Self::Spans::new();
        for x in &buffers.0 {
            visit.add_owned(&x.region, (x.offset, x.len), x.dtype.size());
            spans.push(AnySpan::new(&x.region, x.offset, x.len, x.dtype));
        }
        spans
    }
    fn shape(spans: &Self::Spans, shape: &mut Shape) {
        shape.push(u32::try_from(spans.len()).unwrap_or(u32::MAX));
        shape.extend(spans.iter().map(|span| span.dtype as u32));
    }
    fn receive(from: &mut Receive<'_, '_>) -> Option<Self::Spans> {
        let span = |from: &mut Receive<'_, '_>| {
            let dtype = DType::from_code(from.count()?)?;
            let (region, offset, len) = from.operand(dtype.size())?;
            Some(AnySpan::new(region, offset, len, dtype))
        };
        (0..from.count()?).map(|_| span(from)).collect()
    }
    fn places(spans: &mut Self::Spans, visit: &mut Places<'_>) {
        for span in spans {
            let bytes = span.bytes();
            (visit.0)(&mut span.address, bytes);
        }
    }
    unsafe fn slices<'a>(spans: &Self::Spans) -> Self::Slices<'a> {
        let slice = |span: &AnySpan| {
            let (at, len) = place(span);
            // SAFETY: the caller promises live memory that is not written during `'a`; or the length is zero.
            let bytes: &'a [u8] = unsafe { std::slice::from_raw_parts(at, len) };
            AnySlice { bytes, dtype: span.dtype }
        };
        spans.iter().map(slice).collect()
    }
    unsafe fn slices_mut<'a>(spans: &Self::Spans) -> Self::SlicesMut<'a> {
        let slice = |span: &AnySpan| {
            let (at, len) = place(span);
            // SAFETY: the caller promises live memory that nothing else accesses during `'a`, and the operands are
            // different buffers; or the length is zero.
            let bytes: &'a mut [u8] = unsafe { std::slice::from_raw_parts_mut(at, len) };
            AnySliceMut { bytes, dtype: span.dtype }
        };
        spans.iter().map(slice).collect()
    }
}

/// Pointer to the bytes of a span, and their number. For an empty span the pointer dangles, aligned for any element
/// type.
fn place(span: &AnySpan) -> (*mut u8, usize) {
    const ALIGNED: usize = 64;
    match span.bytes() {
        0 => (std::ptr::without_provenance_mut(ALIGNED), 0),
        len => (span.address as *mut u8, len),
    }
}
