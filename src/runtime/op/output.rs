//! What an op gives.

use super::{Bufs, internal};
use crate::buffer::{DeviceBuffer, Elems};
use crate::{Element, Result};

/// How device buffers and host values make an answer.
///
/// Implemented for one or several [`DeviceBuffer`]s, for a scalar, for `Vec<T>` and `()`. Implement it for a type of
/// your own when an op gives a typed result (factors with their pivots).
pub trait Output: Sized {
    /// The element types of the buffers in it.
    type Writes: Elems;
    /// What only the wait can bring: a scalar, host data; `()` where nothing is left to report.
    type Host: Send;

    /// Puts it together, on the waiter's thread.
    ///
    /// # Errors
    /// Only where data still has to arrive on the host.
    fn join(buffers: Bufs<Self>, host: Self::Host) -> Result<Self>;

    /// The host's part can begin before the device is done: it waits for its own pieces in `join`.
    #[doc(hidden)]
    const EAGER: internal::Internal = internal::Internal::NO;
}

/// An output that is complete when it is submitted: nothing is left to report, so the next op may simply follow.
///
/// [`PendingDispatch::into_output`](crate::PendingDispatch::into_output) exists only for these. Do not implement it
/// for an output whose op can give a numerical verdict.
pub trait Immediate: Output<Host = ()> {
    /// Puts it together at submission.
    fn assemble(buffers: Bufs<Self>) -> Self;
}

impl<T: Element> Output for DeviceBuffer<T> {
    type Writes = (T,);
    type Host = ();
    fn join((buffer,): (DeviceBuffer<T>,), _: ()) -> Result<Self> {
        Ok(buffer)
    }
}
impl<T: Element> Immediate for DeviceBuffer<T> {
    fn assemble((buffer,): (DeviceBuffer<T>,)) -> Self {
        buffer
    }
}

impl Output for () {
    type Writes = ();
    type Host = ();
    fn join(_: (), _: ()) -> Result<Self> {
        Ok(())
    }
}

impl<T: Element> Output for T {
    type Writes = ();
    type Host = T;
    fn join(_: (), host: T) -> Result<Self> {
        Ok(host)
    }
}

/// A place, where there is one.
impl Output for Option<usize> {
    type Writes = ();
    type Host = Self;
    fn join(_: (), host: Self) -> Result<Self> {
        Ok(host)
    }
}

macro_rules! buffer_tuples { ($(($($t:ident),*))*) => { $(
    impl<$($t: Element),*> Output for ($(DeviceBuffer<$t>,)*) {
        type Writes = ($($t,)*);
        type Host = ();
        fn join(buffers: Self, _: ()) -> Result<Self> {
            Ok(buffers)
        }
    }
    impl<$($t: Element),*> Immediate for ($(DeviceBuffer<$t>,)*) {
        fn assemble(buffers: Self) -> Self {
            buffers
        }
    }
)* } }
buffer_tuples! {
    (A, B)(A, B, C)(A, B, C, D)(A, B, C, D, E)(A, B, C, D, E, F)(A, B, C, D, E, F, G)(A, B, C, D, E, F, G, H)
}

impl<T: Element> Output for Vec<DeviceBuffer<T>> {
    type Writes = (crate::buffer::List<T>,);
    type Host = ();
    fn join((buffers,): (Vec<DeviceBuffer<T>>,), _: ()) -> Result<Self> {
        Ok(buffers)
    }
}
impl<T: Element> Immediate for Vec<DeviceBuffer<T>> {
    fn assemble((buffers,): (Vec<DeviceBuffer<T>>,)) -> Self {
        buffers
    }
}
