//! Tensors of arrays of arrays.

use super::Tensor;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::device::Device;

pub(crate) mod sealed {
    pub trait Nested {}
}

/// Numbers with a shape: an array, or arrays of arrays, up to four deep; and, with the cargo feature `ndarray`, an array or a view of
/// that crate. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array that a tensor can be made of",
    label = "expected an array of elements, arrays of arrays (up to four deep), or an array of `ndarray`",
    note = "of a `Vec` or a slice with a shape, `device.tensor(shape, elements)` makes a tensor"
)]
pub trait Nested: sealed::Nested {
    /// The type of the elements.
    type Element: Element;

    #[doc(hidden)]
    fn tensor_on(self, device: &Device) -> Result<Tensor<Self::Element>>;
}

/// Arrays of arrays.
trait Arrays {
    type Element;

    /// The number of elements along each axis.
    fn shape(&self) -> Vec<usize>;

    /// All elements, the last axis fastest.
    fn elements(self) -> Vec<Self::Element>;
}

macro_rules! nested { ($([$($n:ident)+] $t:ty, |$x:ident| $elements:expr;)*) => { $(
    impl<T: Element, $(const $n: usize),+> sealed::Nested for $t {}
    impl<T: Element, $(const $n: usize),+> Nested for $t {
        type Element = T;
        fn tensor_on(self, device: &Device) -> Result<Tensor<T>> {
            let shape = Arrays::shape(&self);
            device.tensor(shape, self.elements())
        }
    }
    impl<T: Element, $(const $n: usize),+> Arrays for $t {
        type Element = T;
        fn shape(&self) -> Vec<usize> {
            vec![$($n),+]
        }
        fn elements(self) -> Vec<T> {
            let $x = self;
            $elements
        }
    }
)* } }
nested! {
    [A] [T; A], |x| x.into();
    [A B] [[T; B]; A], |x| x.into_iter().flatten().collect();
    [A B C] [[[T; C]; B]; A], |x| x.into_iter().flatten().flatten().collect();
    [A B C D] [[[[T; D]; C]; B]; A], |x| x.into_iter().flatten().flatten().flatten().collect();
}

/// Making tensors: of numbers in brackets.
impl Device {
    /// A tensor of these numbers, as they stand there: NumPy's `array`. Uploads them, as [`tensor`](Self::tensor). An array of `ndarray`
    /// whose first axis is the fastest gives a column-major tensor.
    ///
    /// # Errors
    /// As [`upload`](Self::upload).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let x = device.tensor_of([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
    /// assert_eq!(x.shape(), [2, 3]);
    /// assert_eq!(device.show(&x)?.to_string(), "[[1. 2. 3.]\n [4. 5. 6.]]");
    /// # Ok(()) }
    /// ```
    #[doc(alias = "array")]
    pub fn tensor_of<N: Nested>(&self, numbers: N) -> Result<Tensor<N::Element>> {
        numbers.tensor_on(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Arrays;

    #[test]
    fn the_last_axis_is_the_fastest() {
        let four = [[[[1, 2], [3, 4], [5, 6]]], [[[7, 8], [9, 10], [11, 12]]]];
        assert_eq!((four.shape(), four.elements()), (vec![2, 1, 3, 2], (1..=12).collect()));
        assert_eq!(([[0.0f32; 3]; 0].shape(), [[0.0f32; 3]; 0].elements()), (vec![0, 3], vec![]));
        assert_eq!([true, false].map(u8::from).shape(), [2]);
    }
}
