//! Operands as tuples of element types.
//!
//! An op declares its operands by types alone: `type Reads = (f32, Option<f32>)`. For each such tuple this file defines
//! what the caller passes, what an engine sees, and what a host half gets. **This is the only trusted part of
//! [`Op`](crate::op::Op)**, and is sealed for that reason. It guarantees that every operand is visited exactly once, reads
//! as reads and writes as writes. The ordering of buffers and the exclusive slices of host halves rely on that.

use super::operand::View;
use super::{DeviceBuffer, In, Span, Views};
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Rejected};
use smallvec::SmallVec;
use std::marker::PhantomData;

pub(crate) mod sealed {
    pub trait Operand {}
    pub trait Elems {}
}

/// Any number of operands of one element type.
pub struct List<T>(PhantomData<T>);

/// One position of a tuple of operands: an [`Element`] type, a [`List`], or an `Option` of one. Sealed.
pub trait Operand: sealed::Operand + 'static {
    /// What the caller passes to be read, by reference.
    type In<'a>;
    /// What the caller moves in to be written, and gets back.
    type Buf: Send + Sync + 'static;
    /// The operand as an engine sees it: address and length.
    type Span: Send + Sync + 'static;
    /// What an op's host half reads.
    type Slice<'a>;
    /// What an op's host half writes.
    type SliceMut<'a>;
    /// The element type.
    const DTYPE: DType;
    /// It is a [`List`]: any number of operands.
    #[doc(hidden)]
    const LISTED: bool = false;
    /// The type does not fix the number of operands: [`shape`](Self::shape) tells it.
    #[doc(hidden)]
    const OPEN: bool = false;

    /// Whether the caller has passed something: not `None`, and no empty [`List`].
    #[doc(hidden)]
    fn is_given(input: &Self::In<'_>) -> bool {
        let _ = input;
        true
    }
    #[doc(hidden)]
    fn read<'x>(input: &'x Self::In<'_>, visit: &mut Visit<'_, 'x>) -> Self::Span;
    #[doc(hidden)]
    fn write<'x>(buffer: &'x Self::Buf, visit: &mut Visit<'_, 'x>) -> Self::Span;
    /// Appends what the type leaves open, for another process.
    #[doc(hidden)]
    fn shape(span: &Self::Span, shape: &mut Shape);
    /// Builds the span in the receiving process. `None` when `from` does not hold enough.
    #[doc(hidden)]
    fn receive(from: &mut Receive<'_, '_>) -> Option<Self::Span>;
    /// Passes the address of each operand to `visit`, which may read or change it.
    #[doc(hidden)]
    fn place(span: &mut Self::Span, visit: &mut Places<'_>);
    /// # Safety
    /// The memory is live host memory and is not written during `'a`.
    #[doc(hidden)]
    unsafe fn slice<'a>(span: &Self::Span) -> Self::Slice<'a>;
    /// # Safety
    /// The memory is live host memory and nothing else accesses it during `'a`.
    #[doc(hidden)]
    unsafe fn slice_mut<'a>(span: &Self::Span) -> Self::SliceMut<'a>;
}

/// Collects the views of a dispatch's operands. Opaque.
pub struct Visit<'v, 'x>(pub(crate) &'v mut Views<'x>);

impl<'x> Visit<'_, 'x> {
    #[inline]
    fn add<T: Element>(
        &mut self,
        region: &'x crate::core::sync::Arc<super::Region>,
        offset: usize,
        len: usize,
    ) -> Span<T> {
        self.add_view(region, (offset, len), size_of::<T>());
        Span::new(region, offset, len)
    }

    #[inline]
    pub(super) fn add_view(
        &mut self,
        region: &'x crate::core::sync::Arc<super::Region>,
        window: (usize, usize),
        size: usize,
    ) {
        self.0.push(View::of(region, window, size));
    }

    /// Adds an operand that is read.
    #[inline]
    pub(crate) fn add_in<T: Element>(&mut self, part: In<'x, T>) -> Span<T> {
        self.add(part.region, part.offset, part.len)
    }

    /// Adds an operand that is written: its buffer was moved in.
    #[inline]
    pub(super) fn add_owned(
        &mut self,
        region: &'x crate::core::sync::Arc<super::Region>,
        window: (usize, usize),
        size: usize,
    ) {
        self.0.push(View::owned(region, window, size));
    }
}

/// A callback that gets the address of an operand, which it may change, and the length in bytes. Opaque.
#[doc(hidden)]
pub struct Places<'p>(pub(crate) &'p mut dyn FnMut(&mut u64, usize));

/// What the types of operands leave open: whether an `Option` is present, how long a [`List`] is.
#[doc(hidden)]
pub(crate) type Shape = SmallVec<[u32; 4]>;

/// Operands that came from another process, to be read one after the other by their types. Opaque.
#[doc(hidden)]
pub struct Receive<'r, 'x> {
    pub(crate) views: std::slice::Iter<'r, View<'x>>,
    pub(crate) shape: std::slice::Iter<'r, u32>,
    /// The operands come from a file, which may say anything: an address must be aligned, and sizes are collected.
    pub(crate) of_file: bool,
    /// The element size in bytes of each operand read so far; only if `of_file`.
    pub(crate) sizes: SmallVec<[usize; 4]>,
}

impl<'x> Receive<'_, 'x> {
    /// The next word of the shape.
    pub(super) fn count(&mut self) -> Option<u32> {
        self.shape.next().copied()
    }

    /// The next operand, with elements of `size` bytes; `None` if there is none, or if it exceeds its allocation.
    pub(super) fn operand(&mut self, size: usize) -> Option<(&'x crate::core::sync::Arc<super::Region>, usize, usize)> {
        let View { region, offset, len, .. } = *self.views.next()?;
        (offset.is_multiple_of(size) && len.is_multiple_of(size)).then_some(())?;
        let (offset, len) = (offset.checked_div(size)?, len.checked_div(size)?);
        if self.of_file {
            region.allocation.address.is_multiple_of(size as u64).then_some(())?;
            self.sizes.push(size);
        }
        let end = offset.checked_add(len)?.checked_mul(size)?;
        (end as u64 <= region.allocation.usable()).then_some((region, offset, len))
    }

    fn span<T: Element>(&mut self) -> Option<Span<T>> {
        let (region, offset, len) = self.operand(size_of::<T>())?;
        Some(Span::new(region, offset, len))
    }
}

impl<T: Element> sealed::Operand for T {}
impl<T: Element> Operand for T {
    type In<'a> = In<'a, T>;
    type Buf = DeviceBuffer<T>;
    type Span = Span<T>;
    type Slice<'a> = &'a [T];
    type SliceMut<'a> = &'a mut [T];
    const DTYPE: DType = T::DTYPE;

    fn read<'x>(input: &'x In<'_, T>, visit: &mut Visit<'_, 'x>) -> Span<T> {
        visit.add_in(*input)
    }
    fn write<'x>(buffer: &'x DeviceBuffer<T>, visit: &mut Visit<'_, 'x>) -> Span<T> {
        visit.add_owned(&buffer.region, (buffer.offset, buffer.len), size_of::<T>());
        Span::new(&buffer.region, buffer.offset, buffer.len)
    }
    fn shape(_: &Span<T>, _: &mut Shape) {}
    fn receive(from: &mut Receive<'_, '_>) -> Option<Span<T>> {
        from.span()
    }
    fn place(span: &mut Span<T>, visit: &mut Places<'_>) {
        let bytes = span.bytes();
        (visit.0)(&mut span.address, bytes);
    }
    unsafe fn slice<'a>(span: &Span<T>) -> &'a [T] {
        // SAFETY: the caller's promise, passed on.
        unsafe { span.slice() }
    }
    unsafe fn slice_mut<'a>(span: &Span<T>) -> &'a mut [T] {
        // SAFETY: the caller's promise, passed on.
        unsafe { span.slice_mut() }
    }
}

impl<T: Operand> sealed::Operand for Option<T> {}
impl<T: Operand> Operand for Option<T> {
    type In<'a> = Option<T::In<'a>>;
    type Buf = Option<T::Buf>;
    type Span = Option<T::Span>;
    type Slice<'a> = Option<T::Slice<'a>>;
    type SliceMut<'a> = Option<T::SliceMut<'a>>;
    const DTYPE: DType = T::DTYPE;
    const OPEN: bool = true;

    fn is_given(input: &Self::In<'_>) -> bool {
        input.is_some()
    }
    fn read<'x>(input: &'x Self::In<'_>, visit: &mut Visit<'_, 'x>) -> Self::Span {
        input.as_ref().map(|i| T::read(i, visit))
    }
    fn write<'x>(buffer: &'x Self::Buf, visit: &mut Visit<'_, 'x>) -> Self::Span {
        buffer.as_ref().map(|b| T::write(b, visit))
    }
    fn shape(span: &Self::Span, shape: &mut Shape) {
        shape.push(u32::from(span.is_some()));
        if let Some(span) = span {
            T::shape(span, shape);
        }
    }
    fn receive(from: &mut Receive<'_, '_>) -> Option<Self::Span> {
        if from.count()? == 0 { Some(None) } else { T::receive(from).map(Some) }
    }
    fn place(span: &mut Self::Span, visit: &mut Places<'_>) {
        if let Some(span) = span {
            T::place(span, visit);
        }
    }
    unsafe fn slice<'a>(span: &Self::Span) -> Self::Slice<'a> {
        // SAFETY: the caller's promise, passed on.
        span.as_ref().map(|s| unsafe { T::slice(s) })
    }
    unsafe fn slice_mut<'a>(span: &Self::Span) -> Self::SliceMut<'a> {
        // SAFETY: the caller's promise, passed on.
        span.as_ref().map(|s| unsafe { T::slice_mut(s) })
    }
}

impl<T: Element> sealed::Operand for List<T> {}
impl<T: Element> Operand for List<T> {
    type In<'a> = &'a [In<'a, T>];
    type Buf = Vec<DeviceBuffer<T>>;
    type Span = SmallVec<[Span<T>; 4]>;
    type Slice<'a> = Vec<&'a [T]>;
    type SliceMut<'a> = Vec<&'a mut [T]>;
    const DTYPE: DType = T::DTYPE;
    const LISTED: bool = true;
    const OPEN: bool = true;

    fn is_given(input: &&[In<'_, T>]) -> bool {
        !input.is_empty()
    }
    fn read<'x>(input: &'x &[In<'_, T>], visit: &mut Visit<'_, 'x>) -> Self::Span {
        input.iter().map(|i| T::read(i, visit)).collect()
    }
    fn write<'x>(buffers: &'x Vec<DeviceBuffer<T>>, visit: &mut Visit<'_, 'x>) -> Self::Span {
        buffers.iter().map(|b| T::write(b, visit)).collect()
    }
    fn shape(spans: &Self::Span, shape: &mut Shape) {
        shape.push(u32::try_from(spans.len()).unwrap_or(u32::MAX));
    }
    fn receive(from: &mut Receive<'_, '_>) -> Option<Self::Span> {
        (0..from.count()?).map(|_| T::receive(from)).collect()
    }
    fn place(spans: &mut Self::Span, visit: &mut Places<'_>) {
        spans.iter_mut().for_each(|span| T::place(span, visit));
    }
    unsafe fn slice<'a>(spans: &Self::Span) -> Vec<&'a [T]> {
        // SAFETY: the caller's promise, passed on.
        spans.iter().map(|s| unsafe { s.slice() }).collect()
    }
    unsafe fn slice_mut<'a>(spans: &Self::Span) -> Vec<&'a mut [T]> {
        // SAFETY: the caller's promise, passed on; the operands are different buffers.
        spans.iter().map(|s| unsafe { s.slice_mut() }).collect()
    }
}

/// A tuple of operands, up to nine. Sealed.
pub trait Elems: sealed::Elems + 'static {
    /// What the caller passes to be read, by reference.
    type Ins<'a>;
    /// What the caller moves in to be written, and gets back.
    type Bufs: Send + Sync + 'static;
    /// What a failure is: [`Rejected`] with the buffers, or a plain [`Error`] where there are none to give back.
    type Failure: From<Rejected<Self::Bufs>> + From<Error> + Into<Error> + std::error::Error + Send + Sync + 'static;
    /// The operands as an engine sees them: addresses and lengths.
    type Spans: Send + Sync + 'static;
    /// What an op's host half reads.
    type Slices<'a>;
    /// What an op's host half writes.
    type SlicesMut<'a>;
    /// The element types, in order.
    const DTYPES: &'static [DType];
    /// One of them is a [`List`].
    #[doc(hidden)]
    const LISTED: bool = false;
    /// Which of them are [`Operand::OPEN`]. Empty for [`Dyn`](crate::op::Dyn), which does not fix the number of operands.
    #[doc(hidden)]
    const OPEN: &'static [bool] = &[];

    /// For how many positions of the tuple the caller has passed something.
    #[doc(hidden)]
    fn given(ins: &Self::Ins<'_>) -> usize {
        let _ = ins;
        Self::DTYPES.len()
    }
    #[doc(hidden)]
    fn read<'x>(ins: &'x Self::Ins<'_>, visit: &mut Visit<'_, 'x>) -> Self::Spans;
    #[doc(hidden)]
    fn write<'x>(buffers: &'x Self::Bufs, visit: &mut Visit<'_, 'x>) -> Self::Spans;
    #[doc(hidden)]
    fn shape(spans: &Self::Spans, shape: &mut Shape);
    #[doc(hidden)]
    fn receive(from: &mut Receive<'_, '_>) -> Option<Self::Spans>;
    /// Passes the address of each operand to `visit`, in the order in which operands are visited.
    #[doc(hidden)]
    fn places(spans: &mut Self::Spans, visit: &mut Places<'_>);
    /// # Safety
    /// The memory is live host memory and is not written during `'a`.
    #[doc(hidden)]
    unsafe fn slices<'a>(spans: &Self::Spans) -> Self::Slices<'a>;
    /// # Safety
    /// The memory is live host memory and nothing else accesses it during `'a`.
    #[doc(hidden)]
    unsafe fn slices_mut<'a>(spans: &Self::Spans) -> Self::SlicesMut<'a>;
}

macro_rules! failure {
    () => { Error };
    ($($t:ident)+) => { Rejected<Self::Bufs> };
}

macro_rules! elems { ($(($($t:ident $i:tt),*))*) => { $(
    impl<$($t: Operand),*> sealed::Elems for ($($t,)*) {}
    impl<$($t: Operand),*> Elems for ($($t,)*) {
        type Ins<'a> = ($($t::In<'a>,)*);
        type Bufs = ($($t::Buf,)*);
        type Failure = failure!($($t)*);
        type Spans = ($($t::Span,)*);
        type Slices<'a> = ($($t::Slice<'a>,)*);
        type SlicesMut<'a> = ($($t::SliceMut<'a>,)*);
        const DTYPES: &'static [DType] = &[$($t::DTYPE),*];
        const LISTED: bool = false $(|| $t::LISTED)*;
        const OPEN: &'static [bool] = &[$($t::OPEN),*];

        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_variables, reason = "the empty tuple has no operands")]
        fn given(ins: &Self::Ins<'_>) -> usize { 0 $(+ usize::from($t::is_given(&ins.$i)))* }
        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no operands")]
        fn read<'x>(ins: &'x Self::Ins<'_>, visit: &mut Visit<'_, 'x>) -> Self::Spans { ($($t::read(&ins.$i, visit),)*) }
        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no operands")]
        fn write<'x>(buffers: &'x Self::Bufs, visit: &mut Visit<'_, 'x>) -> Self::Spans { ($($t::write(&buffers.$i, visit),)*) }
        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_variables, reason = "the empty tuple has no operands")]
        fn shape(spans: &Self::Spans, shape: &mut Shape) { $($t::shape(&spans.$i, shape);)* }
        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_variables, reason = "the empty tuple has no operands")]
        fn receive(from: &mut Receive<'_, '_>) -> Option<Self::Spans> { Some(($($t::receive(from)?,)*)) }
        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_variables, reason = "the empty tuple has no operands")]
        fn places(spans: &mut Self::Spans, visit: &mut Places<'_>) { $($t::place(&mut spans.$i, visit);)* }
        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no operands")]
        unsafe fn slices<'a>(spans: &Self::Spans) -> Self::Slices<'a> {
            // SAFETY: the caller's promise, passed on to each operand.
            ($(unsafe { $t::slice(&spans.$i) },)*)
        }
        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no operands")]
        unsafe fn slices_mut<'a>(spans: &Self::Spans) -> Self::SlicesMut<'a> {
            // SAFETY: the caller's promise, passed on to each operand.
            ($(unsafe { $t::slice_mut(&spans.$i) },)*)
        }
    }
)* } }
elems! {
    ()
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
}
