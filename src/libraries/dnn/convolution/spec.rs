//! What a caller says of a convolution.

use crate::core::error::{Error, Result};
use smallvec::SmallVec;

/// The window of a convolution, and how it moves: strides, padding, dilation, groups; and the rules of its arithmetic.
///
/// ```
/// use windlass::dnn::Convolution;
/// let conv = Convolution::new().padding(1).stride([2, 2]).groups(4);
/// ```
///
/// A number stands for all axes, an array has one for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Convolution {
    pub(super) stride: PerAxis<usize>,
    pub(super) dilation: PerAxis<usize>,
    pub(super) padding: PerAxis<(usize, usize)>,
    pub(super) groups: Option<usize>,
    pub(super) tf32: bool,
    pub(super) deterministic: bool,
    pub(super) most_workspace: Option<usize>,
}

/// A value for all axes, one for each, or none.
pub(super) type PerAxis<T> = Option<SmallVec<[T; 3]>>;

/// Sizes along the spatial axes: a number for all of them, or an array with one for each. Sealed.
pub trait Spatial: sealed::Spatial {
    /// The sizes, one for all axes or one for each.
    #[doc(hidden)]
    fn shape(self) -> Vec<usize>
    where
        Self: Sized,
    {
        self.list().into_vec()
    }
}

/// What lies beside the elements along the spatial axes: a number on all sides, an array with one for each axis, or an array of
/// `(before, after)`. Sealed.
pub trait Paddings: sealed::Paddings {}

mod sealed {
    use super::*;
    pub trait Spatial {
        fn list(self) -> SmallVec<[usize; 3]>;
    }
    pub trait Paddings {
        fn list(self) -> SmallVec<[(usize, usize); 3]>;
    }
}

impl sealed::Spatial for usize {
    fn list(self) -> SmallVec<[usize; 3]> {
        smallvec::smallvec![self]
    }
}
impl<const N: usize> sealed::Spatial for [usize; N] {
    fn list(self) -> SmallVec<[usize; 3]> {
        SmallVec::from_slice(&self)
    }
}
impl sealed::Spatial for &[usize] {
    fn list(self) -> SmallVec<[usize; 3]> {
        SmallVec::from_slice(self)
    }
}
impl sealed::Paddings for usize {
    fn list(self) -> SmallVec<[(usize, usize); 3]> {
        smallvec::smallvec![(self, self)]
    }
}
impl<const N: usize> sealed::Paddings for [usize; N] {
    fn list(self) -> SmallVec<[(usize, usize); 3]> {
        self.iter().map(|n| (*n, *n)).collect()
    }
}
impl<const N: usize> sealed::Paddings for [(usize, usize); N] {
    fn list(self) -> SmallVec<[(usize, usize); 3]> {
        SmallVec::from_slice(&self)
    }
}
impl sealed::Paddings for &[(usize, usize)] {
    fn list(self) -> SmallVec<[(usize, usize); 3]> {
        SmallVec::from_slice(self)
    }
}
impl Spatial for usize {}
impl<const N: usize> Spatial for [usize; N] {}
impl Spatial for &[usize] {}
impl Paddings for usize {}
impl<const N: usize> Paddings for [usize; N] {}
impl<const N: usize> Paddings for [(usize, usize); N] {}
impl Paddings for &[(usize, usize)] {}

impl Convolution {
    /// Strides and dilations of 1, no padding, one group, and strict arithmetic.
    pub fn new() -> Self {
        Self::default()
    }

    /// How far the window moves from one element of the result to the next.
    #[must_use]
    pub fn stride(mut self, stride: impl Spatial) -> Self {
        self.stride = Some(stride.list());
        self
    }

    /// How far the elements of the window lie apart.
    #[must_use]
    pub fn dilation(mut self, dilation: impl Spatial) -> Self {
        self.dilation = Some(dilation.list());
        self
    }

    /// Zeros beside the input. They need not be the same on both sides of an axis.
    #[must_use]
    pub fn padding(mut self, padding: impl Paddings) -> Self {
        self.padding = Some(padding.list());
        self
    }

    /// Splits channels and filters into as many groups: each filter sees the channels of its group. As many groups as channels make
    /// a depthwise convolution.
    #[must_use]
    pub fn groups(mut self, groups: usize) -> Self {
        self.groups = Some(groups);
        self
    }

    /// On a GPU, factors of products of f32 may be rounded to the 10 bits of TF32, for speed. Other types and the CPU ignore it.
    #[must_use]
    pub fn tf32(mut self, tf32: bool) -> Self {
        self.tf32 = tf32;
        self
    }

    /// On a GPU, the same bits each time. Without it gradients may sum in the order in which threads come. The CPU always is.
    #[must_use]
    pub fn deterministic(mut self, deterministic: bool) -> Self {
        self.deterministic = deterministic;
        self
    }

    /// On a GPU, the most bytes of device memory that the library may use meanwhile. Without it an engine is taken whose workspace
    /// fits into the memory that is free when the plan is made.
    #[must_use]
    pub fn most_workspace(mut self, bytes: usize) -> Self {
        self.most_workspace = Some(bytes);
        self
    }
}

/// The values of all axes, which come last in an array of three.
pub(super) fn spread<T: Copy>(name: &'static str, given: &PerAxis<T>, rank: usize, standard: T) -> Result<[T; 3]> {
    let mut all = [standard; 3];
    let Some(given) = given else { return Ok(all) };
    let axes = all.iter_mut().skip(3 - rank);
    match &given[..] {
        [one] => axes.for_each(|axis| *axis = *one),
        each if each.len() == rank => axes.zip(each).for_each(|(axis, given)| *axis = *given),
        other => {
            let what = format!("{} values, but the convolution has {rank} spatial axes", other.len());
            return Err(Error::invalid(name, what));
        }
    }
    Ok(all)
}
