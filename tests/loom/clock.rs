//! The names of `src/core/clock` that the modules under test use. Models have no time: what would wait for some goes on
//! at once.

use std::time::{Duration, Instant};

/// The system's.
#[derive(Clone, Copy)]
pub(crate) struct Clock;

/// Never asked: no model gives a wait an end.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Instant);

pub(crate) struct Stopwatch;

impl Clock {
    pub(crate) const SYSTEM: Clock = Clock;

    pub(crate) fn start(self) -> Stopwatch {
        Stopwatch
    }

    pub(crate) fn nanos(self) -> u64 {
        1
    }
}

impl Stopwatch {
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::MAX
    }
}

impl Deadline {
    pub(crate) fn wake_at(self) -> Instant {
        self.0
    }

    pub(crate) fn is_over(self) -> bool {
        true
    }
}
