//! Shapes, as calls take them.

use smallvec::SmallVec;

mod sealed {
    pub trait IntoShape {}
}

/// A shape that a call takes: the number of elements of one axis (`8`), or the number along each axis (`[2, 3]`, a slice, a `Vec`).
/// Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no shape",
    label = "expected a number of elements, or an array, a slice or a `Vec` of numbers"
)]
pub trait IntoShape: sealed::IntoShape {
    /// The number of elements along each axis.
    type Axes: AsRef<[usize]>;

    /// The number of elements along each axis.
    fn axes(self) -> Self::Axes;
}

impl sealed::IntoShape for usize {}
impl IntoShape for usize {
    type Axes = [usize; 1];
    fn axes(self) -> [usize; 1] {
        [self]
    }
}

impl<const N: usize> sealed::IntoShape for SmallVec<[usize; N]> where [usize; N]: smallvec::Array<Item = usize> {}
impl<const N: usize> IntoShape for SmallVec<[usize; N]>
where
    [usize; N]: smallvec::Array<Item = usize>,
{
    type Axes = Self;
    fn axes(self) -> Self {
        self
    }
}

macro_rules! shapes { ($([$($n:ident)?] $t:ty;)*) => { $(
    impl<$(const $n: usize)?> sealed::IntoShape for $t {}
    impl<$(const $n: usize)?> IntoShape for $t {
        type Axes = Self;
        fn axes(self) -> Self {
            self
        }
    }
)* } }
shapes! {
    [N] [usize; N];
    [N] &[usize; N];
    [] &[usize];
    [] Vec<usize>;
    [] &Vec<usize>;
}
