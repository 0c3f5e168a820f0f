//! What an info means, and how the infos of a batch become one verdict.

use crate::core::error::{Error, Result, Site};
use num_complex::Complex;

/// What a positive info means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A pivot is zero.
    Singular,
    /// A leading minor is not positive.
    NotPositiveDefinite,
    /// The info is the number of elements that did not converge.
    NotConverged,
}

/// The first info of a batch that is not zero, with the number of its matrix: `0` for none, else the number in the upper half
/// and the info in the lower one.
pub(super) type First = u64;

/// The first of `info` that is not zero.
pub(super) fn first(info: &[i32]) -> First {
    let found = info.iter().enumerate().find(|(_, info)| **info != 0);
    found.map_or(0, |(i, info)| ((i as u64) << 32) | u64::from(*info as u32))
}

impl Meaning {
    /// The verdict, which says which matrix it is of.
    pub(super) fn verdict(self, first: First) -> Result<()> {
        let info = first as u32 as i32;
        let (matrix, site) = (first >> 32, Site::none());
        match (info, self) {
            (0, _) => Ok(()),
            (..0, _) => Err(Error::library(format!("cuSOLVER rejected argument {} of its routine", -i64::from(info)))),
            (_, Meaning::Singular) => Err(Error::Singular { position: info as u64, matrix, site }),
            (_, Meaning::NotPositiveDefinite) => Err(Error::NotPositiveDefinite { order: info as u64, matrix, site }),
            (_, Meaning::NotConverged) => Err(Error::NotConverged { count: info as u64, matrix, site }),
        }
    }
}

/// A verdict and a count in sixteen bytes, as bits.
pub(super) fn pack(first: First, count: usize) -> Complex<f64> {
    Complex { re: f64::from_bits(first), im: f64::from_bits(count as u64) }
}

/// The verdict and the count.
pub(super) fn unpack(raw: Complex<f64>) -> (First, usize) {
    (raw.re.to_bits(), raw.im.to_bits() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_matrix_that_failed_gives_the_verdict() {
        assert_eq!(first(&[0, 0, 0]), 0);
        assert_eq!(first(&[0, 3, 1]), (1 << 32) | 3);
        let verdict = Meaning::Singular.verdict(first(&[0, 3, 1]));
        assert!(matches!(verdict, Err(Error::Singular { position: 3, matrix: 1, .. })), "{verdict:?}");
        assert!(matches!(Meaning::Singular.verdict(first(&[-4])), Err(Error::LibraryError { .. })));
        assert!(Meaning::NotConverged.verdict(first(&[])).is_ok());
    }
}
