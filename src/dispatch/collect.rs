//! Waiting for several dispatches.

use super::{Backoff, Parker, PendingDispatch, Subscribed};
use crate::error::Rejected;
use crate::op::{Bufs, Output};
use crate::sync::Arc;

/// Waits for all of them, in order.
///
/// # Errors
/// Each answer stands for itself: one failure loses nothing of the others.
pub fn await_all<O: Output>(
    pendings: impl IntoIterator<Item = PendingDispatch<O>>,
) -> Vec<Result<O, Rejected<Bufs<O>>>> {
    pendings.into_iter().map(PendingDispatch::await_result).collect()
}

/// Waits until one of them is ready, takes it out (the last one moves to its place) and gives its index and answer.
/// `None` when there are none.
#[expect(clippy::type_complexity, reason = "an index and the answer that await_result gives")]
pub fn await_any<O: Output>(pendings: &mut Vec<PendingDispatch<O>>) -> Option<(usize, Result<O, Rejected<Bufs<O>>>)> {
    if pendings.is_empty() {
        return None;
    }
    let index = match pendings.iter().position(PendingDispatch::is_ready) {
        Some(index) => index,
        // A wait would deadlock the device; the answer of the first one says so.
        None if crate::host::inside_op() => 0,
        None => wait_for_one(pendings),
    };
    let pending = pendings.swap_remove(index);
    Some((index, pending.await_result()))
}

/// Sleeps on all at once. The wakers are taken back before it returns, so nothing piles up on work that lasts.
fn wait_for_one<O: Output>(pendings: &[PendingDispatch<O>]) -> usize {
    let parker = Arc::new(Parker::default());
    let mut backoff = Backoff::new();
    let mut polled = false;
    let mut armed = false;
    let index = loop {
        if let Some(index) = pendings.iter().position(PendingDispatch::is_ready) {
            break index;
        }
        if !armed {
            // Subscribed once; a wake-up that comes before the sleep is remembered by the parker.
            let answers = pendings.iter().filter_map(PendingDispatch::task).map(|t| t.subscribe(&parker));
            for answer in answers {
                polled |= answer == Subscribed::Poll;
                if answer == Subscribed::Settled {
                    parker.wake();
                }
            }
            armed = true;
            continue;
        }
        if polled {
            backoff.pause(None);
        } else {
            parker.sleep(None);
        }
    };
    for task in pendings.iter().filter_map(PendingDispatch::task) {
        task.unsubscribe(&parker);
    }
    index
}
