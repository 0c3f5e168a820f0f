//! Time. Nothing in this crate asks the system for it but this module, and every limit stands in one [`Timing`].
//!
//! Each device has a `Timing`, and in it a [`Clock`]: the system's in production, one that a test advances by hand
//! ([`ManualClock`]) where the test says so when it opens the device. A clock per device rather than one for the process, so
//! that tests which run side by side in one program do not move each other's time; chosen at run time rather than by a
//! `cfg`, because the programs of `tests/` link the same library that users get. In production it costs a comparison: a
//! `Clock` is one pointer, and a look at the time asks first whether that is null.
//!
//! Two kinds of time are told apart:
//!
//! - A **limit** is a promise, or a patience that runs out: the limit of a wait, a watchdog, the pause before a restart.
//!   It goes by the device's clock: `Stopwatch`, `Deadline`, `Clock::sleep`.
//! - A **pace** is how often a loop looks and how long it spins in between; what it looks for comes by itself. It always
//!   goes by the system's clock ([`Clock::SYSTEM`], `pause`): under a manual clock that nobody advances, work must still
//!   be noticed.
//!
//! A thread that waits for an event with a limit (a condition variable, a futex, a poll) waits in slices of a millisecond
//! when its clock is a manual one (`Deadline::wake_at`, `Clock::slice`). So an advance need not know who waits, nobody
//! registers, and no wake-up can be lost. Only `Clock::sleep`, which waits for nothing but time, is woken by the advance.
//!
//! A worker process has the system's clock and the standard limits: it cannot see a clock of its parent. What the kernel
//! times by itself (the timeouts of a socket) goes by the system's clock too.

mod deadline;
mod manual;
mod stopwatch;
mod timing;

pub(crate) use deadline::{Deadline, is_over};
pub use manual::ManualClock;
pub(crate) use stopwatch::Stopwatch;
pub use timing::{Exit, Files, Memory, Recovery, Serving, Staging, Sweeps, Timing, Waits, Watch};

use manual::Manual;
use std::time::{Duration, Instant, SystemTime};

/// The longest that a thread waits for an event at a time, where its clock is a manual one.
const SLICE: Duration = Duration::from_millis(1);

/// What tells the time.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Option<&'static Manual>);

impl Clock {
    /// The system's.
    pub const SYSTEM: Clock = Clock(None);

    /// Now.
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
        self.0.map_or_else(system_nanos, Manual::nanos)
    }

    /// The calendar's time, for what is kept in files.
    pub(crate) fn today(self) -> SystemTime {
        self.0.map_or_else(SystemTime::now, Manual::today)
    }

    /// Measures from now on.
    #[inline]
    pub(crate) fn start(self) -> Stopwatch {
        Stopwatch::new(self)
    }

    /// The moment when `limit` will have passed; `None` where that is past all time.
    #[inline]
    pub(crate) fn after(self, limit: Duration) -> Option<Deadline> {
        Deadline::new(self, limit)
    }

    /// How long a thread that waits for an event, at most `limit`, may do so before it looks at the time again.
    pub(crate) fn slice(self, limit: Duration) -> Duration {
        match self.0 {
            None => limit,
            Some(_) => limit.min(SLICE),
        }
    }

    /// Sleeps until so much time has passed.
    pub(crate) fn sleep(self, time: Duration) {
        match self.0 {
            None => std::thread::sleep(time),
            Some(manual) => manual.sleep(time),
        }
    }
}

/// Waits between two looks at what comes by itself: by the system's clock.
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

#[cfg(target_os = "linux")]
fn system_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}
