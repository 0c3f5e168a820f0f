//! How a thread waits.

use super::Pace;
use crate::core::clock::{self, Deadline, Waits};
#[cfg(target_os = "linux")]
use crate::system::thread::FineTimer;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a thread waits for a dispatch. Set per device ([`DeviceBuilder::wait`](crate::DeviceBuilder::wait)) or per
/// handle ([`Device::waiting`](crate::Device::waiting)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Spin for about 20 us, then back off. The host engine then sleeps until it is woken. On CUDA the thread spins for
    /// up to 200 us more, unless half as many threads as there are processors already do so, and then polls. The pause
    /// between polls is a 20th of the time already waited, at most 40 us; from 16 ms on it is a 400th of it, at most
    /// 1 ms. (CUDA has no wait with a timeout, and host callbacks are its slowest signal.) If the thread has waited 20
    /// times for the same operation, it polls rarely until shortly before the shortest of those waits would end.
    #[default]
    Adaptive,
    /// Spin until the work is done. Lowest latency, but each waiting thread occupies a core. On a machine with fewer
    /// cores than threads, the waiting threads take cores from the work; so after some milliseconds each poll also
    /// yields the core.
    Spin,
    /// Yield the core between polls.
    Yield,
    /// Sleep at once. On CUDA a blocking event that follows the work is recorded, and the driver's interrupt wakes the
    /// thread; waits with a timeout poll instead.
    Block,
    /// Run other jobs of the *caller's* rayon pool while waiting, one level deep (a wait inside such a job runs no
    /// further jobs). This increases throughput; no work needs it to make progress. Hold no lock across such a wait.
    Rayon,
}

/// Sleeps between polls of work whose end is not announced, for as long as its [`Pace`] says.
///
/// The system adds its *timer slack* to a sleep: 50 us, unless a thread asks for less. The slack is reduced at the
/// first pause, and restored when the wait is over.
pub(crate) struct Backoff {
    pace: Pace,
    waits: &'static Waits,
    #[cfg(target_os = "linux")]
    slack: Option<FineTimer>,
}

impl Backoff {
    pub(crate) fn new(waits: &'static Waits) -> Self {
        Backoff {
            pace: Pace::new(),
            waits,
            #[cfg(target_os = "linux")]
            slack: None,
        }
    }

    /// A backoff for a wait for the operation `name`, which learns from how long it takes. Call [`ended`](Self::ended)
    /// when the work has ended.
    pub(crate) fn learning(waits: &'static Waits, name: &'static str) -> Self {
        Backoff { pace: Pace::learning(name), ..Backoff::new(waits) }
    }

    /// Records that the awaited work has ended.
    pub(crate) fn ended(&self) {
        self.pace.ended();
    }

    /// Sleeps for the next pause, but not past `until`.
    pub(crate) fn pause(&mut self, until: Option<Deadline>) {
        #[cfg(target_os = "linux")]
        self.slack.get_or_insert_with(FineTimer::begin);
        let pause = self.pace.pause(self.waits);
        clock::pause(until.map_or(pause, |until| pause.min(until.slice())));
    }
}

/// A permit to spin for longer than a round trip. At most half of the processors may be spun on: on a fully loaded
/// machine, the other work needs the core more than the waiting thread does.
pub(crate) struct Spinner(());

static SPINNERS: AtomicUsize = AtomicUsize::new(0);

impl Spinner {
    /// `None` when the limit is reached.
    pub(crate) fn enter() -> Option<Self> {
        static MOST: LazyLock<usize> =
            LazyLock::new(|| std::thread::available_parallelism().map_or(1, |n| n.get().div_ceil(2)));
        let spinner = Spinner(());
        (SPINNERS.fetch_add(1, Ordering::Relaxed) < *MOST).then_some(spinner) // over the limit: its drop counts it out
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        SPINNERS.fetch_sub(1, Ordering::Relaxed);
    }
}

thread_local! {
    static STEALING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs one job of the calling thread's rayon pool, unless this thread is already inside such a job. False when there
/// was nothing to run.
pub(crate) fn steal_one() -> bool {
    STEALING.with(|stealing| {
        if stealing.replace(true) {
            return false; // nested: the outer wait has set the flag and clears it
        }
        let ran = matches!(rayon::yield_now(), Some(rayon::Yield::Executed));
        stealing.set(false);
        ran
    })
}

/// Whether the calling thread is inside a job that a [`Wait::Rayon`] on this thread runs.
pub(crate) fn is_stealing() -> bool {
    STEALING.with(std::cell::Cell::get)
}
