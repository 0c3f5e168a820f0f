//! The operands of an expression.

use crate::core::element::Element;
use crate::device::tensor::{ReadableTensor, TensorRef};
use smallvec::SmallVec;

mod sealed {
    pub trait Sealed {}
}

/// Tensors of one element type that an expression reads: a tuple of up to eight, an array, a `Vec` or a slice. Each is what a call
/// can read as a tensor ([`ReadableTensor`]). Sealed.
pub trait TensorOperands<'a, T: Element>: sealed::Sealed {
    #[doc(hidden)]
    fn views(self) -> SmallVec<[TensorRef<'a, T>; 4]>;
}

impl<V, const N: usize> sealed::Sealed for [V; N] {}
impl<'a, T: Element, V: ReadableTensor<'a, T>, const N: usize> TensorOperands<'a, T> for [V; N] {
    fn views(self) -> SmallVec<[TensorRef<'a, T>; 4]> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<V> sealed::Sealed for Vec<V> {}
impl<'a, T: Element, V: ReadableTensor<'a, T>> TensorOperands<'a, T> for Vec<V> {
    fn views(self) -> SmallVec<[TensorRef<'a, T>; 4]> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<V> sealed::Sealed for &[V] {}
impl<'a, T: Element, V: ReadableTensor<'a, T> + Clone> TensorOperands<'a, T> for &[V] {
    fn views(self) -> SmallVec<[TensorRef<'a, T>; 4]> {
        self.iter().cloned().map(Into::into).collect()
    }
}

macro_rules! tuples { ($(($($v:ident $k:tt),*))*) => { $(
    impl<$($v),*> sealed::Sealed for ($($v,)*) {}
    impl<'a, T: Element, $($v: ReadableTensor<'a, T>),*> TensorOperands<'a, T> for ($($v,)*) {
        fn views(self) -> SmallVec<[TensorRef<'a, T>; 4]> {
            let mut views = SmallVec::new();
            $(views.push(self.$k.into());)*
            views
        }
    }
)* } }
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}
