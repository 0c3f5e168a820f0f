//! How long a waiter looks before it sleeps: as long as such waits took lately, if that is not long.
//!
//! To wake a sleeper takes tens of microseconds, as much as the whole round trip of a small operation that finds the worker
//! asleep. Who looks for that long gives as much of a core away; so it is done only where waits were short enough that
//! looking saw their ends.
//!
//! It earns its place: with it, and answers seen at once, the round trip of an isolated H200 from idle is 66 us longer than in
//! process, and was 390 (`benches/results/2026-11-22-h200-windlass-bench-night.md`).

use crate::clock::Watch;
use crate::sync::{AtomicU64, Ordering};
use std::time::Duration;

/// One worker's.
pub(super) struct SpinLimit {
    /// Looked for in any case: about a round trip when both sides are busy.
    least: Duration,
    /// The longest look.
    most: Duration,
    /// What a wait counts for at most, so that a few short ones make up for it.
    counted: Duration,
    /// How long waits took lately, in nanoseconds: a mean in which the newest counts for an eighth.
    recent: AtomicU64,
}

impl SpinLimit {
    pub(super) fn new(least: Duration, watch: &Watch) -> Self {
        SpinLimit { least, most: watch.longest_spin, counted: watch.counted, recent: AtomicU64::new(0) }
    }

    /// How long to look now: twice as long as it takes, for half of all waits are longer than the mean.
    pub(super) fn limit(&self) -> Duration {
        let recent = Duration::from_nanos(self.recent.load(Ordering::Relaxed));
        if recent <= self.most { (2 * recent).min(self.most).max(self.least) } else { self.least }
    }

    /// A wait took so long, whether it slept in the end or not. (Two that learn at a time may forget one of the two.)
    pub(super) fn learn(&self, waited: Duration) {
        let waited = waited.min(self.counted).as_nanos() as u64;
        let recent = self.recent.load(Ordering::Relaxed);
        self.recent.store(recent - recent / 8 + waited / 8, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timing;

    #[test]
    fn one_looks_as_long_as_waits_take_and_not_where_they_take_long() {
        let us = Duration::from_micros;
        let spin_limit = SpinLimit::new(us(20), &Timing::standard().watch);
        let learn = |n, waited| (0..n).for_each(|_| spin_limit.learn(waited));
        assert_eq!(spin_limit.limit(), us(20));
        learn(30, us(70));
        assert!((us(125)..=us(140)).contains(&spin_limit.limit()), "{:?}", spin_limit.limit());
        learn(30, us(5));
        assert_eq!(spin_limit.limit(), us(20));
        learn(30, us(150));
        assert_eq!(spin_limit.limit(), us(200));
        learn(30, Duration::from_secs(5));
        assert_eq!(spin_limit.limit(), us(20), "nobody looks for what takes seconds");
        learn(30, us(70));
        assert!(spin_limit.limit() > us(100), "short again");
    }
}
