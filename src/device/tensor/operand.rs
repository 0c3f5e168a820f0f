//! Tensors as operands of an op.

use super::{Tensor, TensorRef};
use crate::core::buffer::{List, Operand, Places, Receive, Shape, Span, Visit, sealed};
use crate::core::element::{DType, Element};
use smallvec::SmallVec;
use std::marker::PhantomData;

/// A position of an op's operands that takes a [`TensorRef`] to be read, or a [`Tensor`] to be written.
///
/// The op sees the elements of the whole buffer: it keeps the layouts that it needs with its other data, and compares them
/// with the length of the operand in [`Op::check`](crate::op::Op::check).
pub struct Strided<T>(PhantomData<T>);

// All is that of the buffer, which is visited once.
impl<T: Element> sealed::Operand for Strided<T> {}
impl<T: Element> Operand for Strided<T> {
    type In<'a> = TensorRef<'a, T>;
    type Buf = Tensor<T>;
    type Span = Span<T>;
    type Slice<'a> = &'a [T];
    type SliceMut<'a> = &'a mut [T];
    const DTYPE: DType = T::DTYPE;

    fn read<'x>(input: &'x TensorRef<'_, T>, visit: &mut Visit<'_, 'x>) -> Span<T> {
        visit.add_in(input.buffer())
    }
    fn write<'x>(tensor: &'x Tensor<T>, visit: &mut Visit<'_, 'x>) -> Span<T> {
        T::write(tensor.buffer(), visit)
    }
    fn shape(span: &Span<T>, shape: &mut Shape) {
        T::shape(span, shape);
    }
    fn receive(from: &mut Receive<'_, '_>) -> Option<Span<T>> {
        T::receive(from)
    }
    fn place(span: &mut Span<T>, visit: &mut Places<'_>) {
        T::place(span, visit);
    }
    unsafe fn slice<'a>(span: &Span<T>) -> &'a [T] {
        // SAFETY: the caller's promise, passed on.
        unsafe { T::slice(span) }
    }
    unsafe fn slice_mut<'a>(span: &Span<T>) -> &'a mut [T] {
        // SAFETY: the caller's promise, passed on.
        unsafe { T::slice_mut(span) }
    }
}

/// Any number of operands that are tensors: as [`List`] of buffers.
impl<T: Element> sealed::Operand for List<Strided<T>> {}
impl<T: Element> Operand for List<Strided<T>> {
    type In<'a> = &'a [TensorRef<'a, T>];
    type Buf = Vec<Tensor<T>>;
    type Span = SmallVec<[Span<T>; 4]>;
    type Slice<'a> = Vec<&'a [T]>;
    type SliceMut<'a> = Vec<&'a mut [T]>;
    const DTYPE: DType = T::DTYPE;
    const LISTED: bool = true;
    const OPEN: bool = true;

    fn is_given(input: &&[TensorRef<'_, T>]) -> bool {
        !input.is_empty()
    }
    fn read<'x>(input: &'x &[TensorRef<'_, T>], visit: &mut Visit<'_, 'x>) -> Self::Span {
        input.iter().map(|one| visit.add_in(one.buffer())).collect()
    }
    fn write<'x>(tensors: &'x Vec<Tensor<T>>, visit: &mut Visit<'_, 'x>) -> Self::Span {
        tensors.iter().map(|one| T::write(one.buffer(), visit)).collect()
    }
    fn shape(spans: &Self::Span, shape: &mut Shape) {
        List::<T>::shape(spans, shape);
    }
    fn receive(from: &mut Receive<'_, '_>) -> Option<Self::Span> {
        List::<T>::receive(from)
    }
    fn place(spans: &mut Self::Span, visit: &mut Places<'_>) {
        List::<T>::place(spans, visit);
    }
    unsafe fn slice<'a>(spans: &Self::Span) -> Vec<&'a [T]> {
        // SAFETY: the caller's promise, passed on.
        unsafe { List::<T>::slice(spans) }
    }
    unsafe fn slice_mut<'a>(spans: &Self::Span) -> Vec<&'a mut [T]> {
        // SAFETY: the caller's promise, passed on.
        unsafe { List::<T>::slice_mut(spans) }
    }
}
