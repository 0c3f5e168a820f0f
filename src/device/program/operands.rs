//! What a replay takes: buffers to read, and buffers to write.

use crate::core::buffer::{AnyBuffers, AnyIn, AnyIns, DeviceBuffer, ReadableAny, TypedOutput};
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::op::Bufs;

/// Buffers for a replay to read: a tuple of up to eight values that convert into [`AnyIn`], an array or a slice of
/// [`AnyIn`]s, or `()`. In the order of [`Recorder::input`](crate::Recorder::input).
pub trait ReplayReads<'a> {
    /// The buffers as a list.
    fn into_reads(self) -> AnyIns<'a>;
}

/// Buffers for a replay to write: a tuple of up to eight [`DeviceBuffer`]s, `()`, or [`AnyBuffers`]. In the order of
/// [`Recorder::operand`](crate::Recorder::operand) and [`Recorder::output`](crate::Recorder::output). Sealed.
pub trait Moved: Sized + Send + sealed::Sealed {
    #[doc(hidden)]
    fn into_any(self) -> AnyBuffers;
    #[doc(hidden)]
    fn of_any(buffers: AnyBuffers) -> Result<Self, AnyBuffers>;
}

mod sealed {
    pub trait Sealed {}
}

impl<'a> ReplayReads<'a> for AnyIns<'a> {
    fn into_reads(self) -> AnyIns<'a> {
        self
    }
}
impl<'a> ReplayReads<'a> for &[AnyIn<'a>] {
    fn into_reads(self) -> AnyIns<'a> {
        self.iter().copied().collect()
    }
}
impl<'a, const N: usize> ReplayReads<'a> for [AnyIn<'a>; N] {
    fn into_reads(self) -> AnyIns<'a> {
        self.into_iter().collect()
    }
}
impl<'a> ReplayReads<'a> for () {
    fn into_reads(self) -> AnyIns<'a> {
        AnyIns::new()
    }
}

impl sealed::Sealed for AnyBuffers {}
impl Moved for AnyBuffers {
    fn into_any(self) -> AnyBuffers {
        self
    }
    fn of_any(buffers: AnyBuffers) -> Result<Self, AnyBuffers> {
        Ok(buffers)
    }
}
impl sealed::Sealed for () {}
impl Moved for () {
    fn into_any(self) -> AnyBuffers {
        AnyBuffers::default()
    }
    fn of_any(buffers: AnyBuffers) -> Result<Self, AnyBuffers> {
        <() as TypedOutput>::typed(buffers)
    }
}

macro_rules! tuples { ($(($($t:ident $i:tt),*) $output:ty;)*) => { $(
    impl<'a, $($t: ReadableAny<'a>),*> ReplayReads<'a> for ($($t,)*) {
        fn into_reads(self) -> AnyIns<'a> {
            let mut all = AnyIns::new();
            $(all.push(self.$i.into());)*
            all
        }
    }
    impl<$($t: Element),*> sealed::Sealed for ($(DeviceBuffer<$t>,)*) {}
    impl<$($t: Element),*> Moved for ($(DeviceBuffer<$t>,)*) {
        fn into_any(self) -> AnyBuffers {
            let mut all = AnyBuffers::default();
            $(all.push(self.$i.into());)*
            all
        }
        fn of_any(buffers: AnyBuffers) -> Result<Self, AnyBuffers> {
            let buffers: Bufs<$output> = <$output as TypedOutput>::typed(buffers)?;
            Ok(buffers)
        }
    }
)* } }
tuples! {
    (A 0) DeviceBuffer<A>;
    (A 0, B 1) (DeviceBuffer<A>, DeviceBuffer<B>);
    (A 0, B 1, C 2) (DeviceBuffer<A>, DeviceBuffer<B>, DeviceBuffer<C>);
    (A 0, B 1, C 2, D 3) (DeviceBuffer<A>, DeviceBuffer<B>, DeviceBuffer<C>, DeviceBuffer<D>);
    (A 0, B 1, C 2, D 3, E 4) (DeviceBuffer<A>, DeviceBuffer<B>, DeviceBuffer<C>, DeviceBuffer<D>, DeviceBuffer<E>);
    (A 0, B 1, C 2, D 3, E 4, F 5)
        (DeviceBuffer<A>, DeviceBuffer<B>, DeviceBuffer<C>, DeviceBuffer<D>, DeviceBuffer<E>, DeviceBuffer<F>);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
        (DeviceBuffer<A>, DeviceBuffer<B>, DeviceBuffer<C>, DeviceBuffer<D>, DeviceBuffer<E>, DeviceBuffer<F>,
         DeviceBuffer<G>);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
        (DeviceBuffer<A>, DeviceBuffer<B>, DeviceBuffer<C>, DeviceBuffer<D>, DeviceBuffer<E>, DeviceBuffer<F>,
         DeviceBuffer<G>, DeviceBuffer<H>);
}
