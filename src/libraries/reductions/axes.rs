//! Which axes a call reduces.

use crate::core::error::{Error, Result};

mod sealed {
    use super::*;

    pub trait Axes {
        /// A bit for each axis of `rank`, and whether the axes stay, with one element.
        fn mask(&self, rank: usize) -> Result<(u64, bool)>;
    }
}

/// The axes that a reduction takes: a number, an array or a slice of numbers, of which negative ones count from the end, or
/// [`All`]. [`Keep`] around them keeps them with the extent 1. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which axes are reduced",
    label = "expected a number, an array or a slice of numbers, or `reductions::All`",
    note = "`All` takes all axes; `Keep(axes)` keeps them with the extent 1"
)]
pub trait Axes: sealed::Axes {}

/// All axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct All;

/// Axes that stay in the result, with the extent 1: NumPy's `keepdims`.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::reductions::Keep;
/// let device = windlass::Device::best()?;
/// let x = device.tensor([2, 2], [1.0f32, 3.0, 10.0, 30.0])?;
/// let mean = device.mean(&x, Keep(-1))?.into_output();
/// assert_eq!(mean.shape(), [2, 1]);
/// let centred = (&x - &mean).eval(&device)?.await_result()?;
/// assert_eq!(device.show(&centred)?.to_string(), "[[ -1.   1.]\n [-10.  10.]]");
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep<A>(
    /// The axes.
    pub A,
);

/// Where an axis of the argument `name` is.
fn place(name: &'static str, axis: i32, rank: usize) -> Result<usize> {
    let place = if axis < 0 { rank.checked_sub(axis.unsigned_abs() as usize) } else { Some(axis as usize) };
    place
        .filter(|place| *place < rank)
        .ok_or_else(|| Error::invalid(name, format!("axis {axis}, but the rank is {rank}")))
}

/// The axis of a call that has one, and whose argument is `axis`.
pub(in crate::libraries) fn check_axis(axis: i32, rank: usize) -> Result<()> {
    place("axis", axis, rank).map(drop)
}

fn mask(axes: &[i32], rank: usize) -> Result<(u64, bool)> {
    let mut mask = 0u64;
    for axis in axes {
        let place = place("axes", *axis, rank)?;
        if mask >> place & 1 == 1 {
            return Err(Error::invalid("axes", format!("axis {axis} twice")));
        }
        mask |= 1 << place;
    }
    Ok((mask, false))
}

impl sealed::Axes for All {
    fn mask(&self, rank: usize) -> Result<(u64, bool)> {
        Ok((all(rank), false))
    }
}
impl Axes for All {}

/// A bit for each axis.
pub(super) fn all(rank: usize) -> u64 {
    if rank >= 64 { u64::MAX } else { (1 << rank) - 1 }
}

impl sealed::Axes for i32 {
    fn mask(&self, rank: usize) -> Result<(u64, bool)> {
        mask(&[*self], rank)
    }
}
impl Axes for i32 {}

/// A bit for each axis, and whether the axes stay: axes that were found.
pub(in crate::libraries) struct Bits(pub(in crate::libraries) u64, pub(in crate::libraries) bool);

impl sealed::Axes for Bits {
    fn mask(&self, _: usize) -> Result<(u64, bool)> {
        Ok((self.0, self.1))
    }
}

macro_rules! lists { ($([$($g:tt)*] $t:ty;)*) => { $(
    impl<$($g)*> sealed::Axes for $t {
        fn mask(&self, rank: usize) -> Result<(u64, bool)> {
            mask(self.as_ref(), rank)
        }
    }
    impl<$($g)*> Axes for $t {}
)* } }
lists! {
    [const N: usize] [i32; N];
    [const N: usize] &[i32; N];
    [] &[i32];
    [] Vec<i32>;
    [] &Vec<i32>;
}

impl<A: Axes> sealed::Axes for Keep<A> {
    fn mask(&self, rank: usize) -> Result<(u64, bool)> {
        Ok((self.0.mask(rank)?.0, true))
    }
}
impl<A: Axes> Axes for Keep<A> {}

pub(crate) use sealed::Axes as Mask;
