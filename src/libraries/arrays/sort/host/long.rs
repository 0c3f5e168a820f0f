//! A long line, by all threads: each sorts a part of it, and the parts are merged in pairs. A merge is made of pieces of its result,
//! whose begins in both parts a search finds (Odeh, Green, Mwassi, Shmueli and Birk, Merge Path, 2012), so that all threads have
//! work in each. Of equal keys that of the earlier part comes first, so the sort is stable.

use super::item::{Bits, Item};
use super::radix::radix;
use super::{Bases, Line, pack, put};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::arrays::sort::order::Order;
use crate::numerics::parallel::{self, Parts};

/// Lines of fewer elements are not divided.
const LONG: usize = 1 << 16;
/// Elements that a thread packs, merges or writes at least.
const PIECE: usize = 1 << 14;

/// Whether lines go this way, one after the other.
pub(super) fn is_for(count: usize, len: usize) -> bool {
    len >= LONG && count < rayon::current_num_threads()
}

/// Sorts a line into its first `keep` elements.
///
/// # Safety
/// The elements of the line lie at their distances, and nothing else uses those that are written.
pub(super) unsafe fn line<T: Bits, P: Item>(order: Order, (n, keep): (usize, usize), line: &Line<T>) -> Result<()> {
    let len = n.div_ceil(rayon::current_num_threads()).max(PIECE);
    let (mut pairs, mut other) = (room::filled(n, P::default())?, room::filled(n, P::default())?);
    let (step, target_step) = (line.step, line.target_step);
    let bases = &Bases { x: line.x, values: line.values, indices: line.indices };
    let own = |first: usize| {
        let Bases { x, values, indices } = *bases;
        Line { x: x.wrapping_offset(first as isize * step), step, values, indices, target_step }
    };
    parallel::try_each_pair(&mut pairs, &mut other, (Parts::with_size(len), len), &|k, pairs, other| {
        // SAFETY: the part begins at this element of the line (the caller's promise).
        unsafe { pack(order, &own(k * len), k * len, pairs) };
        radix(pairs, other, &mut Vec::new(), order)
    })?;
    let mut run = len;
    while run < n {
        parallel::each_part(&mut other, Parts::with_size(PIECE), &|k, to| merge(&pairs, run, k * PIECE, to, order));
        std::mem::swap(&mut pairs, &mut other);
        run *= 2;
    }
    let all = pairs.get(..keep).unwrap_or_default();
    parallel::each_range(keep.min(n), PIECE, &|range| {
        // SAFETY: the caller's promise; each element of the result is written once.
        unsafe { put(&own(0), range.start, all.get(range).unwrap_or_default()) };
    });
    Ok(())
}

/// A piece of the result of merging runs of `run` in pairs, from element `first` on. It may have parts of several pairs.
fn merge<P: Item>(from: &[P], run: usize, first: usize, to: &mut [P], order: Order) {
    let (mut at, mut to) = (first, to);
    while !to.is_empty() {
        let begin = at - at % (2 * run);
        let pair = from.get(begin..from.len().min(begin + 2 * run)).unwrap_or_default();
        let (left, right) = pair.split_at(run.min(pair.len()));
        let own = (pair.len() - (at - begin)).min(to.len());
        let (piece, rest) = std::mem::take(&mut to).split_at_mut(own);
        merge_pair((left, right), at - begin, piece, order);
        (at, to) = (at + own, rest);
        if own == 0 {
            return;
        }
    }
}

/// The elements of a merge from number `skip` on.
fn merge_pair<P: Item>((left, right): (&[P], &[P]), skip: usize, to: &mut [P], order: Order) {
    // How many of the first `skip` are on the left: the least number with which no element that is left there comes before.
    let (mut low, mut high) = (skip.saturating_sub(right.len()), skip.min(left.len()));
    while low < high {
        let middle = low + (high - low) / 2;
        let is_before = match (left.get(middle), right.get(skip - middle - 1)) {
            (Some(left), Some(right)) => left.comes_first(*right, order),
            _ => false,
        };
        (low, high) = if is_before { (middle + 1, high) } else { (low, middle) };
    }
    let mut left = left.get(low..).unwrap_or_default();
    let mut right = right.get(skip - low..).unwrap_or_default();
    for to in to {
        match (left.split_first(), right.split_first()) {
            (Some((one, rest)), None) => (*to, left) = (*one, rest),
            (Some((one, rest)), Some((other, _))) if one.comes_first(*other, order) => (*to, left) = (*one, rest),
            (_, Some((other, rest))) => (*to, right) = (*other, rest),
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::element::DType;
    use crate::libraries::arrays::sort::host::item::Alone;

    #[test]
    fn pieces_of_merges_are_those_of_the_whole() {
        let order = Order::new(DType::F32, false).unwrap();
        let mut state = 5u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for n in [1usize, 2, 7, 40, 333] {
            for run in [1, 3, 16, 64] {
                // Few values, zeros of both signs among them.
                let values = [0u32, 0x8000_0000, 0x3f80_0000, 0xbf80_0000];
                let mut all: Vec<Alone<u32>> =
                    (0..n).map(|_| Alone::new(0, u64::from(values[next(4) as usize]))).collect();
                all.chunks_mut(run).for_each(|run| run.sort_by_key(|item| item.key(order)));
                let mut wanted = all.clone();
                wanted.chunks_mut(2 * run).for_each(|pair| pair.sort_by_key(|item| item.key(order)));
                for piece in [1, 5, 50] {
                    let mut got = vec![Alone::<u32>::default(); n];
                    let pieces = got.chunks_mut(piece).enumerate();
                    pieces.for_each(|(k, to)| merge(&all, run, k * piece, to, order));
                    assert!(got == wanted, "{n} in runs of {run} by {piece}");
                }
            }
        }
    }
}
