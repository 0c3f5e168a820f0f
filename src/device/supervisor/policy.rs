//! How often a device may be rebuilt.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How often a device may be restarted: at most `restarts` times in any `window`. When these are used up, the device is
/// lost. The first restart has no pause. The pause before the second is `backoff`, and it doubles with each further
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// Restarts allowed in a window; 3 unless set. `u32::MAX` means any number.
    pub restarts: u32,
    /// The window; 60 s unless set.
    pub window: Duration,
    /// The pause before the second restart in a window; 10 ms unless set. The first has none.
    pub backoff: Duration,
    /// The longest pause; 5 s unless set.
    pub longest: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        RestartPolicy {
            restarts: 3,
            window: Duration::from_secs(60),
            backoff: Duration::from_millis(10),
            longest: Duration::from_secs(5),
        }
    }
}

impl RestartPolicy {
    /// No limit and no pause: for tests and for devices that are cheap to rebuild.
    pub fn unlimited() -> Self {
        RestartPolicy { restarts: u32::MAX, backoff: Duration::ZERO, ..Self::default() }
    }

    /// No restart: the first fault ends the device.
    pub fn never() -> Self {
        RestartPolicy { restarts: 0, ..Self::default() }
    }
}

/// How many restarts are remembered if their number has no limit. They only lengthen the pauses, up to the longest.
const REMEMBERED: usize = 32;

/// The restarts in the window.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<Instant>);

impl History {
    fn forget_old(&mut self, policy: &RestartPolicy, now: Instant) {
        while self.0.front().is_some_and(|&t| now.duration_since(t) >= policy.window) {
            self.0.pop_front();
        }
    }

    /// How many restarts are allowed now.
    pub(crate) fn left(&mut self, policy: &RestartPolicy, now: Instant) -> u32 {
        self.forget_old(policy, now);
        match policy.restarts {
            u32::MAX => u32::MAX,
            restarts => restarts.saturating_sub(u32::try_from(self.0.len()).unwrap_or(u32::MAX)),
        }
    }

    /// Takes one restart and returns the pause before it; `None` if there is none left.
    pub(crate) fn take(&mut self, policy: &RestartPolicy, now: Instant) -> Option<Duration> {
        if self.left(policy, now) == 0 {
            return None;
        }
        let earlier = self.0.len() as u32;
        if policy.restarts == u32::MAX && self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(now);
        let pause = match earlier {
            0 => Duration::ZERO,
            n => policy.backoff.saturating_mul(1u32.checked_shl(n - 1).unwrap_or(u32::MAX)),
        };
        Some(pause.min(policy.longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::clock::ManualClock;

    #[test]
    fn restarts_past_the_window_limit_are_refused_until_old_ones_age() {
        let policy = RestartPolicy { restarts: 2, window: Duration::from_secs(10), ..RestartPolicy::default() };
        let mut history = History::default();
        let start = ManualClock::new().clock().now();
        assert_eq!(history.take(&policy, start), Some(Duration::ZERO));
        assert_eq!(history.take(&policy, start), Some(policy.backoff));
        assert_eq!(history.take(&policy, start + Duration::from_secs(9)), None);
        assert_eq!(history.left(&policy, start + Duration::from_secs(10)), 2);
        assert_eq!(history.take(&policy, start + Duration::from_secs(10)), Some(Duration::ZERO));
    }

    #[test]
    fn without_a_limit_pauses_double_as_well_and_little_is_remembered() {
        let policy = RestartPolicy { restarts: u32::MAX, ..RestartPolicy::default() };
        let (mut history, now) = (History::default(), ManualClock::new().clock().now());
        let pauses: Vec<_> = (0..6).map(|_| history.take(&policy, now).unwrap().as_millis()).collect();
        assert_eq!(pauses, [0, 10, 20, 40, 80, 160]);
        for _ in 0..1000 {
            assert!(history.take(&policy, now).is_some_and(|pause| pause <= policy.longest));
        }
        assert_eq!(history.left(&policy, now), u32::MAX);
        assert!(history.0.len() < 100);
        let later = now + policy.window;
        assert_eq!(history.take(&policy, later), Some(Duration::ZERO), "what is past the window is forgotten");
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let policy = RestartPolicy { restarts: 99, longest: Duration::from_millis(35), ..RestartPolicy::default() };
        let mut history = History::default();
        let now = ManualClock::new().clock().now();
        let pauses: Vec<_> = (0..6).map(|_| history.take(&policy, now).unwrap().as_millis()).collect();
        assert_eq!(pauses, [0, 10, 20, 35, 35, 35]);
    }
}
