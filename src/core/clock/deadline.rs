//! The end of a wait.

use super::{Clock, SLICE};
use std::time::{Duration, Instant};

/// A moment, measured by a clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    clock: Clock,
    at: Instant,
}

impl Deadline {
    #[inline]
    pub(super) fn new(clock: Clock, limit: Duration) -> Option<Self> {
        clock.now().checked_add(limit).map(|at| Deadline { clock, at })
    }

    /// Whether it has passed.
    #[inline]
    pub(crate) fn is_over(self) -> bool {
        self.clock.now() >= self.at
    }

    /// The time left until it.
    pub(crate) fn left(self) -> Duration {
        self.at.saturating_duration_since(self.clock.now())
    }

    /// The system time at which a thread that waits for an event checks this deadline again.
    pub(crate) fn wake_at(self) -> Instant {
        match self.clock.0 {
            None => self.at,
            Some(_) => Instant::now() + self.slice(),
        }
    }

    /// The same as a duration from now.
    pub(crate) fn slice(self) -> Duration {
        let left = self.left();
        if self.clock.0.is_some() { left.min(SLICE) } else { left }
    }
}

/// Whether there is a deadline and it has passed.
#[inline]
pub(crate) fn is_over(until: Option<Deadline>) -> bool {
    until.is_some_and(Deadline::is_over)
}
