//! A kernel's parameters as a type: declared once, then every launch is safe.
//!
//! A signature is a tuple of parameter types, in the order of the kernel's parameters: `(f32, Read<f32>, Write<f32>,
//! Len)`. It determines the arguments of a launch, its output (the written buffers, in order), and the arguments of a
//! host twin.

use super::args::Args;
use super::kind::{Kind, slots};
use super::packed::Slot;
use super::param::{Cons, Param, Passes, sealed};
use super::twin::Run;
use crate::core::buffer::{DeviceBuffer, TypedOutput};
use crate::core::element::Element;

/// A kernel's parameters: a tuple of up to sixteen [`Param`]s. Sealed.
///
/// At most eight of them can be written buffers; use an untyped launch for more.
pub trait Signature: sealed::Sealed + 'static {
    /// The arguments of a host twin, in addition to the index of the thread.
    type Views<'t>: Copy + Send + Sync;
    /// The arguments of a check before the launch: the lengths of the buffers, and the values.
    type CheckArgs;
    /// The written buffers, in order: one, a tuple of them, or `()`.
    type Output: TypedOutput;
    #[doc(hidden)]
    const KINDS: &'static [Kind];
    /// The argument of each parameter.
    #[doc(hidden)]
    const DECLARED: Declared;
    #[doc(hidden)]
    fn views<'t>(run: &'t Run<'t>) -> Option<Self::Views<'t>>;
    #[doc(hidden)]
    fn check_args(args: &Args<'_>) -> Option<Self::CheckArgs>;
}

/// The arguments of a launch with a signature: a tuple with one value for each parameter.
pub trait Arguments<'a, S: Signature> {
    #[doc(hidden)]
    fn pass(self) -> Args<'a>;
}

/// The output type that belongs to a list of written types.
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
        type CheckArgs = ($($p::CheckArg,)*);
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
        fn check_args(args: &Args<'_>) -> Option<Self::CheckArgs> {
            Some(($($p::check_arg(args, $i)?,)*))
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

/// The declared arguments of a signature. Opaque.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Declared(pub(super) &'static [Slot]);

#[cfg(all(test, feature = "host"))]
mod tests {
    use super::super::arg::{Arg, DevicePtr, Len, Plain};
    use super::super::packed::Slots;
    use super::super::param::{Out, Read, Write};
    use super::*;
    use crate::device::Device;
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
        let typed = Arguments::<All>::pass(typed).packed;
        let (a, b, c) = written();
        let found = (
            1.5f32,
            &x,
            Plain(plain),
            a,
            complex,
            6usize,
            Arg::out(b.into_buffer()),
            DevicePtr(7),
            &y,
            Len,
            Arg::out::<f32>(c.into_buffer()),
        );
        let found = Args::from(found).packed;
        assert_eq!(typed.slots[..], found.slots[..]);
        assert_eq!((typed.words, typed.len_at, typed.overwritten), (found.words, found.len_at, found.overwritten));
        assert!(matches!((typed.slots, found.slots), (Slots::Declared(_), Slots::Found(_))));
    }
}
