//! How often a waiting thread polls work whose end is not announced.

use super::wait_history;
use crate::core::clock::{Clock, Stopwatch, Waits};
use std::time::Duration;

/// The pause between two polls is a 20th of the time already waited, up to 40 us ([`Waits`]). From 16 ms on it is a
/// 400th of it, up to 1 ms. So an end is noticed at most about 50 us late, or 0.4 % of the time.
///
/// If it is known how long such waits take (`wait_history.rs`), the pause is a quarter of the time already waited, up
/// to 1 ms, until shortly before the expected end. A wait of 10 ms then takes a seventh of the polls (the test below
/// counts them). With the stand-in driver that is 11 % of a core instead of 35 %, on a machine where each sleep costs
/// 28 us (`cargo bench --bench dispatch -- "wait of"`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Measured by the system's clock, whatever the device's clock is.
    begin: Stopwatch,
    /// The name of the awaited operation.
    name: Option<&'static str>,
    /// The end is not expected before this much time has passed.
    earliest: Duration,
}

impl Pace {
    /// The pause is the time already waited divided by this: in a short wait, in a long one, and in one whose end is
    /// not expected yet.
    const PARTS: (u32, u32, u32) = (20, 400, 4);
    /// The fraction of the shortest known wait after which frequent polling begins.
    const MARGIN: f32 = 15.0 / 16.0;

    pub(crate) fn new() -> Self {
        Pace { begin: Clock::SYSTEM.start(), name: None, earliest: Duration::ZERO }
    }

    /// The pace of a wait for the operation `name`, which learns from how long it takes. Call [`ended`](Self::ended)
    /// when the work has ended.
    pub(crate) fn learning(name: &'static str) -> Self {
        Pace { name: Some(name), earliest: wait_history::shortest(name).mul_f32(Self::MARGIN), ..Pace::new() }
    }

    /// Whether enough such waits are known to predict the end.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_known(&self) -> bool {
        !self.earliest.is_zero()
    }

    /// Records that the awaited work has ended.
    pub(crate) fn ended(&self) {
        if let Some(name) = self.name {
            wait_history::learn(name, self.begin.elapsed());
        }
    }

    /// The pause before the next poll.
    pub(crate) fn pause(&self, waits: &Waits) -> Duration {
        self.after(self.begin.elapsed(), waits)
    }

    fn after(&self, waited: Duration, waits: &Waits) -> Duration {
        let Waits { shortest_pause, longest_pause, .. } = *waits;
        let (short, long, unexpected) = Self::PARTS;
        let pause = (waited / short).min(shortest_pause).max(waited / long).max(shortest_pause / 4).min(longest_pause);
        pause.max((waited / unexpected).min(longest_pause).min(self.earliest.saturating_sub(waited)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::clock::Timing;

    const fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    /// How often work that ends after `end` is polled after the first millisecond, and how late its end is noticed.
    fn looks(end: Duration, earliest: Duration) -> (usize, Duration) {
        let pace = Pace { earliest, ..Pace::new() };
        let (mut at, mut count) = (Duration::ZERO, 0);
        while at < end {
            at += pace.after(at, &Timing::standard().waits);
            count += usize::from(at > us(1_000));
        }
        (count, at - end)
    }

    #[test]
    fn where_the_end_is_known_looks_are_few_and_it_is_seen_as_early() {
        for (end, part) in [(us(2_000), 3), (us(10_000), 7), (us(100_000), 9)] {
            let before = end.mul_f32(Pace::MARGIN);
            let [unknown, known] = [us(0), before].map(|earliest| looks(end, earliest).0);
            assert!(known * part <= unknown, "{known} looks instead of {unknown} at {end:?}");
            for earliest in [us(0), end / 2, before] {
                for end in [end.mul_f32(0.95), end.mul_f32(0.999), end, end.mul_f32(1.01), 2 * end] {
                    let (_, late) = looks(end, earliest);
                    assert!(late <= us(50).max(end / 200), "{late:?} late of {end:?}, expected from {earliest:?} on");
                }
            }
        }
        let (_, late) = looks(us(9_000), us(50_000));
        assert!(late <= us(1_000), "an end that comes far too early is seen {late:?} late");
    }
}
