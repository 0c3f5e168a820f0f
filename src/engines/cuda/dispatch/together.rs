//! What a dispatch over several devices needs of each of them, without the devices: small enough for the model checker,
//! which runs this very file (`tests/loom/across.rs`).

use crate::core::sync::{AtomicUsize, Ordering};
use smallvec::SmallVec;

/// Takes something of each device, in the order of the devices' numbers, and returns what was taken in the order of
/// `devices`. So no two threads each hold what the other waits for. If one of them refuses, all that was taken is given
/// back.
pub(crate) fn take_in_order<D, T, E>(
    devices: &mut [D],
    number: impl Fn(&D) -> u64,
    mut take: impl FnMut(&mut D) -> Result<T, E>,
) -> Result<SmallVec<[T; 1]>, E> {
    let mut order: SmallVec<[(usize, &mut D); 1]> = devices.iter_mut().enumerate().collect();
    order.sort_unstable_by_key(|(_, device)| number(device));
    let mut taken: SmallVec<[(usize, T); 1]> = SmallVec::new();
    for (index, device) in order {
        taken.push((index, take(device)?));
    }
    taken.sort_unstable_by_key(|(index, _)| *index);
    Ok(taken.into_iter().map(|(_, one)| one).collect())
}

/// Counts the rings that keep a task. The last one that lets it go settles it: by then it is done on all devices. (If each
/// ring only looked whether the others are done, two that let it go at the same time might each miss the other.)
pub(crate) struct Rings(AtomicUsize);

impl Rings {
    pub(crate) fn new(count: usize) -> Self {
        Rings(AtomicUsize::new(count))
    }

    /// A ring lets the task go. True for the last one.
    pub(crate) fn let_go(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}
