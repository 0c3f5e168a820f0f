//! A tensor of one axis as a vector.

use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;

/// Elements at even distances: forwards, backwards, or all the same one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vector {
    pub(crate) len: usize,
    /// Elements from one to the next.
    pub(crate) step: isize,
}

impl Vector {
    /// # Errors
    /// [`Error::InvalidArgument`] when there is not one axis.
    pub(crate) fn from_layout(name: &'static str, layout: &Layout) -> Result<Self> {
        match layout.rank() {
            1 => Vector::last(name, layout),
            rank => Err(Error::invalid(name, format!("{layout:?} has {rank} axes, not one"))),
        }
    }

    /// The last axis.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no axis.
    pub(crate) fn last(name: &'static str, layout: &Layout) -> Result<Self> {
        match (layout.shape().last(), layout.strides().last()) {
            // The stride of a single element does not matter.
            (Some(len @ 0..=1), _) => Ok(Vector { len: *len, step: 1 }),
            (Some(len), Some(step)) => Ok(Vector { len: *len, step: *step }),
            _ => Err(Error::invalid(name, "a number, not a vector: it has no axis")),
        }
    }

    /// The number of elements, which must be neighbours.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when they are not.
    pub(crate) fn neighbours(&self, name: &'static str) -> Result<usize> {
        if self.step == 1 {
            return Ok(self.len);
        }
        let what = format!("its elements are {} apart, not neighbours; `contiguous` makes a copy whose are", self.step);
        Err(Error::invalid(name, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tensor::AxisSlice;

    #[test]
    fn strides_are_increments_and_single_elements_have_none() {
        let rows = Layout::row_major([3, 4]).unwrap();
        let vector = |layout: Layout| Vector::from_layout("x", &layout);
        assert_eq!(vector(rows.index(1, 2).unwrap()).unwrap(), Vector { len: 3, step: 4 });
        let flipped = vector(Layout::row_major([5]).unwrap().flip(0).unwrap()).unwrap();
        assert_eq!(flipped, Vector { len: 5, step: -1 });
        assert!(flipped.neighbours("x").unwrap_err().to_string().contains("`contiguous`"));
        let one = Layout::row_major([9]).unwrap().slice((AxisSlice::from(..1).step(3),)).unwrap();
        assert_eq!(vector(one).unwrap().neighbours("x").unwrap(), 1);
        assert!(vector(rows).unwrap_err().to_string().contains("2 axes"));
    }
}
