//! Many problems at once: parallel over the batch, one thread inside.

use super::super::parallel;
use crate::core::room::{OrUnwind, with_capacity};

/// Minimum number of real multiply-adds per task.
const TASK: usize = 1 << 16;
/// From this many real multiply-adds per problem, parallelism inside each problem is as good. A batch of fewer problems
/// than threads is then processed in order.
const LARGE: usize = 1 << 24;

/// Calls `f` with each of `items`, in parallel if that pays; each item is about `work` real multiply-adds.
pub(crate) fn each<I: Send>(items: Vec<I>, work: usize, f: impl Fn(I) + Sync + Send) {
    let few = items.len() < rayon::current_num_threads();
    if items.len() < 2 || work.saturating_mul(items.len()) < 2 * TASK || (few && work >= LARGE) {
        return items.into_iter().for_each(f);
    }
    let least = (TASK / work.max(1)).max(1);
    parallel::each(items, least, &f);
}

/// `count` parts of `x`: each begins `stride` after the previous one and extends to the end of `x`. A part that would
/// begin beyond the end is empty: matrices without elements may have any stride.
pub(crate) fn parts<T>(x: &[T], stride: usize, count: usize) -> impl Iterator<Item = &[T]> {
    (0..count).map(move |i| i.checked_mul(stride).and_then(|at| x.get(at..)).unwrap_or_default())
}

/// `count` disjoint parts of `x`, each `stride` elements long, except the last, which extends to the end.
pub(crate) fn parts_mut<T>(mut x: &mut [T], stride: usize, count: usize) -> Vec<&mut [T]> {
    let mut parts = with_capacity(count).or_unwind();
    for i in 0..count {
        let rest = std::mem::take(&mut x);
        if i + 1 == count {
            parts.push(rest);
            break;
        }
        let Some((part, rest)) = rest.split_at_mut_checked(stride) else { break };
        parts.push(part);
        x = rest;
    }
    parts
}
