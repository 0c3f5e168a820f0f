//! Waiting for several dispatches.

use super::{Backoff, Parker, PendingDispatch, Subscribed};
use crate::clock::{self, Deadline, Timing};
use crate::error::Rejected;
use crate::op::{Bufs, Output};
use crate::sync::Arc;
use std::time::Duration;

/// Waits for all of them, in order.
///
/// # Errors
/// Answers are independent: one failure does not affect the others.
pub fn await_all<O: Output>(
    pendings: impl IntoIterator<Item = PendingDispatch<O>>,
) -> Vec<Result<O, Rejected<Bufs<O>>>> {
    pendings.into_iter().map(PendingDispatch::await_result).collect()
}

/// Waits until one of them is ready, takes it out (the last one moves to its place) and gives its index and answer.
/// `None` when there are none.
pub fn await_any<O: Output>(pendings: &mut Vec<PendingDispatch<O>>) -> Option<Answer<O>> {
    take_one(pendings, None)
}

/// As [`await_any`], but waits at most `limit`: `None` also when none was ready by then, and they are all still there.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use std::time::Duration;
/// let device = windlass::Device::host()?;
/// let x = device.upload(vec![3.0f32, 4.0])?.into_output();
/// let mut pendings = vec![device.blas().nrm2(&x)?, device.blas().asum(&x)?];
/// while let Some((_, answer)) = windlass::await_any_timeout(&mut pendings, Duration::from_secs(10)) {
///     assert!([5.0, 7.0].contains(&answer?));
/// }
/// # Ok(()) }
/// ```
pub fn await_any_timeout<O: Output>(pendings: &mut Vec<PendingDispatch<O>>, limit: Duration) -> Option<Answer<O>> {
    // Where they are of several devices, the limit goes by the clock of the first.
    take_one(pendings, timing_of(pendings).clock.after(limit))
}

fn timing_of<O: Output>(pendings: &[PendingDispatch<O>]) -> &'static Timing {
    pendings.first().map_or_else(Timing::standard, PendingDispatch::timing)
}

/// The place of a pending, and what [`PendingDispatch::await_result`] gives.
pub type Answer<O> = (usize, Result<O, Rejected<Bufs<O>>>);

fn take_one<O: Output>(pendings: &mut Vec<PendingDispatch<O>>, until: Option<Deadline>) -> Option<Answer<O>> {
    if pendings.is_empty() {
        return None;
    }
    let index = match pendings.iter().position(PendingDispatch::is_ready) {
        Some(index) => index,
        // A wait would deadlock the device; the answer of the first one says so.
        None if crate::host::inside_op() => 0,
        None => wait_for_one(pendings, until)?,
    };
    let pending = pendings.swap_remove(index);
    Some((index, pending.await_result()))
}

/// Sleeps on all at once; `None` when the time was up. The wakers are taken back before it returns, so nothing piles up on work that lasts.
fn wait_for_one<O: Output>(pendings: &[PendingDispatch<O>], until: Option<Deadline>) -> Option<usize> {
    let parker = Arc::new(Parker::default());
    let mut backoff = Backoff::new(&timing_of(pendings).waits);
    let mut polled = false;
    let mut armed = false;
    let index = loop {
        if let Some(index) = pendings.iter().position(PendingDispatch::is_ready) {
            break Some(index);
        }
        if clock::is_over(until) {
            // Much may have happened between that look and this one at the clock.
            break pendings.iter().position(PendingDispatch::is_ready);
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
            backoff.pause(until);
        } else {
            parker.sleep(until);
        }
    };
    for task in pendings.iter().filter_map(PendingDispatch::task) {
        task.unsubscribe(&parker);
    }
    index
}
