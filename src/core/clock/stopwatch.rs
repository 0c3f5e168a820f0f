//! Elapsed time.

use super::Clock;
use std::time::{Duration, Instant};

/// Measures how much time has passed since a moment, by a clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    clock: Clock,
    begin: Instant,
}

impl Stopwatch {
    #[inline]
    pub(super) fn new(clock: Clock) -> Self {
        Stopwatch { clock, begin: clock.now() }
    }

    /// The time since it was started.
    #[inline]
    pub(crate) fn elapsed(&self) -> Duration {
        self.clock.now().saturating_duration_since(self.begin)
    }
}
