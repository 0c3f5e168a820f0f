//! The time during which this process ran, for the watchdog. A program that was stopped and continued (`SIGSTOP`, a
//! frozen container, a laptop's lid) must not lose its worker because of that. Test:
//! `worker ends::time_in_which_the_program_and_its_worker_are_stopped_is_nobodys_slowness`.

use std::time::{Duration, Instant};

/// How many stretches are kept apart; beyond that, the oldest are merged.
const STRETCHES: usize = 64;

/// A clock that stands still while the thread that reads it does not run.
pub(super) struct ActiveClock {
    last: Instant,
    /// For each stretch that does not count: when it ended, and its length.
    frozen: Vec<(Instant, Duration)>,
}

impl ActiveClock {
    pub(super) fn new(now: Instant) -> Self {
        ActiveClock { last: now, frozen: Vec::new() }
    }

    /// Call once a round. If a round took more than `most`, the process was stopped: the excess does not count.
    pub(super) fn tick(&mut self, now: Instant, most: Duration) {
        let round = now.saturating_duration_since(self.last);
        self.last = now;
        if let Some(lost) = round.checked_sub(most).filter(|lost| !lost.is_zero()) {
            self.frozen.push((now, lost));
        }
        if self.frozen.len() > STRETCHES {
            let (_, oldest) = self.frozen.remove(0);
            if let Some((_, next)) = self.frozen.first_mut() {
                *next += oldest;
            }
        }
    }

    /// How much of the last `time` counts.
    pub(super) fn lived(&self, time: Duration) -> Duration {
        let Some(start) = self.last.checked_sub(time) else { return time };
        let lost = self.frozen.iter().filter(|(end, _)| *end > start).map(|(_, lost)| *lost).sum();
        time.saturating_sub(lost)
    }

    /// Forgets the oldest stretch if more than `time` that counts has passed since it ended.
    pub(super) fn forget(&mut self, time: Duration) {
        if self.frozen.first().is_some_and(|(end, _)| self.lived(self.last.saturating_duration_since(*end)) > time) {
            self.frozen.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_stretch_in_which_nothing_ran_counts_for_one_round() {
        let start = ManualClock::new().clock().now();
        let mut clock = ActiveClock::new(start);
        for at in [10, 20, 5_020, 5_030, 9_030, 9_040] {
            clock.tick(start + ms(at), ms(10));
        }
        // These began at 9 035, at 5 025, at 15.
        assert_eq!([5, 4_015, 9_025].map(|time| clock.lived(ms(time))), [ms(5), ms(25), ms(45)]);
        clock.forget(ms(30));
        assert_eq!(clock.lived(ms(4_015)), ms(25), "still known");
        (0..10).for_each(|_| clock.forget(ms(3)));
        assert_eq!(clock.lived(ms(4_015)), ms(4_015), "forgotten");
    }

    #[test]
    fn of_many_stretches_none_is_counted_again() {
        let start = ManualClock::new().clock().now();
        let mut clock = ActiveClock::new(start);
        (1..=1_000).for_each(|n| clock.tick(start + ms(100 * n), ms(10)));
        assert_eq!((clock.frozen.len(), clock.lived(ms(100_000))), (STRETCHES, ms(10_000)));
    }
}
