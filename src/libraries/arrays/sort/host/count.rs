//! Integers of 16 bits and less: equal ones have equal bits, so how many there are of each value is all that has to be known.

use super::Line;
use super::item::Bits;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::arrays::sort::order::{Numbers, Order};

/// Lines with fewer elements than this share of the values are sorted otherwise.
const SHARE: usize = 8;

/// Whether lines of this length go this way, if elements are all that is written.
pub(super) fn is_for(order: Order, len: usize) -> bool {
    let is_integer = matches!(order.numbers, Numbers::Unsigned | Numbers::Signed);
    is_integer && order.size <= 2 && len >= (1 << (8 * order.size)) / SHARE
}

/// Sorts a line into its first `keep` elements.
///
/// # Safety
/// The elements of the line lie at their distances, and nothing else uses those that are written.
pub(super) unsafe fn line<T: Bits>(
    order: Order,
    (n, keep): (usize, usize),
    line: &Line<T>,
    counts: &mut Vec<u32>,
) -> Result<()> {
    let most = order.most();
    counts.clear();
    room::grown(counts, most as usize + 1, 0)?;
    for i in 0..n as isize {
        // SAFETY: the caller's promise.
        let bits = unsafe { *line.x.offset(i * line.step) }.widen();
        if let Some(count) = counts.get_mut(bits as usize) {
            *count += 1;
        }
    }
    let mut next = 0;
    for key in 0..=most {
        // The map to keys turns bits over, so it is its own inverse.
        let bits = order.key(key);
        let count = counts.get(bits as usize).copied().unwrap_or(0) as usize;
        let count = count.min(keep - next);
        for i in next..next + count {
            // SAFETY: the caller's promise.
            unsafe { *line.values.offset(i as isize * line.target_step) = T::narrow(bits) };
        }
        next += count;
    }
    Ok(())
}
