//! Waiting for several dispatches.

use super::{Backoff, PendingDispatch, PendingHost, Subscribed};
use crate::core::clock::{self, Deadline, Timing};
use crate::core::op::{Failure, Output};
use crate::core::order::Parker;
use crate::core::sync::Arc;
use std::time::Duration;

/// Work in flight that is waited for: a [`PendingDispatch`], or a [`PendingHost`], such as a verdict that was taken apart from its
/// tensors. Sealed.
pub trait Awaited: sealed::Awaited {
    /// What the wait gives.
    type Answer;

    #[doc(hidden)]
    fn answer(self) -> Self::Answer;
}

mod sealed {
    pub trait Awaited {}
}

impl<O: Output, V> sealed::Awaited for PendingDispatch<O, V> {}
impl<O: Output, V> Awaited for PendingDispatch<O, V> {
    type Answer = Result<O, Failure<O>>;
    fn answer(self) -> Self::Answer {
        self.await_result()
    }
}

impl<H> sealed::Awaited for PendingHost<H> {}
impl<H> Awaited for PendingHost<H> {
    type Answer = crate::core::error::Result<H>;
    fn answer(self) -> Self::Answer {
        self.await_result()
    }
}

/// Waits for all of them, in order.
///
/// Tensors of calls with a verdict can be used at once, and their verdicts be read together at the end, so that nothing waits in
/// between:
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// let device = windlass::Device::host()?;
/// let x = device.tensor_of([[1.0, 2.0], [3.0, 4.0]])?;
/// let (mut rows, mut verdicts) = (Vec::new(), Vec::new());
/// for i in [1i64, 0] {
///     let ((row,), verdict) = device.take(&x, &device.tensor([1], [i])?, 0)?.into_parts();
///     rows.push(device.map(&row, |x| x * 2.0)?); // follows on the device
///     verdicts.push(verdict);
/// }
/// windlass::await_all(verdicts).into_iter().collect::<Result<(), _>>()?;
/// assert_eq!(device.to_vec(&rows[0])?, [6.0, 8.0]);
/// # Ok(()) }
/// ```
///
/// A caller who knows that there is nothing to report drops the verdict; the memory is as safe as with it.
///
/// # Errors
/// The results are independent: one failure does not affect the others.
pub fn await_all<P: Awaited>(pendings: impl IntoIterator<Item = P>) -> Vec<P::Answer> {
    pendings.into_iter().map(Awaited::answer).collect()
}

/// Waits until one of them is ready, removes it (the last one moves to its place) and returns its index and its result.
/// `None` if the vector is empty.
pub fn await_any<O: Output, V>(pendings: &mut Vec<PendingDispatch<O, V>>) -> Option<Answer<O>> {
    take_one(pendings, None)
}

/// As [`await_any`], but waits at most `limit`. Also returns `None` if none was ready by then; the vector is then
/// unchanged.
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
pub fn await_any_timeout<O: Output, V>(
    pendings: &mut Vec<PendingDispatch<O, V>>,
    limit: Duration,
) -> Option<Answer<O>> {
    // If they belong to several devices, the limit is measured by the clock of the first.
    take_one(pendings, timing_of(pendings).clock.after(limit))
}

fn timing_of<O: Output, V>(pendings: &[PendingDispatch<O, V>]) -> &'static Timing {
    pendings.first().map_or_else(Timing::standard, PendingDispatch::timing)
}

/// The index of a pending, and what [`PendingDispatch::await_result`] returned.
pub type Answer<O> = (usize, Result<O, Failure<O>>);

fn take_one<O: Output, V>(pendings: &mut Vec<PendingDispatch<O, V>>, until: Option<Deadline>) -> Option<Answer<O>> {
    if pendings.is_empty() {
        return None;
    }
    let index = match pendings.iter().position(PendingDispatch::is_ready) {
        Some(index) => index,
        // A wait here would deadlock the device, or the calling thread. The first pending's result is the error that says so.
        None if crate::core::inside::inside_op() => 0,
        None if pendings.iter().all(|one| one.task().is_some_and(|task| task.waits_for_hook())) => 0,
        None => wait_for_one(pendings, until)?,
    };
    let pending = pendings.swap_remove(index);
    Some((index, pending.await_result()))
}

/// Sleeps until one of them is ready; `None` when the deadline passed. Unsubscribes from all before it returns, so no
/// registrations accumulate on long work.
fn wait_for_one<O: Output, V>(pendings: &[PendingDispatch<O, V>], until: Option<Deadline>) -> Option<usize> {
    let parker = Arc::new(Parker::default());
    let mut backoff = Backoff::new(&timing_of(pendings).waits);
    let mut polled = false;
    let mut armed = false;
    let index = loop {
        if let Some(index) = pendings.iter().position(PendingDispatch::is_ready) {
            break Some(index);
        }
        if clock::is_over(until) {
            // The thread may have been suspended between that poll and the look at the clock.
            break pendings.iter().position(PendingDispatch::is_ready);
        }
        if !armed {
            // Subscribed only once; the parker remembers a wake-up that comes before the sleep.
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
