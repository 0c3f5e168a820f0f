//! Eigenvalues and singular values by rotations, of matrices side by side. The kernels of `small_spectra` do the same with each matrix in
//! the same order, so the bits are the same; only the sign of a zero may differ on the way, and every zero that is written is positive.
//!
//! A sweep rotates each pair of columns once, in rounds of pairs that have no column in common. A matrix that is done is rotated by
//! nothing until the others are.
//!
//! | file | content |
//! |---|---|
//! | `rotation` | rotations, and the pairs of a round |
//! | `eigen` | two-sided rotations of a symmetric matrix |
//! | `singular`, `missing` | one-sided rotations of columns, and vectors for values that are zero |

mod eigen;
mod missing;
mod rotation;
mod singular;

pub(crate) use eigen::small_eigh;
pub(crate) use singular::small_svd;

use super::wide::{Real, Wide};

/// What is written: no negative zero, and of the many NaN one.
#[inline(always)]
fn written<T: Real>(x: T, bad: bool) -> T {
    if bad { T::NAN } else { x + T::default() }
}

/// The number of a lane.
#[inline(always)]
fn lane<T: Real, const L: usize>(x: Option<&Wide<T, L>>, l: usize) -> T {
    x.and_then(|x| x.0.get(l)).copied().unwrap_or_default()
}
