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
use super::{GROUPS, WORTH};
use crate::core::room::{OrUnwind, filled};
use crate::numerics::isa::{Loop, run};
use crate::numerics::parallel::{Parts, each_part};

/// What is computed of each matrix.
trait Spectrum<T: Real>: Sync {
    /// The memory of one matrix, and of what comes out of it.
    type Item<'a>: Send;
    /// Numbers that one matrix takes.
    fn elements(&self) -> usize;
    /// Multiplications and additions for one matrix, about.
    fn work(&self) -> usize;
    /// Does it for at most `L` matrices, in memory that is zero.
    fn compute<const L: usize>(&self, items: &mut [Self::Item<'_>], room: &mut [Wide<T, L>]);
}

/// Does the job, with `L` matrices side by side.
fn each<T: Real, const L: usize, J: Spectrum<T>>(job: &J, mut items: Vec<J::Item<'_>>) {
    let work = job.work().saturating_mul(L * GROUPS).max(1);
    // Few matrices are shared out, too.
    let size = if items.len() <= L * GROUPS { L } else { L * GROUPS };
    let parts = Parts::with_size(size).least((WORTH / work).max(1));
    each_part(&mut items, parts, &|_, items| {
        let mut room = filled(job.elements(), Wide::<T, L>::zero()).or_unwind();
        let mut one = filled(job.elements(), Wide::<T, 1>::zero()).or_unwind();
        for group in items.chunks_mut(L) {
            // Of a few matrices each is alone: with the same bits.
            if group.len() * 4 > L {
                run(Group { job, items: group, room: &mut room });
            } else {
                group.chunks_mut(1).for_each(|items| run(Group { job, items, room: &mut one }));
            }
        }
    });
}

struct Group<'g, 'a, T: Real, J: Spectrum<T>, const L: usize> {
    job: &'g J,
    items: &'g mut [J::Item<'a>],
    room: &'g mut [Wide<T, L>],
}

impl<T: Real, J: Spectrum<T>, const L: usize> Loop for Group<'_, '_, T, J, L> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        self.room.fill(Wide::zero());
        self.job.compute(self.items, self.room);
    }
}

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
