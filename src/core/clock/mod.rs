//! Time. Only this module asks the system for the time, and every limit is a field of one [`Timing`].
//!
//! Each device has a `Timing`, which contains a [`Clock`]: the system's in production, or one that a test advances by
//! hand ([`ManualClock`]), if the test asks for it when it opens the device. There is a clock per device rather than
//! one per process, so that tests that run side by side in one program do not move each other's time. It is chosen at
//! run time rather than by a `cfg`, because the programs of `tests/` link the same library that users get. In
//! production this costs a comparison: a `Clock` is one pointer, and reading the time first checks whether that is
//! null.
//!
//! There are two kinds of time:
//!
//! - A **limit** is a promise, or how long something may take: the limit of a wait, a watchdog, the pause before a
//!   restart. It is measured by the device's clock: `Stopwatch`, `Deadline`, `Clock::sleep`.
//! - A **pace** is how often a loop polls and how long it spins in between; what it polls for comes by itself. It is
//!   always measured by the system's clock ([`Clock::SYSTEM`], `pause`): even under a manual clock that no test
//!   advances, work must be noticed.
//!
//! A thread that waits for an event with a limit (a condition variable, a futex, a poll) waits in slices of a
//! millisecond if its clock is manual (`Deadline::wake_at`, `Clock::slice`). So an advance need not know which threads
//! wait, no thread registers, and no wake-up can be lost. Only `Clock::sleep`, which waits for nothing but time, is
//! woken by the advance.
//!
//! A worker process has the system's clock and the standard limits: it cannot see a clock of its parent. What the
//! kernel measures by itself (the timeouts of a socket) also uses the system's clock.

mod deadline;
mod manual;
mod stopwatch;
mod timing;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "a library may be its only user"))]
mod until;

pub(crate) use deadline::{Deadline, is_over};
pub use manual::ManualClock;
pub(crate) use stopwatch::Stopwatch;
pub use timing::{Exit, Files, Memory, Recovery, Serving, Staging, Sweeps, Timing, Waits, Watch};
#[cfg_attr(not(target_os = "linux"), allow(unused_imports, reason = "as above"))]
pub(crate) use until::Until;

use manual::Manual;
use std::time::{Duration, Instant, SystemTime};

/// The longest that a thread with a manual clock waits for an event before it looks at the clock again.
const SLICE: Duration = Duration::from_millis(1);

/// A source of time: the system's clock, or a manual one.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Option<&'static Manual>);

impl Clock {
    /// The system's clock.
    pub const SYSTEM: Clock = Clock(None);

    /// The current time.
    #[inline]
    pub(crate) fn now(self) -> Instant {
        match self.0 {
            None => Instant::now(),
            Some(manual) => manual.now(),
        }
    }

    /// Nanoseconds of the clock that all processes of the machine share.
    #[cfg(target_os = "linux")]
    pub(crate) fn nanos(self) -> u64 {
        self.0.map_or_else(crate::system::thread::monotonic_nanos, Manual::nanos)
    }

    /// The calendar time, for what is kept in files.
    pub(crate) fn today(self) -> SystemTime {
        self.0.map_or_else(SystemTime::now, Manual::today)
    }

    /// Starts a stopwatch.
    #[inline]
    pub(crate) fn start(self) -> Stopwatch {
        Stopwatch::new(self)
    }

    /// The deadline that is `limit` from now; `None` if that is too far away to represent.
    #[inline]
    pub(crate) fn after(self, limit: Duration) -> Option<Deadline> {
        Deadline::new(self, limit)
    }

    /// How long a thread that waits for an event, at most `limit`, may wait before it looks at the clock again.
    pub(crate) fn slice(self, limit: Duration) -> Duration {
        match self.0 {
            None => limit,
            Some(_) => limit.min(SLICE),
        }
    }

    /// Sleeps until this much time has passed.
    pub(crate) fn sleep(self, time: Duration) {
        match self.0 {
            None => std::thread::sleep(time),
            Some(manual) => manual.sleep(time),
        }
    }
}

/// Sleeps between two polls, by the system's clock.
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}
