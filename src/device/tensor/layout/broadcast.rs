//! NumPy's broadcasting.

use super::{Axes, Layout};
use crate::core::error::{Error, Result};

impl Layout {
    /// Repeats the elements along axes of extent 1 and along new axes at the front, by a stride of zero: NumPy's
    /// `broadcast_to`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], with the axis, when an extent is neither 1 nor the wanted one; when there are fewer
    /// axes than before; and when the elements are more than `isize` can count.
    pub fn broadcast(&self, extents: impl AsRef<[usize]>) -> Result<Self> {
        let extents = extents.as_ref();
        if extents == self.shape() {
            return Ok(self.clone());
        }
        Self::check_rank(extents.len())?;
        let Some(new) = extents.len().checked_sub(self.rank()) else {
            return Err(Error::invalid("extents", format!("{extents:?} has fewer axes than {:?}", self.extents)));
        };
        let mut strides: Axes<isize> = (0..new).map(|_| 0).collect();
        for (axis, ((n, stride), wanted)) in
            self.extents.iter().zip(&self.strides).zip(extents.iter().skip(new)).enumerate()
        {
            match *n {
                n if n == *wanted => strides.push(*stride),
                1 => strides.push(0),
                n => {
                    let what =
                        format!("{n} elements on axis {axis} of {:?} do not broadcast to {wanted}", self.extents);
                    return Err(Error::invalid("extents", format!("{what} of {extents:?}")));
                }
            }
        }
        Self::admit(extents.into(), strides, self.offset as i128)
    }

    /// The layout of a single element, repeated to the extents of this one.
    pub(crate) fn broadcast_of_one(&self) -> Result<Self> {
        Self::admit(self.extents.clone(), self.extents.iter().map(|_| 0).collect(), 0)
    }

    /// The extents that all of these broadcast to, aligned at their last axes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], with the number of the operand and the axis, when two extents differ and neither is 1.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::tensor::Layout;
    /// assert_eq!(Layout::broadcast_extents(&[&[5, 1, 3], &[4, 1]])?, [5, 4, 3]);
    /// assert!(Layout::broadcast_extents(&[&[2], &[3]]).is_err());
    /// # Ok(()) }
    /// ```
    pub fn broadcast_extents(operands: &[&[usize]]) -> Result<Vec<usize>> {
        let rank = operands.iter().map(|extents| extents.len()).max().unwrap_or(0);
        Self::check_rank(rank)?;
        let mut common = vec![1; rank];
        for (number, extents) in operands.iter().enumerate() {
            for (axis, (all, n)) in common.iter_mut().rev().zip(extents.iter().rev()).enumerate() {
                match (*all, *n) {
                    (all, n) if all == n => {}
                    (_, 1) => {}
                    (1, n) => *all = n,
                    (all, _) => {
                        let other = operands.iter().position(|extents| extents.iter().rev().nth(axis) == Some(&all));
                        let other = other.unwrap_or_default();
                        let with = operands.get(other).copied().unwrap_or_default();
                        let what = format!("operand {number} has shape {extents:?}, but operand {other} has {with:?}");
                        return Err(Error::invalid("operands", what + ": they do not broadcast to each other"));
                    }
                }
            }
        }
        Ok(common)
    }

    /// The extents that both of these arguments broadcast to.
    pub(crate) fn broadcast_both([one, other]: [&'static str; 2], [a, b]: [&[usize]; 2]) -> Result<Vec<usize>> {
        let apart = |_| {
            let what = format!("shape {b:?}, but `{one}` has {a:?}: they do not broadcast to each other");
            Error::invalid(other, what)
        };
        Self::broadcast_extents(&[a, b]).map_err(apart)
    }

    /// The axes before the last two to which those of the matrices `a` and `b` broadcast.
    #[allow(dead_code, reason = "a build may have no library that calls it")]
    pub(crate) fn broadcast_batches(a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
        let apart = |_| {
            let what = format!("shape {b:?}, but `a` has {a:?}: the axes before their last two do not broadcast");
            Error::invalid("b", what)
        };
        let batch = |shape: &'_ [usize]| shape.len().saturating_sub(2);
        let batches = [a.get(..batch(a)).unwrap_or_default(), b.get(..batch(b)).unwrap_or_default()];
        Self::broadcast_extents(&batches).map_err(apart)
    }
}
