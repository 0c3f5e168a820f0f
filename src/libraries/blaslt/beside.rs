//! What a product writes in addition to D.

use super::kept::{Keeping, Kept, Of};
use crate::core::buffer::{DeviceBuffer, Elems};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Rejected, Result};
use crate::core::op::{Bufs, Immediate, Output, Spans};
use crate::device::Device;
use crate::device::dispatch::Submitted;
use crate::device::tensor::{Layout, Strided, Tensor, Whole};
use std::convert::Infallible;
use std::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// Returns a [`Kept`] with D.
#[derive(Debug)]
pub struct Keeps<X>(PhantomData<X>);

/// Returns a tensor of sums with D: the gradient of a bias.
#[derive(Debug)]
pub struct Sums<X>(PhantomData<X>);

/// Returns what `W` returns, and the largest magnitude of D.
#[derive(Debug)]
pub struct Amax<W>(PhantomData<W>);

/// The address and the length of an operand.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[doc(hidden)]
pub struct Place {
    /// Its address.
    pub address: u64,
    /// Its elements.
    pub len: usize,
}

impl<T: Element> From<&crate::core::buffer::Span<T>> for Place {
    fn from(span: &crate::core::buffer::Span<T>) -> Self {
        Place { address: span.address(), len: span.len() }
    }
}

/// All operands to be written.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
#[doc(hidden)]
pub struct WritePlaces {
    /// D.
    pub d: Place,
    /// The additional output of the epilogue.
    pub second: Option<Place>,
    /// The largest magnitude.
    pub amax: Option<Place>,
}

/// All operands to be written, for a host half; the additional output as bytes.
#[doc(hidden)]
pub struct WriteSlices<'x, D> {
    /// D.
    pub d: &'x mut [D],
    /// The additional output of the epilogue.
    pub second: Option<&'x mut [u8]>,
    /// The largest magnitude.
    pub amax: Option<&'x mut [f32]>,
}

/// What is made for the additional outputs.
pub(super) struct Beside {
    /// Elements of the additional output of the epilogue.
    pub(super) len: usize,
    /// The product that something is kept of.
    pub(super) of: Of,
    /// The tensor of sums.
    pub(super) sums: Layout,
}

/// Where the outputs of a call go.
#[doc(hidden)]
pub struct Landing {
    pub(super) whole: Whole,
    pub(super) beside: Beside,
}

/// The additional outputs for a D of type `D`: none, [`Keeps`], [`Sums`], and [`Amax`] of these. Sealed.
pub trait Extra<D: Element>: sealed::Sealed + Sized + 'static {
    /// D, alone or in a tuple with the additional outputs.
    type Output: Immediate;
    /// The same as buffers, which are those of the operation.
    #[doc(hidden)]
    type Buffers: Immediate;
    /// The names of the outputs in errors.
    #[doc(hidden)]
    const NAMES: &'static [&'static str];
    /// D and new buffers for what is beside it; if there is no memory, D alone.
    #[doc(hidden)]
    fn make(d: DeviceBuffer<D>, device: &Device, len: usize) -> Result<Bufs<Self::Buffers>, Rejected<DeviceBuffer<D>>>;
    #[doc(hidden)]
    fn d(buffers: Bufs<Self::Buffers>) -> DeviceBuffer<D>;
    /// What the call returns.
    #[doc(hidden)]
    fn submitted(submitted: Submitted<Self::Buffers>, landing: Landing) -> WithD<Self, D>;
    #[doc(hidden)]
    fn places(spans: &SpansOf<Self, D>) -> WritePlaces;
    #[doc(hidden)]
    fn slices<'x>(slices: SlicesOf<'x, Self, D>) -> WriteSlices<'x, D>;
}

/// A product in flight, or the error and D: the additional outputs are the call's own.
pub type WithD<W, D> = Result<PendingDispatch<<W as Extra<D>>::Output>, Rejected<(Tensor<D>,)>>;

type ElemsOf<W, D> = <<W as Extra<D>>::Buffers as Output>::Writes;
type SpansOf<W, D> = Spans<ElemsOf<W, D>>;
type SlicesOf<'x, W, D> = <ElemsOf<W, D> as Elems>::SlicesMut<'x>;

fn bytes<X: Element>(x: &mut [X]) -> &mut [u8] {
    bytemuck::cast_slice_mut(x)
}

impl sealed::Sealed for () {}
impl<D: Element> Extra<D> for () {
    type Output = Tensor<D>;
    type Buffers = DeviceBuffer<D>;
    const NAMES: &'static [&'static str] = &["d"];
    fn make(d: DeviceBuffer<D>, _: &Device, _: usize) -> Result<(DeviceBuffer<D>,), Rejected<DeviceBuffer<D>>> {
        Ok((d,))
    }
    fn d((d,): (DeviceBuffer<D>,)) -> DeviceBuffer<D> {
        d
    }
    fn submitted(submitted: Submitted<DeviceBuffer<D>>, landing: Landing) -> WithD<Self, D> {
        landing.whole.submitted(submitted)
    }
    fn places((d,): &SpansOf<Self, D>) -> WritePlaces {
        WritePlaces { d: d.into(), second: None, amax: None }
    }
    fn slices<'x>((d,): SlicesOf<'x, Self, D>) -> WriteSlices<'x, D> {
        WriteSlices { d, second: None, amax: None }
    }
}

/// `second`: what the epilogue writes, its type, what it becomes of its buffer and the data about it; `amax`: the magnitude.
macro_rules! extras { ($(
    [$($x:ident)?] $W:ty {
        $(second $second:ident: $Out:ty = |$buffer:ident, $beside:ident| $made:expr;)?
        $(amax $amax:ident;)?
    }
)*) => { $(
    impl<$($x: Element)?> sealed::Sealed for $W {}
    impl<D: Element $(, $x: Element)?> Extra<D> for $W {
        type Output = (Tensor<D>, $($Out,)? $(extras!(@tensor $amax),)?);
        type Buffers = (DeviceBuffer<D>, $(DeviceBuffer<$x>,)? $(extras!(@buffer $amax),)?);
        const NAMES: &'static [&'static str] = &["d" $(, stringify!($second))? $(, stringify!($amax))?];
        fn make(d: DeviceBuffer<D>, device: &Device, len: usize) -> Result<Bufs<Self::Buffers>, Rejected<DeviceBuffer<D>>> {
            let _ = len;
            let made = || Ok(($(device.unwritten::<$x>(len)?,)? $(extras!(@new device $amax),)?));
            match made() {
                Ok(($($second,)? $($amax,)?)) => Ok((d, $($second,)? $($amax,)?)),
                Err(error) => Err(Rejected::new(error, d)),
            }
        }
        fn d((d, ..): Bufs<Self::Buffers>) -> DeviceBuffer<D> {
            d
        }
        fn submitted(submitted: Submitted<Self::Buffers>, Landing { whole, beside }: Landing) -> WithD<Self, D> {
            let _ = &beside;
            match submitted {
                Ok(pending) => Ok(pending
                    .retype(|(d, $($second,)? $($amax,)?): Bufs<Self::Buffers>| {
                        $(let $second = (|$buffer, $beside: Beside| $made)($second, beside);)?
                        $(let $amax = Tensor::from($amax);)?
                        Ok::<_, Infallible>((whole.tensor(d), $($second,)? $($amax,)?))
                    })
                    .unwrap_or_else(|never| match never {})),
                Err(rejected) => Err(rejected.map(|(d, ..)| (whole.tensor(d),))),
            }
        }
        fn places((d, $($second,)? $($amax,)?): &SpansOf<Self, D>) -> WritePlaces {
            let places = WritePlaces { d: d.into(), second: None, amax: None };
            $(let places = WritePlaces { second: Some($second.into()), ..places };)?
            $(let places = WritePlaces { amax: Some($amax.into()), ..places };)?
            places
        }
        fn slices<'x>((d, $($second,)? $($amax,)?): SlicesOf<'x, Self, D>) -> WriteSlices<'x, D> {
            let slices = WriteSlices { d, second: None, amax: None };
            $(let slices = WriteSlices { second: Some(bytes($second)), ..slices };)?
            $(let slices = WriteSlices { amax: Some($amax), ..slices };)?
            slices
        }
    }
)* };
    (@tensor $amax:ident) => { Tensor<f32> };
    (@buffer $amax:ident) => { DeviceBuffer<f32> };
    (@new $device:ident $amax:ident) => { $device.unwritten::<f32>(1)? };
}
extras! {
    [X] Keeps<X> { second second: Kept<X> = |buffer, beside| Kept::new(buffer, beside.of); }
    [X] Sums<X> { second second: Tensor<X> = |buffer, beside| Tensor::from_parts(buffer, beside.sums); }
    [] Amax<()> { amax amax; }
    [X] Amax<Keeps<X>> { second second: Kept<X> = |buffer, beside| Kept::new(buffer, beside.of); amax amax; }
    [X] Amax<Sums<X>> { second second: Tensor<X> = |buffer, beside| Tensor::from_parts(buffer, beside.sums); amax amax; }
}

/// D and what was kept, and the largest magnitude.
macro_rules! outputs { ($(($($amax:ident)?))*) => { $(
    impl<D: Element, X: Element> Output for (Tensor<D>, Kept<X>, $(outputs!(@tensor $amax))?) {
        type Writes = (Strided<D>, Keeping<X>, $(outputs!(@strided $amax))?);
        type Host = ();
        fn join(outputs: Self, (): ()) -> Result<Self> {
            Ok(outputs)
        }
    }
    impl<D: Element, X: Element> Immediate for (Tensor<D>, Kept<X>, $(outputs!(@tensor $amax))?) {
        fn assemble(outputs: Self) -> Self {
            outputs
        }
    }
)* };
    (@tensor $amax:ident) => { Tensor<f32> };
    (@strided $amax:ident) => { Strided<f32> };
}
outputs! { () (amax) }
