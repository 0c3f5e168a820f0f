//! How a thread waits.

use super::pace::Pace;
use crate::clock::{self, Deadline, Waits};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How a thread waits for a dispatch: per device ([`DeviceBuilder::wait`](crate::DeviceBuilder::wait)), or per handle
/// ([`Device::waiting`](crate::Device::waiting)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Spin for about 20 us, then back off: the host engine sleeps until woken. CUDA spins up to 200 us, unless as many threads
    /// do so as half of the processors are, then polls with pauses of a 20th of the time waited, of 40 us, or of a 400th of
    /// the time waited (there is no timed wait in CUDA, and host callbacks are the slowest signal there is). Where the thread
    /// has waited 20 times for the same operation, it polls seldom until shortly before the earliest of these ends.
    #[default]
    Adaptive,
    /// Spin until it is done. Lowest latency, one core for each waiter: on a machine with fewer cores than threads the
    /// waiters take them from the work. After some milliseconds each look therefore offers the core to others.
    Spin,
    /// Give the core away between looks.
    Yield,
    /// Sleep at once. On CUDA a blocking event is recorded behind the work and the driver's interrupt wakes the thread;
    /// timed waits poll.
    Block,
    /// Run other jobs of the *caller's* rayon pool while waiting, one level deep (a wait inside such a job parks).
    /// A throughput option: nothing needs it to make progress. Hold no lock across such a wait.
    Rayon,
}

/// Sleeps between looks at work that nobody announces, as long as its [`Pace`] says.
///
/// The system adds its *timer slack* to a sleep, 50 us unless a thread asks for less: asked for at the first pause, and put
/// back when the wait is over.
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

    /// Of a wait for work of that name, which is learned from. [`ended`](Self::ended) is to be called at its end.
    pub(crate) fn learning(waits: &'static Waits, name: &'static str) -> Self {
        Backoff { pace: Pace::learning(name), ..Backoff::new(waits) }
    }

    /// What was waited for has come.
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

/// One of the threads that spin for longer than a round trip. Half of the processors may be spun on: what a waiter takes from
/// a machine that is full is worth more than its wait.
pub(crate) struct Spinner(());

static SPINNERS: AtomicUsize = AtomicUsize::new(0);

impl Spinner {
    /// `None` when there are as many as there may be.
    pub(crate) fn enter() -> Option<Self> {
        static MOST: LazyLock<usize> =
            LazyLock::new(|| std::thread::available_parallelism().map_or(1, |n| n.get().div_ceil(2)));
        let spinner = Spinner(());
        (SPINNERS.fetch_add(1, Ordering::Relaxed) < *MOST).then_some(spinner) // the one that is not given is dropped
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        SPINNERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The calling thread's sleeps end in time, as long as this lives.
#[cfg(target_os = "linux")]
pub(crate) struct FineTimer {
    before: Option<std::num::NonZeroU64>,
    /// The slack is the thread's own.
    here: std::marker::PhantomData<*const ()>,
}

#[cfg(target_os = "linux")]
impl FineTimer {
    const SLACK: Option<std::num::NonZeroU64> = std::num::NonZeroU64::new(1_000);

    pub(crate) fn begin() -> Self {
        let before = rustix::thread::current_timer_slack().ok().and_then(std::num::NonZeroU64::new);
        // Where the system refuses, sleeps are as long as they were.
        let _ = rustix::thread::set_current_timer_slack(Self::SLACK);
        FineTimer { before, here: std::marker::PhantomData }
    }
}

#[cfg(target_os = "linux")]
impl Drop for FineTimer {
    fn drop(&mut self) {
        let _ = rustix::thread::set_current_timer_slack(self.before); // `None` is the thread's own default
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
            return false; // nested: the outer wait put the flag up and takes it down
        }
        let ran = matches!(rayon::yield_now(), Some(rayon::Yield::Executed));
        stealing.set(false);
        ran
    })
}

/// Whether the calling thread is inside a job that a [`Wait::Rayon`] of it runs.
pub(crate) fn is_stealing() -> bool {
    STEALING.with(std::cell::Cell::get)
}
