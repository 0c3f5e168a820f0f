//! The result of an op.

use super::{Bufs, internal};
use crate::core::buffer::{DeviceBuffer, Elems};
use crate::core::element::Element;
use crate::core::error::Result;

/// How device buffers and host values are combined into a result.
///
/// Implemented for one or several [`DeviceBuffer`]s, for a scalar, for `Vec<T>` and `()`. Implement it for a type of
/// your own if an op returns a typed result (factors with their pivots).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no output of an operation",
    label = "expected buffers of element types, a scalar, a `Vec` of one, `()`, or a type for which the operation implements `Output`"
)]
pub trait Output: Sized {
    /// The element types of the buffers in it.
    type Writes: Elems;
    /// What only the wait can provide: a scalar or host data; `()` if nothing is left to report.
    type Host: Send;

    /// Combines the buffers and the host part, on the waiting thread.
    ///
    /// # Errors
    /// Only if data still has to arrive on the host.
    fn join(buffers: Bufs<Self>, host: Self::Host) -> Result<Self>;

    /// Whether the host part can be taken before the device is done. `join` then waits for its pieces.
    #[doc(hidden)]
    const EAGER: internal::Internal = internal::Internal::NO;
}

/// An output that is complete when it is submitted: nothing is left to report, so the next op can use it at once.
///
/// [`PendingDispatch::into_output`](crate::PendingDispatch::into_output) exists only for these outputs, and only of an op that
/// leaves nothing for the host: with another [`Op::Raw`](crate::op::Op::Raw) than `()` the call has a [`Verdict`](crate::Verdict).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not complete before the device is done, so `into_output` cannot hand it on",
    label = "wait for it: `.await_result()?`",
    note = "`.into_parts()` gives the buffers of a factorization at once, and a pending for its verdict"
)]
pub trait Immediate: Output<Host = ()> {
    /// Makes the output from its buffers, at submission.
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

/// An index, or `None` if there is none.
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
    type Writes = (crate::core::buffer::List<T>,);
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
