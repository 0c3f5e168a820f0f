//! Splits rows by numbers of entries, and shares them among threads.

use super::super::element::SparseIndex;
use super::at;
use crate::core::room::{OrUnwind, collected};
use crate::numerics::parallel;
use std::ops::Range;

/// The number of entries that is worth a task.
const GRAIN: usize = 1 << 14;

/// Splits `rows` rows into ranges with similar numbers of entries. Returns the first row of each range, and the end.
pub(crate) fn by_entries<I: SparseIndex>(offsets: &[I], rows: usize, work: usize) -> Vec<usize> {
    let total = at(offsets, rows).place().saturating_add(rows);
    let tasks = match rayon::current_num_threads() {
        1 => 1,
        threads => 4 * threads,
    };
    let parts = tasks.min(total.saturating_mul(work.max(1)) / GRAIN).max(1);
    let mut bounds = vec![0];
    for part in 1..parts {
        let target = (total / parts).saturating_mul(part);
        let before = bounds.last().copied().unwrap_or(0);
        // The number of entries and rows before a row grows with the row, so a binary search works.
        let (mut low, mut high) = (before, rows);
        while low < high {
            let middle = low.midpoint(high);
            if at(offsets, middle).place().saturating_add(middle) < target { low = middle + 1 } else { high = middle }
        }
        if low > before && low < rows {
            bounds.push(low);
        }
    }
    bounds.push(rows);
    bounds
}

/// Splits `count` items of equal work.
pub(crate) fn evenly(count: usize, work: usize) -> Vec<usize> {
    let tasks = match rayon::current_num_threads() {
        1 => 1,
        threads => 4 * threads,
    };
    let parts = tasks.min(count.saturating_mul(work.max(1)) / GRAIN).max(1);
    let mut bounds: Vec<usize> = collected((0..parts).map(|part| count / parts * part)).or_unwind();
    bounds.push(count);
    bounds
}

type OnRows<'f, A, B> = dyn Fn(Range<usize>, &mut [A], &mut [B]) + Sync + 'f;
/// The position in a slice where the part of a row begins.
pub(crate) type Cut<'f> = dyn Fn(usize) -> usize + Sync + 'f;

/// Calls `f` with each range of rows and the corresponding parts of two slices.
pub(crate) fn each_two<A: Send, B: Send>(
    bounds: &[usize],
    (a, cut_a): (&mut [A], &Cut<'_>),
    (b, cut_b): (&mut [B], &Cut<'_>),
    f: &OnRows<'_, A, B>,
) {
    let (Some(&first), Some(&end)) = (bounds.first(), bounds.last()) else { return };
    if bounds.len() <= 2 {
        return f(first..end, a, b);
    }
    let half = bounds.len() / 2;
    let middle = bounds.get(half).copied().unwrap_or(end);
    let (left, right) = (bounds.get(..=half).unwrap_or_default(), bounds.get(half..).unwrap_or_default());
    let (a, a_rest) = a.split_at_mut(cut_a(middle).saturating_sub(cut_a(first)).min(a.len()));
    let (b, b_rest) = b.split_at_mut(cut_b(middle).saturating_sub(cut_b(first)).min(b.len()));
    parallel::both(
        || each_two(left, (a, cut_a), (b, cut_b), f),
        || each_two(right, (a_rest, cut_a), (b_rest, cut_b), f),
    );
}

/// Calls `f` with each range of rows and the corresponding part of a slice with `per_row` elements for each row.
pub(crate) fn each<A: Send>(
    bounds: &[usize],
    a: &mut [A],
    per_row: usize,
    f: &(dyn Fn(Range<usize>, &mut [A]) + Sync),
) {
    each_two(bounds, (a, &|row| row.saturating_mul(per_row)), (&mut [(); 0], &|_| 0), &|rows, a, _| f(rows, a));
}

/// The results of `f` for each range, in order.
pub(crate) fn map<R: Send>(bounds: &[usize], f: &(dyn Fn(Range<usize>) -> R + Sync)) -> Vec<R> {
    let ranges: Vec<_> =
        collected(bounds.iter().zip(bounds.iter().skip(1)).map(|(start, end)| *start..*end)).or_unwind();
    let mut made: Vec<Option<R>> = collected(ranges.iter().map(|_| None)).or_unwind();
    let places: Vec<usize> = collected(0..=ranges.len()).or_unwind();
    each(&places, &mut made, 1, &|places, made| {
        for (place, made) in places.zip(made) {
            *made = ranges.get(place).cloned().map(f);
        }
    });
    collected(made.into_iter().flatten()).or_unwind()
}

/// Removes and returns the first `len` elements, or as many as there are; the slice keeps the rest.
pub(crate) fn front<'a, T>(slice: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let all = std::mem::take(slice);
    let (front, rest) = all.split_at_mut(len.min(all.len()));
    *slice = rest;
    front
}
