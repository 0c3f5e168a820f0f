//! A clock for tests.

use super::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// A clock that stands still until it is advanced.
///
/// Copies of it are handles to the same clock. The clock lives as long as the process, so nothing that measures by it
/// has to check whether it still exists.
#[derive(Clone, Copy, Debug)]
pub struct ManualClock(&'static Manual);

#[derive(Debug)]
pub(super) struct Manual {
    begin: Instant,
    /// The same moment as calendar time.
    begin_today: SystemTime,
    /// The same moment by the clock that all processes share.
    #[cfg(target_os = "linux")]
    begin_nanos: u64,
    /// Nanoseconds by which it has been advanced.
    passed: AtomicU64,
    sleepers: Mutex<usize>,
    advanced: Condvar,
}

/// All that were ever made, so that leak checkers do not report them.
static ALL: Mutex<Vec<&'static Manual>> = Mutex::new(Vec::new());

impl Default for ManualClock {
    fn default() -> Self {
        ManualClock::new()
    }
}

impl ManualClock {
    /// A clock that starts at the present moment.
    pub fn new() -> Self {
        let manual: &'static Manual = Box::leak(Box::new(Manual {
            begin: Instant::now(),
            begin_today: SystemTime::now(),
            #[cfg(target_os = "linux")]
            begin_nanos: crate::system::thread::monotonic_nanos(),
            passed: AtomicU64::new(0),
            sleepers: Mutex::new(0),
            advanced: Condvar::new(),
        }));
        ALL.lock().unwrap_or_else(PoisonError::into_inner).push(manual);
        ManualClock(manual)
    }

    /// The [`Clock`] to be put into a [`Timing`](super::Timing).
    pub fn clock(self) -> Clock {
        Clock(Some(self.0))
    }

    /// Lets time pass, and wakes the threads whose sleep has ended.
    pub fn advance(self, time: Duration) {
        let _sleepers = self.0.lock();
        self.0.passed.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::SeqCst);
        self.0.advanced.notify_all();
    }

    /// How many threads sleep until it is advanced. A test waits until one of them sleeps before it advances the clock.
    pub fn sleepers(self) -> usize {
        *self.0.lock()
    }
}

impl Manual {
    fn lock(&self) -> std::sync::MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn passed(&self) -> u64 {
        self.passed.load(Ordering::SeqCst)
    }

    pub(super) fn now(&self) -> Instant {
        let passed = Duration::from_nanos(self.passed());
        self.begin.checked_add(passed).unwrap_or(self.begin)
    }

    pub(super) fn today(&self) -> SystemTime {
        self.begin_today + Duration::from_nanos(self.passed())
    }

    #[cfg(target_os = "linux")]
    pub(super) fn nanos(&self) -> u64 {
        self.begin_nanos.saturating_add(self.passed())
    }

    pub(super) fn sleep(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let mut sleepers = self.lock();
        let end = self.passed().saturating_add(time);
        *sleepers += 1;
        while self.passed() < end {
            sleepers = self.advanced.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_still_until_it_is_advanced() {
        let manual = ManualClock::new();
        let clock = manual.clock();
        let (start, end) = (clock.start(), clock.after(Duration::from_secs(3600)).unwrap());
        assert!(start.elapsed().is_zero() && !end.is_over());
        assert_eq!(end.left(), Duration::from_secs(3600));
        manual.advance(Duration::from_secs(3599));
        assert_eq!((start.elapsed(), end.is_over()), (Duration::from_secs(3599), false));
        manual.advance(Duration::from_secs(1));
        assert!(end.is_over() && end.left().is_zero());
    }

    #[test]
    fn a_limit_past_all_time_is_none() {
        assert!(ManualClock::new().clock().after(Duration::MAX).is_none());
        assert!(Clock::SYSTEM.after(Duration::MAX).is_none());
    }

    #[test]
    fn an_advance_wakes_those_whose_time_has_come_and_no_others() {
        let manual = ManualClock::new();
        let sleep = |seconds| std::thread::spawn(move || manual.clock().sleep(Duration::from_secs(seconds)));
        let (short, long) = (sleep(10), sleep(20));
        while manual.sleepers() < 2 {
            std::thread::yield_now();
        }
        manual.advance(Duration::from_secs(10));
        short.join().unwrap();
        assert!(!long.is_finished() && manual.sleepers() == 1);
        manual.advance(Duration::from_secs(10));
        long.join().unwrap();
    }

    /// A thread that also waits for an event looks at the clock from time to time, however far away its deadline is.
    #[test]
    fn a_wait_for_an_event_is_cut_into_slices() {
        let (manual, hour) = (ManualClock::new(), Duration::from_secs(3600));
        assert!(manual.clock().slice(hour) <= super::super::SLICE);
        assert!(manual.clock().after(hour).unwrap().slice() <= super::super::SLICE);
        assert_eq!(Clock::SYSTEM.slice(hour), hour);
    }
}
