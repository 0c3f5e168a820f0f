//! Many problems of one shape.

use super::super::parallel::{self, Parts, each_part};
use super::stored::Stored;
use super::{PARALLEL, TASK};

/// Minimum number of problems per task.
fn least(stored: Stored) -> usize {
    TASK.div_ceil(stored.elements().max(1))
}

/// Calls `f(i, output)` for each of `count` outputs, which begin `stride` elements apart in `y`.
pub(crate) fn each_of<T: Send>(
    count: usize,
    stride: usize,
    stored: Stored,
    y: &mut [T],
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    if count <= 1 || stride == 0 {
        return (0..count.min(1)).for_each(|i| f(i, y));
    }
    let work = stored.elements().saturating_mul(count);
    if work < PARALLEL {
        y.chunks_mut(stride).take(count).enumerate().for_each(|(i, y)| f(i, y));
    } else {
        each_part(y, Parts::with_size(stride).take(count).least(least(stored)), &f);
    }
}

/// Calls `f` with each of `all`.
pub(crate) fn each_in<P: Send>(stored: Stored, all: Vec<P>, f: impl Fn(P) + Send + Sync) {
    if stored.elements().saturating_mul(all.len()) < PARALLEL {
        all.into_iter().for_each(f);
    } else {
        parallel::each(all, least(stored), &f);
    }
}
