//! What calls take: tensors that are read, and tensors that are written.

use super::build::{Symbol, Symbols};
use crate::core::buffer::{AnyBuffer, AnyBuffers, AnyIn, DeviceBuffer, GpuRef, In};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::op::{Bufs, Immediate, Output};
use crate::device::tensor::{Layout, Part, Tensor, TensorRef, Whole};
use smallvec::SmallVec;

/// An operand that is read, without its type.
pub(in crate::libraries) type Read<'a> = (AnyIn<'a>, Layout);

pub(in crate::libraries) mod sealed {
    use super::*;

    /// A tensor that is read.
    pub trait Input {
        type Element: Element;
        fn view(&self) -> TensorRef<'_, Self::Element>;
    }

    /// Tensors that are read.
    pub trait Inputs {
        type Symbols: Symbols;
        /// The views, for as long as `f` runs.
        fn with<R>(&self, f: impl FnOnce(Result<SmallVec<[Read<'_>; 8]>>) -> R) -> R;
    }

    /// Tensors that are written.
    pub trait Targets {
        type Symbols: Symbols;
        type Tensors: Output<Host = ()> + Immediate;
        /// What makes the tensors again.
        type Wholes: Send;
        /// The layout of the first one.
        fn shape(&self) -> &[usize];
        /// The windows that are written, and their layouts.
        fn operands(self) -> (AnyBuffers, Vec<Layout>, Self::Wholes);
        /// The tensors again.
        fn back(wholes: Self::Wholes, buffers: AnyBuffers) -> Result<Bufs<Self::Tensors>, AnyBuffers>;
    }
}
/// Tensors that a formula reads: one, or a tuple of up to eight; `()` for none. Each is a [`&Tensor`](Tensor), a
/// [`&TensorRef`](TensorRef) or a `TensorRef`, or a buffer or a part of one as a vector; work in flight that has nothing to report
/// counts as its tensor. They are broadcast to each other. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a formula reads",
    label = "expected `&Tensor<T>`, a `TensorRef<T>` or `&DeviceBuffer<T>`, or a tuple of up to eight of them",
    note = "of a parameter `x: impl ReadableTensor<'_, T>` take the view first: `let x: TensorRef<'_, T> = x.into();`, then `&x`",
    note = "work in flight is read as `&pending`, unless it has a verdict: then `.await_result()?` gives its tensor"
)]
pub trait Inputs: sealed::Inputs {}

/// Tensors that a formula writes: a [`Tensor`] or a [`Part`], or a tuple of up to four. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a formula writes",
    label = "expected a `Tensor<T>` by value, a `Part<T>` of one, or a tuple of up to four of them",
    note = "what is written is moved in and comes back from the wait: without `&`"
)]
pub trait Targets: sealed::Targets {}

/// The view as an operand.
fn read<'v, T: Element>(view: &'v TensorRef<'_, T>) -> Result<Read<'v>> {
    let (part, layout) = view.operand()?;
    Ok((part.into(), layout))
}

macro_rules! inputs { ($([$($g:tt)*] $t:ty, $e:ty, |$x:ident| $view:expr;)*) => { $(
    impl<$($g)*> sealed::Input for $t {
        type Element = $e;
        fn view(&self) -> TensorRef<'_, $e> {
            let $x = self;
            $view
        }
    }
    impl<$($g)*> sealed::Inputs for $t {
        type Symbols = Symbol<$e>;
        fn with<R>(&self, f: impl FnOnce(Result<SmallVec<[Read<'_>; 8]>>) -> R) -> R {
            let view = sealed::Input::view(self);
            f(read(&view).map(|read| [read].into_iter().collect()))
        }
    }
    impl<$($g)*> Inputs for $t {}
)* } }
inputs! {
    [T: Element] &Tensor<T>, T, |x| Tensor::view(x);
    [T: Element] &PendingDispatch<Tensor<T>>, T, |x| Tensor::view(x);
    [T: Element] PendingDispatch<Tensor<T>>, T, |x| Tensor::view(x);
    [T: Element] &PendingDispatch<DeviceBuffer<T>>, T, |x| TensorRef::from(x.as_in());
    [T: Element] PendingDispatch<DeviceBuffer<T>>, T, |x| TensorRef::from(x.as_in());
    [T: Element] &TensorRef<'_, T>, T, |x| TensorRef::view(x);
    [T: Element] TensorRef<'_, T>, T, |x| TensorRef::view(x);
    [T: Element] &DeviceBuffer<T>, T, |x| TensorRef::from(*x);
    [T: Element] &GpuRef<T>, T, |x| TensorRef::from(x.as_in());
    [T: Element] GpuRef<T>, T, |x| TensorRef::from(x.as_in());
    [T: Element] In<'_, T>, T, |x| TensorRef::from(*x);
}

impl sealed::Inputs for () {
    type Symbols = ();
    fn with<R>(&self, f: impl FnOnce(Result<SmallVec<[Read<'_>; 8]>>) -> R) -> R {
        f(Ok(SmallVec::new()))
    }
}
impl Inputs for () {}

macro_rules! input_tuples { ($(($($t:ident $k:tt),*))*) => { $(
    impl<$($t: sealed::Input),*> sealed::Inputs for ($($t,)*) {
        type Symbols = ($(Symbol<$t::Element>,)*);
        fn with<R>(&self, f: impl FnOnce(Result<SmallVec<[Read<'_>; 8]>>) -> R) -> R {
            let views = ($(self.$k.view(),)*);
            let all = || Ok([$(read(&views.$k)?),*].into_iter().collect());
            f(all())
        }
    }
    impl<$($t: sealed::Input),*> Inputs for ($($t,)*) {}
)* } }
input_tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

/// A tensor that is written: a [`Tensor`], or a [`Part`] of one, or work in flight that has nothing to report.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tensor that can be written",
    label = "expected a `Tensor<T>` by value, or a `Part<T>` of one",
    note = "what is written is moved in and comes back from the wait: without `&`"
)]
pub trait Target: Into<Part<Self::Element>> + target::Sealed {
    /// The type of its elements.
    type Element: Element;
    #[doc(hidden)]
    fn shape(&self) -> &[usize];
}

mod target {
    pub trait Sealed {}
}

impl<T: Element> target::Sealed for Tensor<T> {}
impl<T: Element> Target for Tensor<T> {
    type Element = T;
    fn shape(&self) -> &[usize] {
        Tensor::shape(self)
    }
}

impl<T: Element> target::Sealed for PendingDispatch<Tensor<T>> {}
impl<T: Element> Target for PendingDispatch<Tensor<T>> {
    type Element = T;
    fn shape(&self) -> &[usize] {
        Tensor::shape(self)
    }
}

impl<T: Element> target::Sealed for Part<T> {}
impl<T: Element> Target for Part<T> {
    type Element = T;
    fn shape(&self) -> &[usize] {
        self.layout().shape()
    }
}

/// What makes a tensor again of its buffer.
pub struct Back(Whole);

fn tensor<T: Element>(Back(whole): Back, buffer: Option<AnyBuffer>) -> Result<Tensor<T>, AnyBuffers> {
    let buffer = buffer.ok_or_else(AnyBuffers::default)?;
    buffer.downcast().map(|buffer| whole.tensor(buffer)).map_err(|buffer| [buffer].into_iter().collect())
}

macro_rules! single_targets { ($($t:ty)*) => { $(
    impl<T: Element> sealed::Targets for $t {
        type Symbols = Symbol<T>;
        type Tensors = Tensor<T>;
        type Wholes = Back;
        fn shape(&self) -> &[usize] {
            Target::shape(self)
        }
        fn operands(self) -> (AnyBuffers, Vec<Layout>, Back) {
            let (buffer, layout, whole) = Part::from(self).operand();
            ([AnyBuffer::from(buffer)].into_iter().collect(), vec![layout], Back(whole))
        }
        fn back(whole: Back, buffers: AnyBuffers) -> Result<(Tensor<T>,), AnyBuffers> {
            Ok((tensor(whole, buffers.into_iter().next())?,))
        }
    }
    impl<T: Element> Targets for $t {}
)* } }
single_targets! { Tensor<T> Part<T> PendingDispatch<Tensor<T>> }

macro_rules! whole {
    ($t:ident) => {
        Back
    };
}
macro_rules! target_tuples { ($(($($t:ident $k:tt),*))*) => { $(
    impl<$($t: Target),*> sealed::Targets for ($($t,)*) {
        type Symbols = ($(Symbol<$t::Element>,)*);
        type Tensors = ($(Tensor<$t::Element>,)*);
        type Wholes = ($(whole!($t),)*);
        fn shape(&self) -> &[usize] {
            self.0.shape()
        }
        fn operands(self) -> (AnyBuffers, Vec<Layout>, Self::Wholes) {
            let (mut buffers, mut layouts) = (AnyBuffers::default(), Vec::new());
            let wholes = ($({
                let part: Part<$t::Element> = self.$k.into();
                let (buffer, layout, whole) = part.operand();
                buffers.push(buffer.into());
                layouts.push(layout);
                Back(whole)
            },)*);
            (buffers, layouts, wholes)
        }
        fn back(wholes: Self::Wholes, buffers: AnyBuffers) -> Result<Self::Tensors, AnyBuffers> {
            let mut buffers = buffers.into_iter();
            Ok(($(tensor(wholes.$k, buffers.next())?,)*))
        }
    }
    impl<$($t: Target),*> Targets for ($($t,)*) {}
)* } }
target_tuples! { (A 0, B 1)(A 0, B 1, C 2)(A 0, B 1, C 2, D 3) }
