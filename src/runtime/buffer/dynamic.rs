//! Operands whose number and element types are known only when the program runs: the arguments of a kernel.
//!
//! Part of what `elems.rs` promises: every operand is visited exactly once, reads as reads and writes as writes. A
//! handle without its type keeps the name of the type, and becomes a typed one again only by that name.

use super::any::{AnySlice, AnySliceMut, AnySpan};
use super::elems::{Elems, Places, Receive, Shape, Visit, sealed};
use super::operand::narrow;
use super::typed_output::TypedOutput;
use super::{DeviceBuffer, GpuRef, In, Region};
use crate::op::{Bufs, Immediate, Output};
use crate::sync::Arc;
use crate::{DType, Element, Result};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::RangeBounds;

/// Any number of operands, each of an element type of its own: `type Reads = Dyn`.
///
/// For ops that do not know their operands before the program runs, as the launch of a kernel does not. What the caller
/// passes, what an engine sees and what a host half gets are lists whose members name their type.
pub struct Dyn(PhantomData<()>);

/// A read operand without its type: a buffer, a reference or a range of one.
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

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Only `range` of it, in elements.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when the range does not lie inside.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let (offset, len) = narrow(self.offset, self.len, range)?;
        Ok(AnyIn { offset, len, ..*self })
    }

    /// What it lies in, where it begins there, and how long it is, in bytes.
    pub(crate) fn place(&self) -> (&'a Arc<Region>, usize, usize) {
        let size = self.dtype.size();
        (self.region, self.offset * size, self.len * size)
    }

    /// A part of it that lies so many bytes behind its beginning; `None` where that is no whole number of elements, or outside.
    pub(crate) fn bytes(self, offset: usize, bytes: usize) -> Option<Self> {
        let size = self.dtype.size();
        let whole = offset.is_multiple_of(size) && bytes.is_multiple_of(size);
        let inside = offset.checked_add(bytes)? <= self.len * size;
        (whole && inside).then(|| AnyIn { offset: self.offset + offset / size, len: bytes / size, ..self })
    }

    /// As elements of another type of the same size.
    pub(crate) fn reinterpreted<T: Element>(self) -> Option<In<'a, T>> {
        (self.dtype.size() == size_of::<T>()).then(|| In::new(self.region, self.offset, self.len))
    }

    /// Another handle of it, which is only read through.
    pub(crate) fn kept(&self) -> AnyBuffer {
        AnyBuffer::reader(self.region, (self.offset, self.len), self.dtype)
    }

    /// With its type again; `None` when it is another.
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

/// A [`DeviceBuffer`] without its type. Owns what it owned; not `Clone` either.
pub struct AnyBuffer {
    region: Arc<Region>,
    offset: usize,
    len: usize,
    dtype: DType,
}

impl AnyBuffer {
    /// Another handle of a window of what somebody else owns, which is only read through it.
    pub(crate) fn reader(region: &Arc<Region>, (offset, len): (usize, usize), dtype: DType) -> Self {
        region.handles.add_one();
        AnyBuffer { region: region.clone(), offset, len, dtype }
    }

    /// The same bytes as elements of another type of the same size.
    pub(crate) fn named(mut self, dtype: DType) -> Self {
        self.dtype = dtype;
        self
    }

    pub(crate) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    /// Where it begins in its memory, and how long it is, in elements.
    pub(crate) fn window(&self) -> (usize, usize) {
        (self.offset, self.len)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
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
    pub fn as_in(&self) -> AnyIn<'_> {
        AnyIn { region: &self.region, offset: self.offset, len: self.len, dtype: self.dtype }
    }

    /// With its type again.
    ///
    /// # Errors
    /// Gives itself back when the type is another.
    pub fn downcast<T: Element>(self) -> Result<DeviceBuffer<T>, Self> {
        if self.dtype != T::DTYPE {
            return Err(self);
        }
        // The handle stays counted: it is the buffer's now. So `Drop`, which would lower the count, must not run.
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
pub struct AnyBuffers(SmallVec<[AnyBuffer; 1]>);

impl AnyBuffers {
    /// With their types again: one buffer, or a tuple of up to eight.
    ///
    /// # Errors
    /// Gives them all back when there are more or fewer, or when a type is another.
    pub fn downcast<O: TypedOutput>(self) -> Result<Bufs<O>, Self> {
        O::typed(self)
    }

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
    type IntoIter = smallvec::IntoIter<[AnyBuffer; 1]>;
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
    type Spans = SmallVec<[AnySpan; 8]>;
    type Slices<'a> = SmallVec<[AnySlice<'a>; 8]>;
    type SlicesMut<'a> = SmallVec<[AnySliceMut<'a>; 4]>;
    /// Known only when the program runs: see `Op::dtypes`.
    const DTYPES: &'static [DType] = &[];

    #[inline]
    fn read<'x>(ins: &'x AnyIns<'_>, visit: &mut Visit<'_, 'x>) -> Self::Spans {
        // Not `collect`, which calls for each.
        let mut spans = Self::Spans::new();
        for x in ins {
            visit.add_view(x.region, x.offset, x.len);
            spans.push(AnySpan::of(x.region, x.offset, x.len, x.dtype));
        }
        spans
    }
    #[inline]
    fn write<'x>(buffers: &'x AnyBuffers, visit: &mut Visit<'_, 'x>) -> Self::Spans {
        let mut spans = Self::Spans::new();
        for x in &buffers.0 {
            visit.add_view(&x.region, x.offset, x.len);
            spans.push(AnySpan::of(&x.region, x.offset, x.len, x.dtype));
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
            Some(AnySpan::of(region, offset, len, dtype))
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
            // SAFETY: live memory that nobody writes during `'a`, as the caller promises; or no bytes.
            let bytes: &'a [u8] = unsafe { std::slice::from_raw_parts(at, len) };
            AnySlice { bytes, dtype: span.dtype }
        };
        spans.iter().map(slice).collect()
    }
    unsafe fn slices_mut<'a>(spans: &Self::Spans) -> Self::SlicesMut<'a> {
        let slice = |span: &AnySpan| {
            let (at, len) = place(span);
            // SAFETY: live memory that nobody else touches during `'a`, as the caller promises, and the operands are
            // different buffers; or no bytes.
            let bytes: &'a mut [u8] = unsafe { std::slice::from_raw_parts_mut(at, len) };
            AnySliceMut { bytes, dtype: span.dtype }
        };
        spans.iter().map(slice).collect()
    }
}

/// Where the bytes of a span are. None are somewhere too, aligned as elements of any type are.
fn place(span: &AnySpan) -> (*mut u8, usize) {
    const ALIGNED: usize = 64;
    match span.bytes() {
        0 => (std::ptr::without_provenance_mut(ALIGNED), 0),
        len => (span.address as *mut u8, len),
    }
}
