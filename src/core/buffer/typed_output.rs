//! Converts lists of untyped buffers to typed outputs.

use super::DeviceBuffer;
use super::dynamic::{AnyBuffer, AnyBuffers};
use crate::core::element::{DType, Element};
use crate::core::error::{Error, Result};
use crate::core::op::{Bufs, Output};

/// An output of typed buffers that [`AnyBuffers`] can be converted to: nothing, one [`DeviceBuffer`], or a tuple of two
/// to eight of them. Sealed.
pub trait TypedOutput: Output<Host = ()> + typed::Sealed {
    #[doc(hidden)]
    fn typed(buffers: AnyBuffers) -> Result<Bufs<Self>, AnyBuffers>;
}

macro_rules! typed_outputs { ($(($output:ty; $($t:ident $i:tt),*))*) => { $(
    impl<$($t: Element),*> TypedOutput for $output {
        fn typed(buffers: AnyBuffers) -> Result<($(DeviceBuffer<$t>,)*), AnyBuffers> {
            const NAMES: &[&str] = &[$(stringify!($t)),*];
            let types: [DType; NAMES.len()] = [$($t::DTYPE),*];
            if !buffers.iter().map(AnyBuffer::dtype).eq(types) {
                return Err(buffers);
            }
            let mut all = buffers.into_iter();
            // Their number and types were compared above.
            let wrong = |_| AnyBuffers::default();
            Ok(($({
                let _ = stringify!($t);
                all.next().ok_or_else(AnyBuffers::default)?.downcast::<$t>().map_err(wrong)?
            },)*))
        }
    }
)* } }
macro_rules! typed_tuples { ($(($($t:ident $i:tt),*))*) => {
    $(impl<$($t: Element),*> typed::Sealed for ($(DeviceBuffer<$t>,)*) {})*
    typed_outputs! { $((($(DeviceBuffer<$t>,)*); $($t $i),*))* }
} }

mod typed {
    pub trait Sealed {}
}

impl typed::Sealed for () {}
impl<A: Element> typed::Sealed for DeviceBuffer<A> {}
impl<A: Element> TypedOutput for DeviceBuffer<A> {
    fn typed(buffers: AnyBuffers) -> Result<(DeviceBuffer<A>,), AnyBuffers> {
        Ok((buffers.single()?,))
    }
}
typed_tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

impl TypedOutput for () {
    fn typed(buffers: AnyBuffers) -> Result<(), AnyBuffers> {
        if buffers.is_empty() { Ok(()) } else { Err(buffers) }
    }
}

impl From<AnyBuffers> for Error {
    /// The error for buffers that do not have the types asked for.
    fn from(buffers: AnyBuffers) -> Self {
        let types: Vec<_> = buffers.iter().map(|b| b.dtype().name()).collect();
        Error::invalid(
            "buffers",
            format!("the buffers have the element types ({}), but others were requested", types.join(", ")),
        )
    }
}
