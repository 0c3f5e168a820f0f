//! One parameter of a signature: its type, the values that can be passed for it, and its view in a twin.

use super::arg::{DevicePtr, Len, Plain};
use super::args::Args;
use super::kind::Kind;
use super::packed::Written;
use super::shared_slice::{SharedSlice, Values};
use super::twin::Run;
use crate::core::buffer::{DeviceBuffer, GpuRef, In};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::device::tensor::{Tensor, TensorRef};
use bytemuck::Pod;
use std::marker::PhantomData;

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A buffer that the kernel reads. A twin gets [`Values`].
pub struct Read<T>(PhantomData<T>);
/// A buffer that the kernel writes and may read. A twin gets [`SharedSlice`].
pub struct Write<T>(PhantomData<T>);
/// A buffer of which the kernel writes every element and reads none. A twin gets [`SharedSlice`].
pub struct Out<T>(PhantomData<T>);
/// The types of the written buffers, as a list.
#[doc(hidden)]
pub struct Cons<T, Tail>(PhantomData<(T, Tail)>);

/// One parameter of a [`Signature`](super::Signature): [`Read`], [`Write`] or [`Out`] of an element type, an element type
/// or `usize` for a scalar, [`Len`], [`Plain`] for a struct, [`DevicePtr`]. Sealed.
pub trait Param: sealed::Sealed + 'static {
    /// The view of it that a host twin gets.
    type View<'t>: Copy + Send + Sync;
    /// What a check before the launch gets: the length of a buffer, or a value.
    type CheckArg;
    #[doc(hidden)]
    type Outs<Tail>;
    #[doc(hidden)]
    const KIND: Kind;
    #[doc(hidden)]
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<Self::View<'t>>;
    #[doc(hidden)]
    fn check_arg(args: &Args<'_>, index: usize) -> Option<Self::CheckArg>;
}

/// A value that can be passed for a parameter.
pub trait Passes<'a, P: Param> {
    #[doc(hidden)]
    fn pass(self, to: &mut Args<'a>);
}

macro_rules! reads { ($($t:ty),*) => { $(
    impl<'a, T: Element> Passes<'a, Read<T>> for $t {
        #[inline]
        fn pass(self, to: &mut Args<'a>) {
            to.read(self.into());
        }
    }
)* } }
reads!(&'a DeviceBuffer<T>, &'a GpuRef<T>, In<'a, T>, &'a PendingDispatch<DeviceBuffer<T>>);

macro_rules! reads_tensors { ($($t:ty),*) => { $(
    impl<'a, T: Element> Passes<'a, Read<T>> for $t {
        fn pass(self, to: &mut Args<'a>) {
            to.tensor(self.into(), Written::Some);
        }
    }
)* } }
reads_tensors!(&'a Tensor<T>, &'a TensorRef<'_, T>, &'a PendingDispatch<Tensor<T>>);

impl<T: Element> sealed::Sealed for Read<T> {}
impl<T: Element> Param for Read<T> {
    type View<'t> = Values<'t, T>;
    type CheckArg = usize;
    type Outs<Tail> = Tail;
    const KIND: Kind = Kind::Read(T::DTYPE);
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<Values<'t, T>> {
        run.values(index)
    }
    fn check_arg(args: &Args<'_>, index: usize) -> Option<usize> {
        args.len_of(index)
    }
}

macro_rules! writes { ($($p:ident, $written:expr;)*) => { $(
    impl<T: Element> sealed::Sealed for $p<T> {}
    impl<T: Element> Param for $p<T> {
        type View<'t> = SharedSlice<'t, T>;
        type CheckArg = usize;
        type Outs<Tail> = Cons<T, Tail>;
        const KIND: Kind = Kind::$p(T::DTYPE);
        fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<SharedSlice<'t, T>> {
            run.shared_slice(index)
        }
        fn check_arg(args: &Args<'_>, index: usize) -> Option<usize> {
            args.len_of(index)
        }
    }
    impl<'a, T: Element> Passes<'a, $p<T>> for DeviceBuffer<T> {
        #[inline]
        fn pass(self, to: &mut Args<'a>) {
            to.write(self.into(), $written);
        }
    }
    impl<'a, T: Element> Passes<'a, $p<T>> for Tensor<T> {
        fn pass(self, to: &mut Args<'a>) {
            to.tensor(self.into(), $written);
        }
    }
    impl<'a, T: Element> Passes<'a, $p<T>> for PendingDispatch<Tensor<T>> {
        fn pass(self, to: &mut Args<'a>) {
            to.tensor(self.into(), $written);
        }
    }
    impl<'a, T: Element> Passes<'a, $p<T>> for PendingDispatch<DeviceBuffer<T>> {
        #[inline]
        fn pass(self, to: &mut Args<'a>) {
            to.write(self.into_output().into(), $written);
        }
    }
)* } }
writes! {
    Write, Written::Some;
    Out, Written::All;
}

impl<T: Element> sealed::Sealed for T {}
impl<T: Element> Param for T {
    type View<'t> = T;
    type CheckArg = T;
    type Outs<Tail> = Tail;
    const KIND: Kind = Kind::Scalar(T::DTYPE);
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<T> {
        run.value(index)
    }
    fn check_arg(args: &Args<'_>, index: usize) -> Option<T> {
        args.packed.read_value(index)
    }
}
impl<'a, T: Element> Passes<'a, T> for T {
    #[inline]
    fn pass(self, to: &mut Args<'a>) {
        to.scalar(self);
    }
}

macro_rules! lengths { ($($t:ty, |$to:ident, $value:ident| $pass:expr;)*) => { $(
    impl sealed::Sealed for $t {}
    impl Param for $t {
        type View<'t> = usize;
        type CheckArg = usize;
        type Outs<Tail> = Tail;
        const KIND: Kind = Kind::Scalar(DType::U64);
        fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<usize> {
            run.value::<u64>(index).map(|value| value as usize)
        }
        fn check_arg(args: &Args<'_>, index: usize) -> Option<usize> {
            args.packed.read_value::<u64>(index).map(|value| value as usize)
        }
    }
    impl<'a> Passes<'a, $t> for $t {
        #[inline]
        fn pass(self, $to: &mut Args<'a>) {
            let $value = self;
            $pass
        }
    }
)* } }
lengths! {
    usize, |to, value| to.scalar(value as u64);
    Len, |to, _value| to.length();
}

impl<S: Pod + Send + Sync> sealed::Sealed for Plain<S> {}
impl<S: Pod + Send + Sync> Param for Plain<S> {
    type View<'t> = S;
    type CheckArg = S;
    type Outs<Tail> = Tail;
    const KIND: Kind = Kind::Plain(size_of::<S>());
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<S> {
        run.value(index)
    }
    fn check_arg(args: &Args<'_>, index: usize) -> Option<S> {
        args.packed.read_value(index)
    }
}
impl<'a, S: Pod + Send + Sync> Passes<'a, Plain<S>> for S {
    #[inline]
    fn pass(self, to: &mut Args<'a>) {
        to.value(bytemuck::bytes_of(&self));
    }
}

impl sealed::Sealed for DevicePtr {}
impl Param for DevicePtr {
    type View<'t> = DevicePtr;
    type CheckArg = DevicePtr;
    type Outs<Tail> = Tail;
    const KIND: Kind = Kind::Pointer;
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<DevicePtr> {
        run.value(index).map(DevicePtr)
    }
    fn check_arg(args: &Args<'_>, index: usize) -> Option<DevicePtr> {
        args.packed.read_value(index).map(DevicePtr)
    }
}
impl<'a> Passes<'a, DevicePtr> for DevicePtr {
    #[inline]
    fn pass(self, to: &mut Args<'a>) {
        to.word(self.0);
    }
}
