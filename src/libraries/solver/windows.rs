//! Tensors on their way through a dispatch, which sees no more of their buffers than their elements lie in.

use crate::core::element::Element;
use crate::device::tensor::{Part, Tensor, Whole};

/// What is written: tensors, in tuples.
pub(super) trait Windows: Sized {
    /// What makes the tensors again as they were.
    type Wholes;
    /// The same elements in the smallest parts of the buffers.
    fn narrow(self) -> (Self, Self::Wholes);
    fn widen(self, wholes: Self::Wholes) -> Self;
}

impl<T: Element> Windows for Tensor<T> {
    type Wholes = Whole;

    fn narrow(self) -> (Self, Whole) {
        let (buffer, layout, whole) = Part::from(self).operand();
        (Tensor::from_parts(buffer, layout), whole)
    }

    fn widen(self, whole: Whole) -> Self {
        whole.tensor(self.into_buffer())
    }
}

impl<W: Windows> Windows for Option<W> {
    type Wholes = Option<W::Wholes>;

    fn narrow(self) -> (Self, Self::Wholes) {
        self.map(W::narrow).unzip()
    }

    fn widen(self, wholes: Self::Wholes) -> Self {
        self.zip(wholes).map(|(narrow, whole)| narrow.widen(whole))
    }
}

macro_rules! tuples { ($(($($w:ident $i:tt),*))*) => { $(
    impl<$($w: Windows),*> Windows for ($($w,)*) {
        type Wholes = ($($w::Wholes,)*);

        #[expect(non_snake_case, reason = "the members have the names of their types")]
        fn narrow(self) -> (Self, Self::Wholes) {
            let ($($w,)*) = ($(self.$i.narrow(),)*);
            (($($w.0,)*), ($($w.1,)*))
        }

        fn widen(self, wholes: Self::Wholes) -> Self {
            ($(self.$i.widen(wholes.$i),)*)
        }
    }
)* } }
tuples! { (A 0)(A 0, B 1)(A 0, B 1, C 2)(A 0, B 1, C 2, D 3)(A 0, B 1, C 2, D 3, E 4) }
