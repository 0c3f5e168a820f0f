//! The loop over many matrices: some of them side by side, all of them on all threads.

use super::wide::{Real, Wide};
use crate::core::room::{OrUnwind, filled};
use crate::numerics::isa::{Loop, run};
use crate::numerics::parallel::{Parts, each_part};

/// Groups of matrices that one part of a loop computes, one after the other.
const GROUPS: usize = 8;
/// Multiplications and additions from which on a part is worth a thread.
const WORTH: usize = 1 << 16;

/// What is computed of each matrix.
pub(super) trait Beside<T: Real>: Sync {
    /// The memory of one matrix, and of what comes out of it.
    type Item<'a>: Send;
    /// Numbers that one matrix takes.
    fn elements(&self) -> usize;
    /// Multiplications and additions for one matrix, about.
    fn work(&self) -> usize;
    /// Does it for at most `L` matrices. The memory holds what the matrices before left.
    fn compute<const L: usize>(&self, items: &mut [Self::Item<'_>], room: &mut [Wide<T, L>]);
}

/// Does the job, with `L` matrices side by side.
pub(super) fn each<T: Real, const L: usize, J: Beside<T>>(job: &J, mut items: Vec<J::Item<'_>>) {
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

/// At most `L` matrices, and memory for as many.
struct Group<'g, 'a, T: Real, J: Beside<T>, const L: usize> {
    job: &'g J,
    items: &'g mut [J::Item<'a>],
    room: &'g mut [Wide<T, L>],
}

impl<T: Real, J: Beside<T>, const L: usize> Loop for Group<'_, '_, T, J, L> {
    type Output = ();

    #[inline(always)]
    fn body(self) {
        self.job.compute(self.items, self.room);
    }
}
