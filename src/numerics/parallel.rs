//! Parallel loops that are compiled once for each element type.
//!
//! Rayon's own iterators are compiled again for each closure, with all the code that makes it a job; that was a third
//! of this crate. Here, a closure is called through a pointer, once per part, and all closures share one fork function.
//!
//! The parts are distributed over a few tasks per thread of the caller's pool. The distribution does not change
//! results: the work on a part depends only on its number.

use crate::core::error::{Error, Result};
use crate::core::room::{OrUnwind, collected};
use parking_lot::Mutex;
use std::ops::Range;

/// Tasks per thread: several, so that a slow task delays the loop only a little.
const TASKS: usize = 4;

/// How a slice is cut: into at most `count` parts of `size` elements. The last part may be shorter.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) size: usize,
    pub(crate) count: usize,
    /// Minimum number of parts per task.
    pub(crate) least: usize,
}

impl Parts {
    /// Cuts the whole slice into parts of `size` elements.
    pub(crate) fn with_size(size: usize) -> Self {
        Parts { size: size.max(1), count: usize::MAX, least: 1 }
    }

    /// Keeps only the first `count` parts.
    pub(crate) fn take(self, count: usize) -> Self {
        Parts { count, ..self }
    }

    /// Sets the minimum number of parts per task.
    pub(crate) fn least(self, least: usize) -> Self {
        Parts { least: least.max(1), ..self }
    }

    /// The elements of `x` that are in one of the parts.
    fn all<'x, T>(&self, x: &'x mut [T]) -> &'x mut [T] {
        let end = self.size.saturating_mul(self.count).min(x.len());
        x.get_mut(..end).unwrap_or_default()
    }
}

/// The error of the part with the lowest number, so that it does not depend on threads.
#[derive(Default)]
struct First(Mutex<Option<(usize, Error)>>);

impl First {
    fn note(&self, part: usize, outcome: Result<()>) {
        if let Err(error) = outcome {
            let mut first = self.0.lock();
            if first.as_ref().is_none_or(|(lowest, _)| part < *lowest) {
                *first = Some((part, error));
            }
        }
    }

    fn into_result(self) -> Result<()> {
        self.0.into_inner().map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// Runs both closures, on two threads if another thread is idle.
pub(crate) fn both(one: impl FnOnce() + Send, two: impl FnOnce() + Send) {
    let (mut one, mut two) = (Some(one), Some(two));
    fork(&mut || one.take().map_or((), |one| one()), &mut || two.take().map_or((), |two| two()));
}

/// The only function that calls `rayon::join`, so that it is compiled for one type of job.
fn fork(one: &mut (dyn FnMut() + Send), two: &mut (dyn FnMut() + Send)) {
    rayon::join(one, two);
}

/// The number of tasks into which a loop is split.
fn tasks() -> usize {
    match rayon::current_num_threads() {
        1 => 1,
        threads => TASKS * threads,
    }
}

/// Calls `f(i, part)` with each part of `x`.
pub(crate) fn each_part<T: Send>(x: &mut [T], parts: Parts, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    share(parts.all(x), 0, parts, tasks(), f);
}

fn share<T: Send>(x: &mut [T], first: usize, parts: Parts, tasks: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    let count = x.len().div_ceil(parts.size);
    if tasks < 2 || count / 2 < parts.least {
        return x.chunks_mut(parts.size).zip(first..).for_each(|(part, i)| f(i, part));
    }
    let half = count / 2;
    let (left, right) = x.split_at_mut(half * parts.size);
    both(|| share(left, first, parts, tasks / 2, f), || share(right, first + half, parts, tasks - tasks / 2, f));
}

/// As [`each_part`]; returns the error of the first of the parts that failed.
pub(crate) fn try_each_part<T: Send>(
    x: &mut [T],
    parts: Parts,
    f: &(dyn Fn(usize, &mut [T]) -> Result<()> + Sync),
) -> Result<()> {
    let failed = First::default();
    each_part(x, parts, &|i, part| failed.note(i, f(i, part)));
    failed.into_result()
}

type OnPair<'f, T, U> = dyn Fn(usize, &mut [T], &mut [U]) + Sync + 'f;
type TryOnPair<'f, T, U> = dyn Fn(usize, &mut [T], &mut [U]) -> Result<()> + Sync + 'f;

/// Calls `f(i, x, y)` with each pair of parts. `parts` says how x is cut; `size` is the length of y's parts.
pub(crate) fn each_pair<T: Send, U: Send>(
    x: &mut [T],
    y: &mut [U],
    (parts, size): (Parts, usize),
    f: &OnPair<'_, T, U>,
) {
    share_pairs(parts.all(x), y, 0, (parts, size.max(1)), tasks(), f);
}

/// As [`each_pair`]; returns the error of the first of the parts that failed.
pub(crate) fn try_each_pair<T: Send, U: Send>(
    x: &mut [T],
    y: &mut [U],
    parts: (Parts, usize),
    f: &TryOnPair<'_, T, U>,
) -> Result<()> {
    let failed = First::default();
    each_pair(x, y, parts, &|i, x, y| failed.note(i, f(i, x, y)));
    failed.into_result()
}

fn share_pairs<T: Send, U: Send>(
    x: &mut [T],
    y: &mut [U],
    first: usize,
    (parts, size): (Parts, usize),
    tasks: usize,
    f: &OnPair<'_, T, U>,
) {
    let count = x.len().div_ceil(parts.size);
    if tasks < 2 || count / 2 < parts.least {
        return x.chunks_mut(parts.size).zip(y.chunks_mut(size)).zip(first..).for_each(|((x, y), i)| f(i, x, y));
    }
    let half = count / 2;
    let ((x, x_rest), (y, y_rest)) =
        (x.split_at_mut(half * parts.size), y.split_at_mut(half.saturating_mul(size).min(y.len())));
    both(
        || share_pairs(x, y, first, (parts, size), tasks / 2, f),
        || share_pairs(x_rest, y_rest, first + half, (parts, size), tasks - tasks / 2, f),
    );
}

/// Calls `f` with each of `items`. A task has at least `least` of them.
pub(crate) fn each<I: Send>(items: Vec<I>, least: usize, f: &(dyn Fn(I) + Sync)) {
    let mut items: Vec<Option<I>> = collected(items.into_iter().map(Some)).or_unwind();
    each_part(&mut items, Parts::with_size(1).least(least), &|_, items| {
        items.iter_mut().filter_map(Option::take).for_each(f)
    });
}

/// As [`each`]; returns the error of the first of the items that failed.
pub(crate) fn try_each<I: Send>(items: Vec<I>, least: usize, f: &(dyn Fn(I) -> Result<()> + Sync)) -> Result<()> {
    let failed = First::default();
    each(collected(items.into_iter().enumerate()).or_unwind(), least, &|(i, item)| failed.note(i, f(item)));
    failed.into_result()
}

/// Calls `f` with ranges that together are all numbers below `count`. None is empty, and none has fewer than `least` numbers
/// if there are as many.
pub(crate) fn each_range(count: usize, least: usize, f: &(dyn Fn(Range<usize>) + Sync)) {
    if count > 0 {
        ranges(0..count, least.max(1), tasks(), f);
    }
}

fn ranges(all: Range<usize>, least: usize, tasks: usize, f: &(dyn Fn(Range<usize>) + Sync)) {
    let half = all.len() / 2;
    if tasks < 2 || half < least {
        return f(all);
    }
    let middle = all.start + half;
    both(|| ranges(all.start..middle, least, tasks / 2, f), || ranges(middle..all.end, least, tasks - tasks / 2, f));
}

/// Calls `f` with each number below `count`. A task has at least `least` of them.
pub(crate) fn each_number(count: usize, least: usize, f: &(dyn Fn(usize) + Sync)) {
    each_range(count, least, &|range| range.for_each(f));
}

/// As [`each_range`]; returns the error of the first of the ranges that failed.
pub(crate) fn try_each_range(
    count: usize,
    least: usize,
    f: &(dyn Fn(Range<usize>) -> Result<()> + Sync),
) -> Result<()> {
    let failed = First::default();
    each_range(count, least, &|range| failed.note(range.start, f(range)));
    failed.into_result()
}

/// As [`each_number`], for work that can fail: a task ends with its first error.
pub(crate) fn try_each_number(count: usize, least: usize, f: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    try_each_range(count, least, &|range| range.into_iter().try_for_each(f))
}

/// The results of `f` for each number below `count`, in order.
pub(crate) fn map<R: Send>(count: usize, f: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    let mut made: Vec<Option<R>> = collected((0..count).map(|_| None)).or_unwind();
    each_part(&mut made, Parts::with_size(1), &|i, made| made.iter_mut().for_each(|made| *made = Some(f(i))));
    collected(made.into_iter().flatten()).or_unwind()
}
