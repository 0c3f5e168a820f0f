//! The first elements of a line, where they are few: an element that comes behind as many as are wanted is not packed. How far those
//! reach is known from the elements before, and found anew whenever some more have gathered.

use super::item::{Bits, Item};
use super::{Line, pack};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::arrays::sort::order::{Order, for_order};
use crate::libraries::expressions::host::kernels::Level;

/// Elements that are looked at together.
const BLOCK: usize = 32;

/// The number of the first whole block that has a key below a limit, or how many blocks there are.
#[inline(always)]
fn search<T: Bits>(x: &[T], order: Order, limit: T) -> usize {
    let mut blocks = x.chunks_exact(BLOCK);
    let count = blocks.len();
    let found = for_order!(order => blocks.position(|block| {
        let mut any = T::NONE;
        for x in block {
            any = any | if order.key_of(*x) < limit { T::ALL } else { T::NONE };
        }
        any != T::NONE
    }));
    found.unwrap_or(count)
}

/// # Safety
/// The CPU has the vectors.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
unsafe fn search_in_vectors<T: Bits>(x: &[T], order: Order, limit: T) -> usize {
    search(x, order, limit)
}

/// Leaves the first `keep` pairs, and gives the key of the last of them.
fn cut<P: Item>(pairs: &mut Vec<P>, keep: usize, order: Order) -> u64 {
    if keep < pairs.len() {
        pairs.select_nth_unstable(keep - 1);
        pairs.truncate(keep);
    }
    let last = pairs.iter().max().copied().unwrap_or_default();
    last.key(order)
}

/// Packs and sorts the first `keep` elements of a line of `n`. There are more than `keep`, which is not zero.
///
/// # Safety
/// The elements of the line lie at their distances.
pub(super) unsafe fn line<T: Bits, P: Item>(
    order: Order,
    line: &Line<T>,
    (n, keep): (usize, usize),
    pairs: &mut Vec<P>,
) -> Result<()> {
    let most = 4 * keep + 4 * BLOCK;
    let mut at = n.min(2 * keep);
    room::reserve(pairs, n.min(most))?;
    pairs.resize(at, P::default());
    // SAFETY: the caller's promise.
    unsafe { pack(order, line, 0, pairs) };
    let mut limit = cut(pairs, keep, order);
    while at < n {
        if line.step == 1 {
            // SAFETY: the elements that are left lie side by side.
            let x = unsafe { std::slice::from_raw_parts(line.x.add(at), n - at) };
            let limit = T::narrow(limit);
            at += BLOCK
                * match Level::detect() {
                    // SAFETY: they were detected.
                    Level::Vectors | Level::Wide => unsafe { search_in_vectors(x, order, limit) },
                    Level::Scalar => search(x, order, limit),
                };
        }
        let end = n.min(at + BLOCK);
        for i in at..end {
            // SAFETY: the caller's promise.
            let key = order.key_of(unsafe { *line.x.offset(i as isize * line.step) }).widen();
            // One with the key of the last comes behind it.
            if key < limit {
                pairs.push(P::new(key, i as u64));
            }
        }
        at = end;
        if pairs.len() + BLOCK > most {
            limit = cut(pairs, keep, order);
        }
    }
    cut(pairs, keep, order);
    pairs.sort_unstable();
    Ok(())
}
