//! Complex numbers as pairs of real ones, and back.

use super::{Axes, Layout};
use crate::core::error::{Error, Result};

impl Layout {
    /// Of elements of half the size, two in the place of each: with a new last axis of two.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn as_pairs(&self) -> Result<Self> {
        let twice = self.strides.iter().map(|step| step.saturating_mul(2));
        let (extents, strides) = (self.extents.iter().copied().chain([2]), twice.chain([1]));
        Self::admit(extents.collect(), strides.collect(), 2 * self.offset as i128)
    }

    /// Of elements of twice the size, one in the place of two: without the last axis, which has these two.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the last axis has not two elements that are neighbours, or when pairs are not at
    /// even distances from each other and from the beginning.
    pub(crate) fn of_pairs(&self, name: &'static str) -> Result<Self> {
        let ([extents @ .., 2], [strides @ .., step]) = (&self.extents[..], &self.strides[..]) else {
            let what = "complex numbers are a last axis of two, the real and the imaginary part";
            return Err(Error::invalid(name, format!("{self:?}: {what}")));
        };
        let even = |(step, n): (&isize, &usize)| *n == 1 || step % 2 == 0;
        let fits = *step == 1 && self.offset.is_multiple_of(2) && strides.iter().zip(extents).all(even);
        if !(fits || self.is_empty()) {
            let what = "pairs of neighbours at even distances are complex numbers; `contiguous` makes a copy with such";
            return Err(Error::invalid(name, format!("{self:?}: {what}")));
        }
        let halves: Axes<isize> = strides.iter().map(|step| step / 2).collect();
        Self::admit(extents.into(), halves, (self.offset / 2) as i128)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_complex_numbers_and_back() {
        let complex = Layout::row_major([3, 4]).unwrap().slice((1.., ..)).unwrap().transpose();
        let pairs = complex.as_pairs().unwrap();
        assert_eq!((pairs.shape(), pairs.strides(), pairs.offset()), (&[4, 2, 2][..], &[2, 8, 1][..], 8));
        assert_eq!(pairs.of_pairs("x").unwrap(), complex);
        let flipped = complex.flip(0).unwrap();
        assert_eq!(flipped.as_pairs().unwrap().of_pairs("x").unwrap(), flipped);
        let one = Layout::row_major([]).unwrap();
        assert_eq!(one.as_pairs().unwrap().of_pairs("x").unwrap(), one);
        let none = Layout::row_major([0, 2]).unwrap();
        assert_eq!(none.of_pairs("x").unwrap().shape(), [0]);
        assert!(Layout::row_major([1 << 61, 2]).unwrap().as_pairs().is_err(), "more bytes than there are");
    }

    #[test]
    fn what_no_complex_numbers_are_is_refused() {
        let says = |layout: Layout| layout.of_pairs("x").unwrap_err().to_string();
        let rows = |extents: &[usize]| Layout::row_major(extents).unwrap();
        assert!(says(rows(&[])).contains("last axis of two") && says(rows(&[2, 3])).contains("last axis of two"));
        assert!(says(rows(&[2, 3]).transpose()).contains("`contiguous`"), "{:?}", rows(&[2, 3]).transpose());
        assert!(says(rows(&[4, 3]).slice((.., ..2)).unwrap()).contains("`contiguous`"));
        assert!(says(rows(&[4, 6]).slice((.., 1..3)).unwrap()).contains("`contiguous`"));
        assert!(says(rows(&[4, 2]).flip(1).unwrap()).contains("`contiguous`"));
        assert!(says(rows(&[4, 1]).broadcast([4, 2]).unwrap()).contains("`contiguous`"));
    }
}
