//! Pivots that are too small: static pivoting replaces them, so that the structure stays, and says how many (Li and Demmel,
//! "SuperLU_DIST", ACM Trans. Math. Software 29, 2003).
//!
//! A pivot that is negligible beside the scaled matrix, or so small beside its own row and column that half of the digits would be
//! lost, is replaced by the least pivot that is neither. One that costs three digits is kept. Both are counted: a plain
//! solution is refused then.

use crate::libraries::direct::factor::Pivots;
use crate::libraries::sparse::SolveElement;

/// The limits for the pivots of one matrix.
pub(crate) struct Limits {
    /// Negligible beside the matrix.
    tiny: f64,
    /// The share of its row times its column that a pivot must have.
    share: f64,
    pub(crate) found: Pivots,
}

/// The growth from which a pivot is counted.
const GROWTH: f64 = 1e3;

impl Limits {
    /// For a scaled matrix whose largest entry is `largest`.
    pub(crate) fn new<T: SolveElement>(largest: f64) -> Self {
        Limits { tiny: 128.0 * T::EPSILON * largest, share: T::EPSILON.sqrt(), found: Pivots::default() }
    }

    /// The pivot to take, where the rest of its column and row are at most so large. `None` if the matrix is singular.
    pub(crate) fn pivot<T: SolveElement>(&mut self, pivot: T, (column, row): (f64, f64)) -> Option<T> {
        let size = pivot.magnitude();
        if size == 0.0 && (column == 0.0 || row == 0.0) {
            return None;
        }
        // In this order: a product that overflows is infinite, and one of nothing is zero.
        let grown = if column == 0.0 || row == 0.0 { 0.0 } else { column * row };
        let least = self.tiny.max(self.share * grown);
        if size < least {
            self.found.perturbed += 1;
            let phase = if size == 0.0 { T::ONE } else { pivot.over(T::from_parts(size, 0.0)) };
            return Some(phase * T::from_parts(least, 0.0));
        }
        if grown > GROWTH * size {
            self.found.perturbed += 1;
        }
        Some(pivot)
    }
}
