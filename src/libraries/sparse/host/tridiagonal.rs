//! Tridiagonal systems, with partial pivoting.

use super::super::element::SolveElement;
use super::{at, put};
use crate::core::room::{OrUnwind, collected, copied, filled};

/// The three diagonals of a matrix with as many rows as `d` has elements. `lower[0]` and the last element of `upper`
/// are not read.
#[derive(Clone, Copy)]
pub(crate) struct Diagonals<'a, T> {
    pub(crate) lower: &'a [T],
    pub(crate) d: &'a [T],
    pub(crate) upper: &'a [T],
}

impl<T: SolveElement> Diagonals<'_, T> {
    /// Eliminates with row exchanges (the method of LAPACK's `gtsv`) and substitutes back, for `columns` right-hand
    /// sides at distance `ld` in `b`. A singular matrix gives infinities or NaNs.
    pub(crate) fn solve(&self, b: &mut [T], ld: usize, columns: usize) {
        let n = self.d.len();
        // The rows of U: the diagonal, and the two diagonals above it.
        let mut d = copied(self.d).or_unwind();
        let mut first: Vec<T> =
            collected((0..n).map(|i| if i + 1 < n { at(self.upper, i) } else { T::default() })).or_unwind();
        let mut second = filled(n, T::default()).or_unwind();
        for i in 0..n.saturating_sub(1) {
            let below = at(self.lower, i + 1);
            let exchange = at(&d, i).magnitude() < below.magnitude();
            let (pivot, up, upper) = if exchange {
                let rest = (at(&d, i), at(&first, i));
                put(&mut d, i, below);
                let (next, further) = (at(&d, i + 1), at(&first, i + 1));
                put(&mut first, i, next);
                put(&mut second, i, further);
                (rest.0, rest.1, further)
            } else {
                (below, at(&d, i + 1), at(&first, i + 1))
            };
            // Subtracts a multiple of this row from the row below; after an exchange the row below is the former row.
            let factor = pivot.over(at(&d, i));
            let (new_d, new_first) = if exchange {
                (up - factor * at(&first, i), -(factor * upper))
            } else {
                (up - factor * at(&first, i), upper)
            };
            put(&mut d, i + 1, new_d);
            put(&mut first, i + 1, new_first);
            for column in 0..columns {
                let here = column * ld + i;
                let (mut this, mut next) = (at(b, here), at(b, here + 1));
                if exchange {
                    std::mem::swap(&mut this, &mut next);
                }
                put(b, here, this);
                put(b, here + 1, next - factor * this);
            }
        }
        for column in 0..columns {
            for i in (0..n).rev() {
                let here = column * ld + i;
                let mut sum = at(b, here);
                if i + 1 < n {
                    sum = sum - at(&first, i) * at(b, here + 1);
                }
                if i + 2 < n {
                    sum = sum - at(&second, i) * at(b, here + 2);
                }
                put(b, here, sum.over(at(&d, i)));
            }
        }
    }
}
