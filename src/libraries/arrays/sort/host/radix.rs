//! A stable sort by the bytes of keys, the lowest one first.

use super::item::Item;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::arrays::sort::order::Order;

/// Fewer pairs than this are compared.
const FEW: usize = 256;

/// Sorts by those bytes of the keys that can differ; equal ones keep their order. Of pairs, the places rise. `other` is as long as
/// they are, and what it holds means nothing.
pub(super) fn radix<P: Item>(
    pairs: &mut [P],
    other: &mut [P],
    counts: &mut Vec<[u32; 256]>,
    order: Order,
) -> Result<()> {
    let n = pairs.len();
    if n <= FEW {
        if P::IS_ELEMENT {
            pairs.sort_by_key(|pair| pair.key(order));
        } else {
            pairs.sort_unstable();
        }
        return Ok(());
    }
    counts.clear();
    room::grown(counts, order.passes, [0; 256])?;
    for pair in pairs.iter() {
        let key = pair.key(order);
        for (pass, counts) in counts.iter_mut().enumerate() {
            let digit = (key >> (8 * pass)) as u8;
            if let Some(count) = counts.get_mut(usize::from(digit)) {
                *count += 1;
            }
        }
    }
    let (mut from, mut to, mut turned) = (pairs, other, false);
    for (pass, counts) in counts.iter_mut().enumerate() {
        // Nothing moves if all have one digit.
        if counts.iter().any(|count| *count as usize == n) {
            continue;
        }
        let mut next = 0;
        for count in counts.iter_mut() {
            (*count, next) = (next, next + *count);
        }
        for pair in from.iter() {
            let digit = (pair.key(order) >> (8 * pass)) as u8;
            if let Some(place) = counts.get_mut(usize::from(digit)) {
                if let Some(to) = to.get_mut(*place as usize) {
                    *to = *pair;
                }
                *place += 1;
            }
        }
        (from, to, turned) = (to, from, !turned);
    }
    if turned {
        to.copy_from_slice(from);
    }
    Ok(())
}
