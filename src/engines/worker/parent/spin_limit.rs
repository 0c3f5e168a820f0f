//! How long a waiter polls before it sleeps: as long as such waits took recently, unless they took long.
//!
//! Waking a sleeper takes tens of microseconds, as much as the whole round trip of a small operation that finds the
//! worker asleep. Polling for that long uses a core for as long. So it is done only if recent waits were short enough
//! to end while polling.
//!
//! Measured: with this, and with answers seen at once, the round trip of an isolated H200 from idle is 66 us longer
//! than in process; before it was 390 us longer (`benches/results/2026-11-22-h200-windlass-bench-night.md`).

use crate::core::clock::Watch;
use crate::core::sync::{AtomicU64, Ordering};
use std::time::Duration;

/// The spin limit of one worker.
pub(super) struct SpinLimit {
    /// The shortest limit: about a round trip when both sides are busy.
    least: Duration,
    /// The longest limit.
    most: Duration,
    /// A wait counts for at most this, so that a few short ones outweigh it.
    counted: Duration,
    /// How long recent waits took, in nanoseconds: a running mean, in which the newest has the weight of an eighth.
    recent: AtomicU64,
}

impl SpinLimit {
    pub(super) fn new(least: Duration, watch: &Watch) -> Self {
        SpinLimit { least, most: watch.longest_spin, counted: watch.counted, recent: AtomicU64::new(0) }
    }

    /// How long to poll now: twice the recent mean, since many waits are longer than the mean.
    pub(super) fn limit(&self) -> Duration {
        let recent = Duration::from_nanos(self.recent.load(Ordering::Relaxed));
        if recent <= self.most { (2 * recent).min(self.most).max(self.least) } else { self.least }
    }

    /// Learns from a wait of this length, whether it slept in the end or not. (If two threads learn at the same time,
    /// one of the two may be lost.)
    pub(super) fn learn(&self, waited: Duration) {
        let waited = waited.min(self.counted).as_nanos() as u64;
        let recent = self.recent.load(Ordering::Relaxed);
        self.recent.store(recent - recent / 8 + waited / 8, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::clock::Timing;

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
