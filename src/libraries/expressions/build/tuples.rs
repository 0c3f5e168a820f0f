//! What closures take and return: symbols, or tuples of them.

use super::{Open, Raw, Symbol};
use crate::core::buffer::{AnyBuffer, AnyBuffers};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::core::op::{Bufs, Immediate, Output};
use crate::device::Device;
use crate::device::tensor::{Layout, Tensor};

pub(in crate::libraries) mod sealed {
    use super::*;

    /// How symbols are given to a closure, and taken from it.
    pub trait Symbols {
        /// The types.
        const DTYPES: &'static [DType];
        /// The inputs of a recording from number `first` on.
        fn inputs(open: &Open, first: usize) -> Self;
        /// The symbols in order.
        fn raws(self) -> Vec<Raw>;
    }

    /// How the tensors of symbols are made.
    pub trait Outputs: Symbols {
        /// A tensor for each symbol.
        type Tensors: Output<Host = ()> + Immediate;
        /// New buffers for row-major tensors of these extents.
        fn uninit(device: &Device, layout: &Layout) -> Result<AnyBuffers>;
        /// The tensors of these buffers.
        fn tie(buffers: AnyBuffers, layout: &Layout) -> Result<Bufs<Self::Tensors>, AnyBuffers>;
    }
}

/// A row-major tensor of a buffer that was made for it.
fn tensor<T: Element>(buffer: Option<AnyBuffer>, layout: &Layout) -> Result<Tensor<T>, AnyBuffers> {
    let buffer = buffer.ok_or_else(AnyBuffers::default)?;
    let buffer = buffer.downcast::<T>().map_err(|buffer| -> AnyBuffers { [buffer].into_iter().collect() })?;
    let tensor = Tensor::from_buffer(buffer, layout.shape());
    tensor.map_err(|rejected| rejected.back.map(AnyBuffer::from).into_iter().collect())
}

/// What a closure takes: nothing, a [`Symbol`], or a tuple of up to eight. Sealed.
pub trait Symbols: sealed::Symbols {}

/// What a closure returns: a [`Symbol`], or a tuple of up to four; each becomes a [`Tensor`]. Sealed.
#[diagnostic::on_unimplemented(
    message = "a closure of elements does not return `{Self}`",
    label = "expected a `Symbol`, or a tuple of up to four of them",
    note = "the same number everywhere is `full(extents, number)` of the device; beside a symbol, `x * 0.0 + number`"
)]
pub trait Outputs: Symbols + sealed::Outputs {}

impl sealed::Symbols for () {
    const DTYPES: &'static [DType] = &[];
    fn inputs(_: &Open, _: usize) {}
    fn raws(self) -> Vec<Raw> {
        Vec::new()
    }
}
impl Symbols for () {}

impl<T: Element> sealed::Symbols for Symbol<T> {
    const DTYPES: &'static [DType] = &[T::DTYPE];
    fn inputs(open: &Open, first: usize) -> Self {
        Symbol::new(open.input(first))
    }
    fn raws(self) -> Vec<Raw> {
        vec![self.raw]
    }
}
impl<T: Element> Symbols for Symbol<T> {}

impl<T: Element> sealed::Outputs for Symbol<T> {
    type Tensors = Tensor<T>;
    fn uninit(device: &Device, layout: &Layout) -> Result<AnyBuffers> {
        Ok([AnyBuffer::from(device.unwritten::<T>(layout.len())?)].into_iter().collect())
    }
    fn tie(buffers: AnyBuffers, layout: &Layout) -> Result<(Tensor<T>,), AnyBuffers> {
        Ok((tensor(buffers.into_iter().next(), layout)?,))
    }
}
impl<T: Element> Outputs for Symbol<T> {}

macro_rules! symbols { ($(($($t:ident $k:tt),*))*) => { $(
    impl<$($t: Element),*> sealed::Symbols for ($(Symbol<$t>,)*) {
        const DTYPES: &'static [DType] = &[$($t::DTYPE),*];
        fn inputs(open: &Open, first: usize) -> Self {
            ($(Symbol::<$t>::new(open.input(first + $k)),)*)
        }
        fn raws(self) -> Vec<Raw> {
            vec![$(self.$k.raw),*]
        }
    }
    impl<$($t: Element),*> Symbols for ($(Symbol<$t>,)*) {}
)* } }
symbols! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

macro_rules! outputs { ($(($($t:ident $k:tt),*))*) => { $(
    impl<$($t: Element),*> PendingDispatch<($(Tensor<$t>,)*)> {
        /// A pending of each tensor, of one dispatch: they are ready together, and each may be waited for, read or moved on by
        /// itself.
        ///
        /// ```
        /// # fn main() -> Result<(), windlass::Error> {
        /// let device = windlass::Device::host()?;
        /// let x = device.tensor([2], [1.0, 4.0])?;
        /// let (root, square) = device.map(&x, |x| (x.sqrt(), x * x))?.each();
        /// let sum = (&root + &square).eval(&device)?; // nothing waits
        /// assert_eq!(device.to_vec(&sum)?, [2.0, 18.0]);
        /// # Ok(()) }
        /// ```
        pub fn each(self) -> ($(PendingDispatch<Tensor<$t>>,)*) {
            let (tensors, each) = self.into_each();
            ($(each.of((tensors.$k,)),)*)
        }
    }
    impl<$($t: Element),*> sealed::Outputs for ($(Symbol<$t>,)*) {
        type Tensors = ($(Tensor<$t>,)*);
        fn uninit(device: &Device, layout: &Layout) -> Result<AnyBuffers> {
            let mut buffers = AnyBuffers::default();
            $(buffers.push(device.unwritten::<$t>(layout.len())?.into());)*
            Ok(buffers)
        }
        fn tie(buffers: AnyBuffers, layout: &Layout) -> Result<Self::Tensors, AnyBuffers> {
            let mut buffers = buffers.into_iter();
            Ok(($(tensor::<$t>(buffers.next(), layout)?,)*))
        }
    }
    impl<$($t: Element),*> Outputs for ($(Symbol<$t>,)*) {}
)* } }
outputs! { (A 0, B 1)(A 0, B 1, C 2)(A 0, B 1, C 2, D 3) }
