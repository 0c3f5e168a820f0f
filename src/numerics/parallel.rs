//! Parallel loops that are compiled once for each element type.
//!
//! Rayon's own iterators are compiled again for each closure, with all the code that makes it a job; that was a third
//! of this crate. Here, a closure is called through a pointer, once per part, and all closures share one fork function.
//!
//! The parts are distributed over a few tasks per thread of the caller's pool. The distribution does not change
//! results: the work on a part depends only on its number.

use crate::core::room::{OrUnwind, collected};

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

type OnPair<'f, T, U> = dyn Fn(usize, &mut [T], &mut [U]) + Sync + 'f;

/// Calls `f(i, x, y)` with each pair of parts. `parts` says how x is cut; `size` is the length of y's parts.
pub(crate) fn each_pair<T: Send, U: Send>(
    x: &mut [T],
    y: &mut [U],
    (parts, size): (Parts, usize),
    f: &OnPair<'_, T, U>,
) {
    share_pairs(parts.all(x), y, 0, (parts, size.max(1)), tasks(), f);
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

/// The results of `f` for each number below `count`, in order.
pub(crate) fn map<R: Send>(count: usize, f: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    let mut made: Vec<Option<R>> = collected((0..count).map(|_| None)).or_unwind();
    each_part(&mut made, Parts::with_size(1), &|i, made| made.iter_mut().for_each(|made| *made = Some(f(i))));
    collected(made.into_iter().flatten()).or_unwind()
}
