//! Several tensors as the output of one operation.

use super::{Strided, Tensor};
use crate::core::buffer::List;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::op::{Immediate, Output};

macro_rules! outputs { ($(($($t:ident),*))*) => { $(
    impl<$($t: Element),*> Output for ($(Tensor<$t>,)*) {
        type Writes = ($(Strided<$t>,)*);
        type Host = ();
        fn join(tensors: Self, (): ()) -> Result<Self> {
            Ok(tensors)
        }
    }
    impl<$($t: Element),*> Immediate for ($(Tensor<$t>,)*) {
        fn assemble(tensors: Self) -> Self {
            tensors
        }
    }
)* } }
outputs! { (A, B)(A, B, C)(A, B, C, D) }

impl<T: Element> Output for Vec<Tensor<T>> {
    type Writes = (List<Strided<T>>,);
    type Host = ();
    fn join((tensors,): (Self,), (): ()) -> Result<Self> {
        Ok(tensors)
    }
}

impl<T: Element> Immediate for Vec<Tensor<T>> {
    fn assemble((tensors,): (Self,)) -> Self {
        tensors
    }
}
