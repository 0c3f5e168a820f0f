//! Which buffers a transform has: out of place, in place, or out of place with an input that may be destroyed.

use super::element::{FftComplex, FftReal};
use super::spec::Kind;
use crate::core::buffer::{DeviceBuffer, Elems, Span};
use crate::core::element::Element;
use crate::core::op::{Output, Spans};
use std::marker::PhantomData;

#[cfg(feature = "host")]
use super::host::Data;

/// One side of a transform in device memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    #[cfg(feature = "cuda")]
    pub(super) address: u64,
    /// How many numbers: real ones on a real side, complex ones on a complex side.
    pub(super) len: usize,
    /// Elements of the buffer for each number.
    pub(super) per: usize,
    /// Elements of the buffer.
    pub(super) elements: usize,
}

impl End {
    fn new<T: Element>(span: &Span<T>, per: usize) -> Self {
        End {
            #[cfg(feature = "cuda")]
            address: span.address(),
            len: span.len() / per,
            per,
            elements: span.len(),
        }
    }
}

/// Whether input and output are the same memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aliasing {
    Out,
    In,
    /// Two buffers, both of them moved in.
    Destroying,
}

/// The buffers of one kind of transform.
pub(super) trait Form: Send + Sync + 'static {
    const NAME: &'static str;
    const KIND: Kind;
    const ALIASING: Aliasing;
    type Real: FftReal;
    type Reads: Elems;
    type Output: Output<Host = ()>;

    /// Input and output.
    fn ends(reads: &Spans<Self::Reads>, writes: &Spans<Writes<Self>>) -> (End, End);

    /// The output alone.
    fn written(writes: &Spans<Writes<Self>>) -> End;

    #[cfg(feature = "host")]
    fn data<'r, 'w>(
        reads: <Self::Reads as Elems>::Slices<'r>,
        writes: <Writes<Self> as Elems>::SlicesMut<'w>,
    ) -> Data<'r, 'w, Self::Real, <Self::Real as FftReal>::Complex>;
}

/// The element types that a form writes.
pub(super) type Writes<F> = <<F as Form>::Output as Output>::Writes;

/// Complex, two buffers: one is read, one is written.
pub(super) struct C2c<C>(PhantomData<fn() -> C>);
/// Complex, one buffer.
pub(super) struct C2cInPlace<C>(PhantomData<fn() -> C>);
/// Real to half of its spectrum, two buffers.
pub(super) struct R2c<R>(PhantomData<fn() -> R>);
/// Real to half of its spectrum, one buffer of real elements.
pub(super) struct R2cInPlace<R>(PhantomData<fn() -> R>);
/// Half of a spectrum to real, two buffers.
pub(super) struct C2r<R>(PhantomData<fn() -> R>);
/// Half of a spectrum to real, one buffer of real elements.
pub(super) struct C2rInPlace<R>(PhantomData<fn() -> R>);
/// Half of a spectrum to real, two buffers, both written.
pub(super) struct C2rDestroying<R>(PhantomData<fn() -> R>);

macro_rules! forms { ($(
    $form:ident<$t:ident: $bound:ident>, $name:literal, $kind:ident, $place:ident, $real:ty;
    $reads:ty => $output:ty;
    |$r:pat_param, $w:pat_param, $y:pat_param| ($from:expr, $to:expr) => $data:expr;
)*) => { $(
    impl<$t: $bound> Form for $form<$t> {
        const NAME: &'static str = $name;
        const KIND: Kind = Kind::$kind;
        const ALIASING: Aliasing = Aliasing::$place;
        type Real = $real;
        type Reads = $reads;
        type Output = $output;

        fn ends($r: &Spans<Self::Reads>, $w: &Spans<Writes<Self>>) -> (End, End) {
            ($from, $to)
        }

        fn written($y: &Spans<Writes<Self>>) -> End {
            $to
        }

        #[cfg(feature = "host")]
        fn data<'r, 'w>(
            $r: <Self::Reads as Elems>::Slices<'r>,
            $w: <Writes<Self> as Elems>::SlicesMut<'w>,
        ) -> Data<'r, 'w, Self::Real, <Self::Real as FftReal>::Complex> {
            $data
        }
    }
)* } }
forms! {
    C2c<C: FftComplex>, "c2c", C2c, Out, C::Real;
    (C,) => DeviceBuffer<C>;
    |(x,), (y,), (y,)| (End::new(x, C::Real::PER_COMPLEX), End::new(y, C::Real::PER_COMPLEX)) => Data::Complex(x, y);

    C2cInPlace<C: FftComplex>, "c2c_in_place", C2c, In, C::Real;
    () => DeviceBuffer<C>;
    |(), (x,), (x,)| (End::new(x, C::Real::PER_COMPLEX), End::new(x, C::Real::PER_COMPLEX)) => Data::ComplexInPlace(x);

    R2c<R: FftReal>, "r2c", R2c, Out, R;
    (R,) => DeviceBuffer<R::Complex>;
    |(x,), (y,), (y,)| (End::new(x, 1), End::new(y, R::PER_COMPLEX)) => Data::Forward(x, y);

    R2cInPlace<R: FftReal>, "r2c_in_place", R2c, In, R;
    () => DeviceBuffer<R>;
    |(), (x,), (x,)| (End::new(x, 1), End::new(x, 2)) => Data::ForwardInPlace(x);

    C2r<R: FftReal>, "c2r", C2r, Out, R;
    (R::Complex,) => DeviceBuffer<R>;
    |(x,), (y,), (y,)| (End::new(x, R::PER_COMPLEX), End::new(y, 1)) => Data::Backward(x, y);

    C2rInPlace<R: FftReal>, "c2r_in_place", C2r, In, R;
    () => DeviceBuffer<R>;
    |(), (x,), (x,)| (End::new(x, 2), End::new(x, 1)) => Data::BackwardInPlace(x);

    C2rDestroying<R: FftReal>, "c2r_destroying", C2r, Destroying, R;
    () => (DeviceBuffer<R::Complex>, DeviceBuffer<R>);
    |(), (x, y), (_, y)| (End::new(x, R::PER_COMPLEX), End::new(y, 1)) => Data::Destroying(x, y);
}
