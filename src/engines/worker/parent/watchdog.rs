//! Measures how long the worker has been at one operation.

use super::flights::Flights;
use super::lane::Lane;
use crate::core::clock::Timing;
use crate::core::sync::Ordering;
use crate::engines::worker::shared::LANES;
use crate::engines::worker::shared::first_use;
use crate::engines::worker::shared::{Answers, DONE};
use std::time::{Duration, Instant};

/// What the last look saw.
pub(super) struct Watchdog {
    timing: &'static Timing,
    looked: Option<Instant>,
    /// The number of answers, and since when there were no more of them and no first use.
    finished: (u64, Instant),
    /// When a first use was seen last. It may block all threads in the driver, so that the worker cannot see either
    /// whether work on the device is done.
    first_use: Option<Instant>,
    /// For each lane that had orders left: how far it had come, and since when it has not moved.
    carried: [Option<(u64, Instant)>; LANES],
    /// Since when a dispatch has had no answer although the worker has nothing left to do.
    unanswered: Option<Instant>,
    /// What ran when it was looked last.
    begun: Vec<Begun>,
}

/// An operation that runs.
struct Begun {
    place: u32,
    /// When the worker began it, in nanoseconds.
    at: u64,
    /// When an operation that had begun before it was seen to have ended.
    overtook: Option<Instant>,
}

impl Watchdog {
    pub(super) fn new(timing: &'static Timing) -> Self {
        Watchdog {
            timing,
            looked: None,
            finished: (0, timing.clock.now()),
            first_use: None,
            carried: [None; LANES],
            unanswered: None,
            begun: Vec::new(),
        }
    }

    /// How long each operation that runs has been running, and its place.
    ///
    /// That an operation may begin is all that can be seen of a GPU. If another one had begun before, in another queue,
    /// the GPU may have been at that one alone. So the time starts anew when it ends. There are only so many that had
    /// begun before, so an operation that does not end is found in any case.
    fn running(&mut self, now: Instant, on_gpu: bool, answers: &Answers, used: u32) -> Vec<(Duration, u32)> {
        let clock = self.timing.clock;
        let now_running = (0..used).filter_map(|place| {
            let (at, time) = (answers.began(place), answers.running(place, clock)?);
            // The state is read after the time: a place that is reused meanwhile has its time reset first.
            (answers.state(place).load(Ordering::Acquire) < DONE).then_some((place, at, time))
        });
        let now_running: Vec<(u32, u64, Duration)> = now_running.collect();
        let before = std::mem::take(&mut self.begun);
        let (still, ended): (Vec<Begun>, Vec<Begun>) = before
            .into_iter()
            .partition(|old| now_running.iter().any(|(place, at, _)| (*place, *at) == (old.place, old.at)));
        let mut times = Vec::with_capacity(now_running.len());
        for (place, at, time) in now_running {
            let known = still.iter().find(|old| old.place == place).and_then(|old| old.overtook);
            let overtook = if on_gpu && ended.iter().any(|old| old.at < at) { Some(now) } else { known };
            times.push((overtook.map_or(time, |then| time.min(now - then)), place));
            self.begun.push(Begun { place, at, overtook });
        }
        times
    }

    /// The longest time at one operation, and its name. `None` if there is none, or if the last look was less than
    /// `pause` ago.
    pub(super) fn look(
        &mut self,
        pause: Duration,
        answers: &Answers,
        flights: &Flights,
        (lanes, on_gpu): (&[Lane; LANES], bool),
    ) -> Option<(Duration, &'static str)> {
        let now = self.timing.clock.now();
        if self.looked.is_some_and(|looked| now - looked < pause) {
            return None;
        }
        self.looked = Some(now);
        if lanes.iter().any(|lane| first_use::is_under_way(&lane.progress, self.timing)) {
            self.first_use = Some(now);
        }
        let running = self.running(now, on_gpu, answers, flights.used());
        let running = running
            .into_iter()
            .max_by_key(|(time, _)| *time)
            .and_then(|(time, place)| Some((time, flights.at(place)?.lock().as_ref()?.name())))
            .map(|(time, op)| (self.first_use.map_or(time, |then| time.min(now - then)), op));
        let is_running = running.is_some();
        let stuck = self.stuck(now, answers, lanes);
        let lost = if is_running { None } else { self.lost(now, answers, flights, lanes) };
        if lost.is_none() {
            self.unanswered = None;
        }
        running.into_iter().chain(stuck).chain(lost).max_by_key(|(time, _)| *time)
    }

    /// A dispatch was sent and read, and has no answer, although the worker runs nothing: either the answer was lost,
    /// or the report that the work began. Call after [`stuck`](Self::stuck).
    fn lost(
        &mut self,
        now: Instant,
        answers: &Answers,
        flights: &Flights,
        lanes: &[Lane; LANES],
    ) -> Option<(Duration, &'static str)> {
        if lanes.iter().any(Lane::is_behind) {
            return None;
        }
        let unanswered = |place: u32| {
            let name = flights.at(place)?.lock().as_ref()?.name();
            (answers.state(place).load(Ordering::Acquire) < DONE).then_some(name)
        };
        let name = (0..flights.used()).find_map(unanswered)?;
        let since = *self.unanswered.get_or_insert(now);
        Some((now - since.max(self.finished.1), name))
    }

    /// A lane makes no progress although it has orders, while nothing else finishes: the worker is stuck before an
    /// operation begins, for example in a driver. While something finishes, the lane may just be waiting for it. It may
    /// also be waiting for a first use in another lane, which may block all threads in the driver.
    fn stuck(&mut self, now: Instant, answers: &Answers, lanes: &[Lane; LANES]) -> Option<(Duration, &'static str)> {
        let finished = answers.count();
        if self.finished.0 != finished || self.first_use == Some(now) {
            self.finished = (finished, now);
        }
        let mut since = now;
        for (lane, seen) in lanes.iter().zip(&mut self.carried) {
            let carried = lane.progress.carried();
            *seen = match *seen {
                _ if !lane.is_behind() => None,
                Some((before, since)) if before == carried => Some((before, since)),
                _ => Some((carried, now)),
            };
            since = seen.map_or(since, |(_, then)| then.min(since));
        }
        Some((now - since.max(self.finished.1), "submitting an order to the device"))
    }
}
