//! What a replay takes: tensors to read, and tensors to write.

use super::replay::Replay;
use crate::core::buffer::{AnyBuffers, AnyIn, AnyIns, DeviceBuffer, Dyn, Elems, GpuRef, In, TypedOutput};
use crate::core::dispatch::PendingDispatch;
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::device::tensor::{AnyTensor, AnyTensorRef, Layout, Part, Strided, Tensor, TensorRef, Whole};
use crate::engines::op::Op;

/// Operands for a replay to read: a tuple of up to eight tensors, views or buffers (a buffer counts as a tensor of one axis), an array
/// or a slice of [`AnyIn`]s (of which only lengths and types are compared), or `()`. In the order of
/// [`Recorder::input`](crate::Recorder::input).
pub trait ReplayReads<'a> {
    /// The memory of each, if it lies as the recording named it.
    #[doc(hidden)]
    fn into_reads(self, named: Named<'_>) -> Result<AnyIns<'a>>;
}

/// Operands for a replay to write: a tuple of up to eight [`Tensor`]s, parts of them or buffers (a buffer counts as a tensor of one
/// axis), `()`, or [`AnyBuffers`] (of which only lengths and types are compared). In the order of
/// [`Recorder::operand`](crate::Recorder::operand) and [`Recorder::output`](crate::Recorder::output). Sealed.
pub trait Moved: Sized + sealed::Moved {
    /// What the replay gives back.
    type Back: ReplayBack;
    #[doc(hidden)]
    type Kept;
    #[doc(hidden)]
    fn into_any(self, named: Named<'_>) -> Result<(AnyBuffers, Self::Kept), Rejected<Self::Back>>;
    #[doc(hidden)]
    fn back(buffers: AnyBuffers, kept: Self::Kept) -> Result<Self::Back>;
}

/// What a replay gives back: a tuple of tensors, `()`, or [`AnyBuffers`]. Sealed.
pub trait ReplayBack: Sized + Send + Sync + sealed::ReplayBack + 'static {
    #[doc(hidden)]
    type Elems: Elems<Bufs = Self>;
}

/// One operand of a replay that is read. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand that a replay can read",
    label = "expected `&Tensor`, a view of one, or a buffer as a vector",
    note = "work in flight is read as `&pending`, unless it has a verdict: then `.await_result()?` gives its tensor"
)]
pub trait ReplayRead<'a>: Into<AnyTensorRef<'a>> + sealed::ReplayRead<'a> {}

/// One operand of a replay that is written. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tensor that a replay can write",
    label = "expected a `Tensor` by value, a part of one, or a `DeviceBuffer` as a vector"
)]
pub trait MovedOne: Into<Part<Self::Of>> + sealed::MovedOne {
    /// The type of its elements.
    type Of: Element;
}

macro_rules! read { ($([$($p:tt)*] $t:ty;)*) => { $(
    impl<'a, $($p)*> sealed::ReplayRead<'a> for $t {}
    impl<'a, $($p)*> ReplayRead<'a> for $t {}
)* } }
read! {
    [T: Element] &'a Tensor<T>;
    [T: Element] &'a TensorRef<'_, T>;
    [T: Element] &'a DeviceBuffer<T>;
    [T: Element] &'a GpuRef<T>;
    [T: Element] In<'a, T>;
    [T: Element] &'a PendingDispatch<Tensor<T>>;
    [T: Element] &'a PendingDispatch<DeviceBuffer<T>>;
    [] &'a AnyTensor;
    [] &AnyTensorRef<'a>;
    [] AnyTensorRef<'a>;
    [] AnyIn<'a>;
}

mod sealed {
    pub trait ReplayRead<'a> {}
    pub trait Moved {}
    pub trait ReplayBack {}
    pub trait MovedOne {}
}

macro_rules! moved { ($($t:ty),*) => { $(
    impl<T: Element> sealed::MovedOne for $t {}
    impl<T: Element> MovedOne for $t {
        type Of = T;
    }
)* } }
moved!(Tensor<T>, Part<T>, DeviceBuffer<T>, PendingDispatch<Tensor<T>>, PendingDispatch<DeviceBuffer<T>>);

/// How a recording named its operands of one kind.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Named<'p> {
    pub(super) what: &'static str,
    /// In order. What is behind the last is not compared.
    pub(super) layouts: &'p [Layout],
}

impl Named<'_> {
    /// # Errors
    /// [`Error::InvalidArgument`] for an operand of another shape, or one that lies in another way.
    fn admit(&self, index: usize, given: &Layout) -> Result<()> {
        match self.layouts.get(index) {
            Some(named) if !lies_alike(given, named) => Err(self.refusal(index, given, named)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn refusal(&self, index: usize, given: &Layout, named: &Layout) -> Error {
        let said = |layout: &Layout| match layout.is_row_major() {
            true => format!("shape {:?}", layout.shape()),
            false => format!("shape {:?} with strides {:?}", layout.shape(), layout.strides()),
        };
        let what = format!("{}, but {} was recorded", said(given), said(named));
        Error::invalid(format!("{} {index}", self.what), what).in_op(Replay::NAME, Replay::LIBRARY)
    }

    fn read<'a>(&self, index: usize, given: &AnyTensorRef<'a>) -> Result<AnyIn<'a>> {
        self.admit(index, given.layout())?;
        given.part()
    }
}

/// Whether two layouts have their elements at the same distances from each other.
fn lies_alike(one: &Layout, other: &Layout) -> bool {
    let steps = one.strides().iter().zip(other.strides());
    one.shape() == other.shape() && (one.is_empty() || steps.zip(one.shape()).all(|((a, b), n)| *n == 1 || a == b))
}

impl<'a> ReplayReads<'a> for AnyIns<'a> {
    fn into_reads(self, _: Named<'_>) -> Result<AnyIns<'a>> {
        Ok(self)
    }
}
impl<'a> ReplayReads<'a> for &[AnyIn<'a>] {
    fn into_reads(self, _: Named<'_>) -> Result<AnyIns<'a>> {
        Ok(self.iter().copied().collect())
    }
}
impl<'a, const N: usize> ReplayReads<'a> for [AnyIn<'a>; N] {
    fn into_reads(self, _: Named<'_>) -> Result<AnyIns<'a>> {
        Ok(self.into_iter().collect())
    }
}
impl<'a> ReplayReads<'a> for () {
    fn into_reads(self, _: Named<'_>) -> Result<AnyIns<'a>> {
        Ok(AnyIns::new())
    }
}

impl sealed::Moved for AnyBuffers {}
impl Moved for AnyBuffers {
    type Back = AnyBuffers;
    type Kept = ();
    fn into_any(self, _: Named<'_>) -> Result<(AnyBuffers, ()), Rejected<AnyBuffers>> {
        Ok((self, ()))
    }
    fn back(buffers: AnyBuffers, (): ()) -> Result<AnyBuffers> {
        Ok(buffers)
    }
}
impl sealed::ReplayBack for AnyBuffers {}
impl ReplayBack for AnyBuffers {
    type Elems = Dyn;
}
impl sealed::Moved for () {}
impl Moved for () {
    type Back = ();
    type Kept = ();
    fn into_any(self, _: Named<'_>) -> Result<(AnyBuffers, ()), Rejected<()>> {
        Ok((AnyBuffers::default(), ()))
    }
    fn back(buffers: AnyBuffers, (): ()) -> Result<()> {
        Ok(<() as TypedOutput>::typed(buffers)?)
    }
}
impl sealed::ReplayBack for () {}
impl ReplayBack for () {
    type Elems = ();
}

macro_rules! whole {
    ($t:ident) => {
        Whole
    };
}

macro_rules! tuples { ($(($($t:ident $i:tt),*) $output:ty;)*) => { $(
    impl<'a, $($t: ReplayRead<'a>),*> ReplayReads<'a> for ($($t,)*) {
        fn into_reads(self, named: Named<'_>) -> Result<AnyIns<'a>> {
            let mut all = AnyIns::new();
            $(all.push(named.read($i, &self.$i.into())?);)*
            Ok(all)
        }
    }
    impl<$($t: MovedOne),*> sealed::Moved for ($($t,)*) {}
    impl<$($t: MovedOne),*> Moved for ($($t,)*) {
        type Back = ($(Tensor<$t::Of>,)*);
        type Kept = ($(whole!($t),)*);
        fn into_any(self, named: Named<'_>) -> Result<(AnyBuffers, Self::Kept), Rejected<Self::Back>> {
            let parts: ($(Part<$t::Of>,)*) = ($(self.$i.into(),)*);
            let admitted = Ok(())$(.and_then(|()| named.admit($i, parts.$i.layout())))*;
            if let Err(error) = admitted {
                return Err(Rejected::new(error, ($(parts.$i.into_tensor(),)*)));
            }
            let mut all = AnyBuffers::default();
            let kept = ($({
                let (buffer, _, whole) = parts.$i.operand();
                all.push(buffer.into());
                whole
            },)*);
            Ok((all, kept))
        }
        fn back(buffers: AnyBuffers, kept: Self::Kept) -> Result<Self::Back> {
            let buffers = <$output as TypedOutput>::typed(buffers)?;
            Ok(($(kept.$i.tensor(buffers.$i),)*))
        }
    }
    impl<$($t: Element),*> sealed::ReplayBack for ($(Tensor<$t>,)*) {}
    impl<$($t: Element),*> ReplayBack for ($(Tensor<$t>,)*) {
        type Elems = ($(Strided<$t>,)*);
    }
)* } }
tuples! {
    (A 0) DeviceBuffer<A::Of>;
    (A 0, B 1) (DeviceBuffer<A::Of>, DeviceBuffer<B::Of>);
    (A 0, B 1, C 2) (DeviceBuffer<A::Of>, DeviceBuffer<B::Of>, DeviceBuffer<C::Of>);
    (A 0, B 1, C 2, D 3) (DeviceBuffer<A::Of>, DeviceBuffer<B::Of>, DeviceBuffer<C::Of>, DeviceBuffer<D::Of>);
    (A 0, B 1, C 2, D 3, E 4)
        (DeviceBuffer<A::Of>, DeviceBuffer<B::Of>, DeviceBuffer<C::Of>, DeviceBuffer<D::Of>, DeviceBuffer<E::Of>);
    (A 0, B 1, C 2, D 3, E 4, F 5)
        (DeviceBuffer<A::Of>, DeviceBuffer<B::Of>, DeviceBuffer<C::Of>, DeviceBuffer<D::Of>, DeviceBuffer<E::Of>,
         DeviceBuffer<F::Of>);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
        (DeviceBuffer<A::Of>, DeviceBuffer<B::Of>, DeviceBuffer<C::Of>, DeviceBuffer<D::Of>, DeviceBuffer<E::Of>,
         DeviceBuffer<F::Of>, DeviceBuffer<G::Of>);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
        (DeviceBuffer<A::Of>, DeviceBuffer<B::Of>, DeviceBuffer<C::Of>, DeviceBuffer<D::Of>, DeviceBuffer<E::Of>,
         DeviceBuffer<F::Of>, DeviceBuffer<G::Of>, DeviceBuffer<H::Of>);
}
