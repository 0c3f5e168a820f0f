//! Several tensors as the output of one dispatch.

use super::{Strided, Tensor};
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::op::{Immediate, Output};

macro_rules! tuples { ($(($($t:ident),*))*) => { $(
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
tuples! { (A, B)(A, B, C)(A, B, C, D) }
