//! The time that the watchdog counts: this process ran, and the driver answered. A program that was stopped and continued
//! (`SIGSTOP`, a frozen container, a laptop's lid) must not lose its worker because of that, and neither must one whose
//! driver stalled for all GPUs (`stall.rs`). Test:
//! `worker ends::time_in_which_the_program_and_its_worker_are_stopped_is_nobodys_slowness`.

use std::time::{Duration, Instant};

/// How many stretches are kept apart; beyond that, the oldest are merged.
const STRETCHES: usize = 64;

/// A clock that stands still while the thread that reads it does not run, and during stalls.
pub(super) struct ActiveClock {
    last: Instant,
    /// The stretches that do not count: beginning and end. They are disjoint and in order.
    frozen: Vec<(Instant, Instant)>,
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
            self.exclude(now - lost, now);
        }
    }

    /// The time from `begin` to `end` does not count, for whatever reason. `end` may lie ahead.
    pub(super) fn exclude(&mut self, mut begin: Instant, mut end: Instant) {
        // Joined with those that it meets.
        self.frozen.retain(|(other, its_end)| {
            let meets = *other <= end && *its_end >= begin;
            if meets {
                (begin, end) = (begin.min(*other), end.max(*its_end));
            }
            !meets
        });
        let at = self.frozen.partition_point(|(other, _)| *other < begin);
        self.frozen.insert(at, (begin, end));
        if self.frozen.len() > STRETCHES {
            // The two oldest become one of their lengths together, at the end of the later one.
            let (first, its_end) = self.frozen.remove(0);
            if let Some((next, _)) = self.frozen.first_mut() {
                *next = next.checked_sub(its_end - first).unwrap_or(*next);
            }
        }
    }

    /// How much of the last `time` counts.
    pub(super) fn lived(&self, time: Duration) -> Duration {
        let Some(start) = self.last.checked_sub(time) else { return time };
        let inside =
            |(begin, end): &(Instant, Instant)| (*end).min(self.last).saturating_duration_since((*begin).max(start));
        time.saturating_sub(self.frozen.iter().map(inside).sum())
    }

    /// Forgets the oldest stretch if more than `time` that counts has passed since it ended.
    pub(super) fn forget(&mut self, time: Duration) {
        if self.frozen.first().is_some_and(|(_, end)| self.lived(self.last.saturating_duration_since(*end)) > time) {
            self.frozen.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::clock::ManualClock;

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
    fn stretches_that_meet_count_once_and_only_what_lies_inside() {
        let start = ManualClock::new().clock().now();
        let mut clock = ActiveClock::new(start);
        clock.exclude(start + ms(100), start + ms(400));
        clock.exclude(start + ms(300), start + ms(500));
        clock.exclude(start + ms(200), start + ms(250));
        clock.exclude(start + ms(900), start + ms(1_900));
        clock.tick(start + ms(1_000), ms(1_000));
        // Those began at 0, at 450, at 950.
        assert_eq!([1_000, 550, 50].map(|time| clock.lived(ms(time))), [ms(500), ms(400), ms(0)]);
        clock.tick(start + ms(2_000), ms(1_000));
        assert_eq!(clock.lived(ms(1_050)), ms(100), "what lay ahead has passed");
    }

    #[test]
    fn of_many_stretches_none_is_counted_again() {
        let start = ManualClock::new().clock().now();
        let mut clock = ActiveClock::new(start);
        (1..=1_000).for_each(|n| clock.tick(start + ms(100 * n), ms(10)));
        assert_eq!((clock.frozen.len(), clock.lived(ms(100_000))), (STRETCHES, ms(10_000)));
    }
}
