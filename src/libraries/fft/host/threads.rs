//! Loops over the threads of the caller's pool.

use crate::numerics::parallel;
use std::ops::Range;

/// Tasks for each thread, so that a slow one delays the loop little.
const TASKS: usize = 4;

/// Elements that are worth a separate task.
const WORTH: usize = 1 << 14;

/// Calls `f` with parts of `0..count` that together are all of it, on several threads if `count` items of `each`
/// elements are worth it. No part is empty, and all but the last are multiples of `step`.
pub(super) fn each_range(count: usize, step: usize, each: usize, f: &(dyn Fn(Range<usize>) + Sync)) {
    let threads = rayon::current_num_threads();
    let (step, worth) = (step.max(1), count.saturating_mul(each.max(1)) / WORTH);
    let tasks = if threads == 1 { 1 } else { worth.min(TASKS * threads) };
    share(0..count, step, tasks.max(1), f);
}

fn share(range: Range<usize>, step: usize, tasks: usize, f: &(dyn Fn(Range<usize>) + Sync)) {
    let half = (range.len() / 2).next_multiple_of(step);
    if tasks < 2 || half >= range.len() {
        if !range.is_empty() {
            f(range);
        }
        return;
    }
    let middle = range.start + half;
    parallel::both(
        || share(range.start..middle, step, tasks / 2, f),
        || share(middle..range.end, step, tasks - tasks / 2, f),
    );
}
