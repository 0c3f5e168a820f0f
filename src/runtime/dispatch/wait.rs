//! How a thread waits.

use std::time::{Duration, Instant};

/// How a thread waits for a dispatch: per device ([`DeviceBuilder::wait`](crate::DeviceBuilder::wait)), or per handle
/// ([`Device::waiting`](crate::Device::waiting)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Spin for about 20 us, then back off: the host engine sleeps until woken, CUDA polls with growing pauses (there is
    /// no timed wait in CUDA, and host callbacks are the slowest signal there is).
    #[default]
    Adaptive,
    /// Spin until it is done. Lowest latency, one core.
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

/// How long [`Wait::Adaptive`] spins: about one round trip of a small op. Beyond it the core is worth more elsewhere.
pub(crate) const SPIN: Duration = Duration::from_micros(20);

/// Pauses that grow with the time already waited: a sixteenth of it, so that the end is noticed at most that much late, and
/// a long wait costs nothing. From 5 us (the system adds about 55 of its own) to 1 ms.
pub(crate) struct Backoff(Instant);

impl Backoff {
    pub(crate) fn new() -> Self {
        Backoff(Instant::now())
    }

    /// Sleeps for the next pause, but not past `until`.
    pub(crate) fn pause(&mut self, until: Option<Instant>) {
        let now = Instant::now();
        let pause = ((now - self.0) / 16).clamp(Duration::from_micros(5), Duration::from_millis(1));
        std::thread::sleep(until.map_or(pause, |until| pause.min(until.saturating_duration_since(now))));
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
