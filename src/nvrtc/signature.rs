//! A kernel's parameters as a type: declared once, then every launch is safe.
//!
//! A signature is a tuple of parameter types, in the kernel's own order: `(f32, Read<f32>, Write<f32>, Len)`. From it
//! follow what a launch takes, what it gives back (the written buffers, in order), and what a host twin sees.

use super::arg::{DevicePtr, Len, Plain};
use super::args::Args;
use super::cells::{Cells, Values};
use super::parameters::Parameter;
use super::passed::{Passed, Slot, Slots, ValueKind, Written};
use super::twin::Run;
use crate::buffer::TypedOutput;
use crate::{DType, DeviceBuffer, Element, Error, GpuRef, In, Result};
use bytemuck::Pod;
use std::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// A buffer that the kernel reads. A twin sees [`Values`].
pub struct Read<T>(PhantomData<T>);
/// A buffer that the kernel writes, and may read. A twin sees [`Cells`].
pub struct Write<T>(PhantomData<T>);
/// A buffer of which the kernel writes every element and reads none. A twin sees [`Cells`].
pub struct Out<T>(PhantomData<T>);
/// The types of the written buffers, one after the other.
#[doc(hidden)]
pub struct Cons<T, Tail>(PhantomData<(T, Tail)>);

/// What a parameter is, at run time.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read(DType),
    Write(DType),
    Out(DType),
    Scalar(DType),
    Plain(usize),
    Pointer,
}

/// One parameter of a [`Signature`]: [`Read`], [`Write`] or [`Out`] of an element type, an element type or `usize` for
/// a scalar, [`Len`], [`Plain`] for a struct, [`DevicePtr`]. Sealed.
pub trait Param: sealed::Sealed + 'static {
    /// What a host twin sees of it.
    type View<'t>: Copy + Send + Sync;
    /// What a check before the launch sees of it: a buffer's length, a value.
    type Given;
    #[doc(hidden)]
    type Outs<Tail>;
    #[doc(hidden)]
    const KIND: Kind;
    #[doc(hidden)]
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<Self::View<'t>>;
    #[doc(hidden)]
    fn given(args: &Args<'_>, index: usize) -> Option<Self::Given>;
}

/// What can be passed for a parameter.
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
reads!(&'a DeviceBuffer<T>, &'a GpuRef<T>, In<'a, T>);

impl<T: Element> sealed::Sealed for Read<T> {}
impl<T: Element> Param for Read<T> {
    type View<'t> = Values<'t, T>;
    type Given = usize;
    type Outs<Tail> = Tail;
    const KIND: Kind = Kind::Read(T::DTYPE);
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<Values<'t, T>> {
        run.values(index)
    }
    fn given(args: &Args<'_>, index: usize) -> Option<usize> {
        args.len_of(index)
    }
}

impl<T: Element> sealed::Sealed for Write<T> {}
impl<T: Element> Param for Write<T> {
    type View<'t> = Cells<'t, T>;
    type Given = usize;
    type Outs<Tail> = Cons<T, Tail>;
    const KIND: Kind = Kind::Write(T::DTYPE);
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<Cells<'t, T>> {
        run.cells(index)
    }
    fn given(args: &Args<'_>, index: usize) -> Option<usize> {
        args.len_of(index)
    }
}
impl<'a, T: Element> Passes<'a, Write<T>> for DeviceBuffer<T> {
    #[inline]
    fn pass(self, to: &mut Args<'a>) {
        to.write(self.into(), Written::Some);
    }
}

impl<T: Element> sealed::Sealed for Out<T> {}
impl<T: Element> Param for Out<T> {
    type View<'t> = Cells<'t, T>;
    type Given = usize;
    type Outs<Tail> = Cons<T, Tail>;
    const KIND: Kind = Kind::Out(T::DTYPE);
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<Cells<'t, T>> {
        run.cells(index)
    }
    fn given(args: &Args<'_>, index: usize) -> Option<usize> {
        args.len_of(index)
    }
}
impl<'a, T: Element> Passes<'a, Out<T>> for DeviceBuffer<T> {
    #[inline]
    fn pass(self, to: &mut Args<'a>) {
        to.write(self.into(), Written::All);
    }
}

impl<T: Element> sealed::Sealed for T {}
impl<T: Element> Param for T {
    type View<'t> = T;
    type Given = T;
    type Outs<Tail> = Tail;
    const KIND: Kind = Kind::Scalar(T::DTYPE);
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<T> {
        run.value(index)
    }
    fn given(args: &Args<'_>, index: usize) -> Option<T> {
        args.passed.read_value(index)
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
        type Given = usize;
        type Outs<Tail> = Tail;
        const KIND: Kind = Kind::Scalar(DType::U64);
        fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<usize> {
            run.value::<u64>(index).map(|value| value as usize)
        }
        fn given(args: &Args<'_>, index: usize) -> Option<usize> {
            args.passed.read_value::<u64>(index).map(|value| value as usize)
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
    type Given = S;
    type Outs<Tail> = Tail;
    const KIND: Kind = Kind::Plain(size_of::<S>());
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<S> {
        run.value(index)
    }
    fn given(args: &Args<'_>, index: usize) -> Option<S> {
        args.passed.read_value(index)
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
    type Given = DevicePtr;
    type Outs<Tail> = Tail;
    const KIND: Kind = Kind::Pointer;
    fn view<'t>(run: &'t Run<'t>, index: usize) -> Option<DevicePtr> {
        run.value(index).map(DevicePtr)
    }
    fn given(args: &Args<'_>, index: usize) -> Option<DevicePtr> {
        args.passed.read_value(index).map(DevicePtr)
    }
}
impl<'a> Passes<'a, DevicePtr> for DevicePtr {
    #[inline]
    fn pass(self, to: &mut Args<'a>) {
        to.word(self.0);
    }
}

/// A kernel's parameters: a tuple of up to sixteen [`Param`]s. Sealed.
///
/// At most eight of them may be buffers that are written; a launch with more is an untyped one.
pub trait Signature: sealed::Sealed + 'static {
    /// What a host twin is called with, beside the thread's index.
    type Views<'t>: Copy + Send + Sync;
    /// What a check before the launch is called with: the lengths of the buffers, and the values.
    type Given;
    /// The written buffers, in order: one, a tuple of them, or `()`.
    type Output: TypedOutput;
    #[doc(hidden)]
    const KINDS: &'static [Kind];
    /// What an argument of each is.
    #[doc(hidden)]
    const DECLARED: Declared;
    #[doc(hidden)]
    fn views<'t>(run: &'t Run<'t>) -> Option<Self::Views<'t>>;
    #[doc(hidden)]
    fn given(args: &Args<'_>) -> Option<Self::Given>;
}

/// What a launch of a signature takes: a tuple of what its parameters take.
pub trait Arguments<'a, S: Signature> {
    #[doc(hidden)]
    fn pass(self) -> Args<'a>;
}

/// The output that a list of written types is.
#[doc(hidden)]
pub trait Outs {
    type Output: TypedOutput;
}

impl Outs for () {
    type Output = ();
}
impl<A: Element> Outs for Cons<A, ()> {
    type Output = DeviceBuffer<A>;
}
macro_rules! outs { ($(($list:ty; $($t:ident),*))*) => { $(
    impl<$($t: Element),*> Outs for $list {
        type Output = ($(DeviceBuffer<$t>,)*);
    }
)* } }
outs! {
    (Cons<A, Cons<B, ()>>; A, B)
    (Cons<A, Cons<B, Cons<C, ()>>>; A, B, C)
    (Cons<A, Cons<B, Cons<C, Cons<D, ()>>>>; A, B, C, D)
    (Cons<A, Cons<B, Cons<C, Cons<D, Cons<E, ()>>>>>; A, B, C, D, E)
    (Cons<A, Cons<B, Cons<C, Cons<D, Cons<E, Cons<F, ()>>>>>>; A, B, C, D, E, F)
    (Cons<A, Cons<B, Cons<C, Cons<D, Cons<E, Cons<F, Cons<G, ()>>>>>>>; A, B, C, D, E, F, G)
    (Cons<A, Cons<B, Cons<C, Cons<D, Cons<E, Cons<F, Cons<G, Cons<H, ()>>>>>>>>; A, B, C, D, E, F, G, H)
}

/// `A::Outs<B::Outs<()>>`.
macro_rules! written {
    () => { () };
    ($first:ident $($rest:ident)*) => { <$first as Param>::Outs<written!($($rest)*)> };
}

macro_rules! signatures { ($(($($p:ident $x:ident $i:tt),*))*) => { $(
    impl<$($p: Param),*> sealed::Sealed for ($($p,)*) {}
    impl<$($p: Param),*> Signature for ($($p,)*)
    where
        written!($($p)*): Outs,
    {
        type Views<'t> = ($($p::View<'t>,)*);
        type Given = ($($p::Given,)*);
        type Output = <written!($($p)*) as Outs>::Output;
        const KINDS: &'static [Kind] = &[$($p::KIND),*];
        const DECLARED: Declared = Declared(&slots([$($p::KIND),*]));
        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no parameters")]
        fn views<'t>(run: &'t Run<'t>) -> Option<Self::Views<'t>> {
            Some(($($p::view(run, $i)?,)*))
        }
        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no parameters")]
        fn given(args: &Args<'_>) -> Option<Self::Given> {
            Some(($($p::given(args, $i)?,)*))
        }
    }
    impl<'a, $($p: Param, $x: Passes<'a, $p>),*> Arguments<'a, ($($p,)*)> for ($($x,)*)
    where
        ($($p,)*): Signature,
    {
        #[expect(clippy::allow_attributes, reason = "unused only for the empty tuple")]
        #[allow(unused_mut, reason = "the empty tuple has no arguments")]
        #[inline]
        fn pass(self) -> Args<'a> {
            let mut all = Args::declared(<($($p,)*) as Signature>::DECLARED.0);
            $(self.$i.pass(&mut all);)*
            all
        }
    }
)* } }
signatures! {
    ()
    (A U 0)
    (A U 0, B V 1)
    (A U 0, B V 1, C W 2)
    (A U 0, B V 1, C W 2, D X 3)
    (A U 0, B V 1, C W 2, D X 3, E Y 4)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5, G T6 6)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5, G T6 6, H T7 7)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5, G T6 6, H T7 7, I T8 8)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5, G T6 6, H T7 7, I T8 8, J T9 9)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5, G T6 6, H T7 7, I T8 8, J T9 9, K T10 10)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5, G T6 6, H T7 7, I T8 8, J T9 9, K T10 10, L T11 11)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5, G T6 6, H T7 7, I T8 8, J T9 9, K T10 10, L T11 11, M T12 12)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5, G T6 6, H T7 7, I T8 8, J T9 9, K T10 10, L T11 11, M T12 12, N T13 13)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5, G T6 6, H T7 7, I T8 8, J T9 9, K T10 10, L T11 11, M T12 12, N T13 13,
     O T14 14)
    (A U 0, B V 1, C W 2, D X 3, E Y 4, F Z 5, G T6 6, H T7 7, I T8 8, J T9 9, K T10 10, L T11 11, M T12 12, N T13 13,
     O T14 14, P T15 15)
}

/// What the arguments of a signature are. Opaque.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Declared(pub(super) &'static [Slot]);

/// What comes before a parameter, of each sort.
struct Before {
    reads: u16,
    writes: u16,
    words: u16,
}

/// What is passed for parameters of these kinds: as [`Args`] places it.
#[expect(clippy::indexing_slicing, reason = "in a constant: it would not compile")]
const fn slots<const N: usize>(kinds: [Kind; N]) -> [Slot; N] {
    let mut slots = [Slot::Value { at: 0, len: 0, kind: ValueKind::Plain }; N];
    let mut before = Before { reads: 0, writes: 0, words: 0 };
    let mut i = 0;
    while i < N {
        slots[i] = kinds[i].slot(&before);
        match slots[i] {
            Slot::Read(..) => before.reads += 1,
            Slot::Write(..) => before.writes += 1,
            Slot::Value { len, .. } => before.words = before.words.saturating_add(len.div_ceil(8)),
        }
        i += 1;
    }
    slots
}

impl Kind {
    /// Passed for it would be this.
    const fn slot(self, before: &Before) -> Slot {
        let (len, kind) = match self {
            Kind::Read(dtype) => return Slot::Read(dtype, before.reads),
            Kind::Write(dtype) => return Slot::Write(dtype, before.writes, Written::Some),
            Kind::Out(dtype) => return Slot::Write(dtype, before.writes, Written::All),
            Kind::Scalar(dtype) => (dtype.size(), ValueKind::Scalar(dtype)),
            Kind::Plain(len) => (len, ValueKind::Plain),
            Kind::Pointer => (8, ValueKind::Pointer),
        };
        // More than a kernel takes is refused by its size.
        let len = if len > u16::MAX as usize { u16::MAX } else { len as u16 };
        Slot::Value { at: before.words, len, kind }
    }

    fn alone(self) -> Slot {
        self.slot(&Before { reads: 0, writes: 0, words: 0 })
    }

    fn takes(self, slot: &Slot) -> bool {
        match (self.alone(), slot) {
            (Slot::Read(a, _), Slot::Read(b, _)) => a == *b,
            (Slot::Write(a, ..), Slot::Write(b, ..)) => a == *b,
            (Slot::Value { len: a, kind: x, .. }, Slot::Value { len: b, kind: y, .. }) => a == *b && x == *y,
            _ => false,
        }
    }
}

/// Whether what is passed is what a signature says.
pub(super) fn check(name: &str, passed: &Passed, kinds: &[Kind]) -> Result<()> {
    super::parameters::count(name, passed.slots.len(), kinds.len())?;
    for (i, (slot, kind)) in passed.slots.iter().zip(kinds).enumerate() {
        if !kind.takes(slot) {
            let (got, want) = (super::parameters::words(slot), super::parameters::words(&kind.alone()));
            let reason = format!("{got} passed, but this parameter of `{name}` is {want}");
            return Err(Error::invalid(format!("argument {i}"), reason));
        }
    }
    Ok(())
}

/// Whether a signature fits a kernel's own parameters.
pub(super) fn fits(name: &str, kinds: &[Kind], parameters: &[Parameter]) -> Result<()> {
    let slots = Slots::Found(kinds.iter().map(|kind| kind.alone()).collect());
    super::parameters::check(name, &Passed { slots, ..Passed::default() }, parameters)
}

/// Whether two signatures take the same.
pub(super) fn same(a: &[Kind], b: &[Kind]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.takes(&b.alone()))
}

#[cfg(all(test, feature = "host"))]
mod tests {
    use super::super::arg::Arg;
    use super::*;
    use crate::Device;
    use num_complex::Complex64;

    type All =
        (f32, Read<f64>, Plain<[u32; 3]>, Write<f32>, Complex64, usize, Out<u8>, DevicePtr, Read<u8>, Len, Out<f32>);

    #[test]
    fn what_a_signature_declares_is_what_the_same_arguments_are_when_they_are_passed_one_by_one() {
        let device = Device::host().unwrap();
        let (x, y) = (device.zeros::<f64>(3).unwrap(), device.zeros::<u8>(3).unwrap());
        let written = || (device.zeros::<f32>(3).unwrap(), device.zeros::<u8>(3).unwrap(), device.zeros(3).unwrap());
        let (plain, complex) = ([1u32, 2, 3], Complex64::new(4.0, 5.0));
        let (a, b, c) = written();
        let typed = (1.5f32, &x, plain, a, complex, 6usize, b, DevicePtr(7), &y, Len, c);
        let typed = Arguments::<All>::pass(typed).passed;
        let (a, b, c) = written();
        let found =
            (1.5f32, &x, Plain(plain), a, complex, 6usize, Arg::out(b), DevicePtr(7), &y, Len, Arg::out::<f32>(c));
        let found = Args::from(found).passed;
        assert_eq!(typed.slots[..], found.slots[..]);
        assert_eq!((typed.words, typed.len_at, typed.overwritten), (found.words, found.len_at, found.overwritten));
        assert!(matches!((typed.slots, found.slots), (Slots::Declared(_), Slots::Found(_))));
    }
}
