//! The answers of the worker: a flag and a few bytes for each dispatch in flight, in shared memory.
//!
//! ```text
//!            client                        worker                          the worker is gone
//!   PENDING ──── sleeps on it ──> WAITED
//!      └──────────────┴────────────── DONE | SPILLED ─── answered          LOST ─── will not be answered
//! ```
//!
//! `DONE`: the bytes are the answer. `SPILLED`: the answer is too long or is an error, and comes through the socket.
//! The client reads one word to know whether a dispatch is ready. Which thread of the client may reuse a place, and
//! when, is explained in `untyped_dispatch.rs`. The worker also enters each finished place in a list, from which the
//! client reaps.

use crate::core::clock::Clock;
use crate::core::segment::Segment;
use crate::core::sync::{Arc, AtomicU32, Ordering};
use std::time::Duration;

pub(crate) const PENDING: u32 = 0;
pub(crate) const WAITED: u32 = 1;
pub(crate) const DONE: u32 = 2;
pub(crate) const SPILLED: u32 = 3;
pub(crate) const LOST: u32 = 4;

/// Dispatches that can be in flight at a time.
pub(crate) const PLACES: usize = 1 << 18;

/// Bytes of a place: two cache lines, so that neighbours share none.
const PLACE: usize = 128;
const STATE: usize = 0;
const STARTED: usize = 8;
const NANOS: usize = 16;
const ARRIVED: usize = 24;
const BYTES: usize = 64;

/// Before the list: the count of finished dispatches.
const FINISHED: usize = 0;
/// Next to it: since when the worker's poller has been asking its driver, in nanoseconds of the system's clock; 0 if it
/// is not.
const ASKING: usize = 8;
const LIST: usize = 64;
const TABLE: usize = LIST + PLACES * 4;

/// Bytes that the answers take in their segment.
pub(crate) const FOOTPRINT: usize = TABLE + PLACES * PLACE;

/// The answers, as either side sees them.
#[derive(Clone)]
pub(crate) struct Answers {
    segment: Arc<Segment>,
    base: usize,
}

impl Answers {
    pub(crate) fn new(segment: Arc<Segment>, base: usize) -> Self {
        debug_assert!(base.is_multiple_of(PLACE) && base + FOOTPRINT <= segment.len());
        Answers { segment, base }
    }

    fn at(&self, place: u32) -> usize {
        self.base + TABLE + (place as usize % PLACES) * PLACE
    }

    /// The state of a place: `PENDING` to `LOST`.
    pub(crate) fn state(&self, place: u32) -> &AtomicU32 {
        self.segment.half(self.at(place) + STATE)
    }

    /// The client takes a place for a dispatch.
    pub(crate) fn reset(&self, place: u32) {
        self.segment.word(self.at(place) + STARTED).store(0, Ordering::Relaxed);
        self.segment.word(self.at(place) + NANOS).store(0, Ordering::Relaxed);
        self.segment.word(self.at(place) + ARRIVED).store(0, Ordering::Relaxed);
        self.state(place).store(PENDING, Ordering::Release);
    }

    /// The worker begins the work.
    pub(crate) fn start(&self, place: u32) {
        self.start_at(place, Clock::SYSTEM.nanos());
    }

    pub(crate) fn start_at(&self, place: u32, nanos: u64) {
        self.segment.word(self.at(place) + STARTED).store(nanos, Ordering::Relaxed);
    }

    /// How long the worker has been at it, by `clock`; `None` if it has not begun.
    pub(crate) fn running(&self, place: u32, clock: Clock) -> Option<Duration> {
        let started = self.segment.word(self.at(place) + STARTED).load(Ordering::Relaxed);
        (started != 0).then(|| Duration::from_nanos(clock.nanos().saturating_sub(started)))
    }

    /// When the worker began the work, in nanoseconds of the system's clock; 0 if it has not begun.
    pub(crate) fn began(&self, place: u32) -> u64 {
        self.segment.word(self.at(place) + STARTED).load(Ordering::Relaxed)
    }

    /// The worker's poller asks its driver what is done, from `nanos` on; 0: it has the answer.
    pub(crate) fn ask_at(&self, nanos: u64) {
        self.segment.word(self.base + ASKING).store(nanos, Ordering::Relaxed);
    }

    /// For how long the worker's poller has been waiting for its driver's answer; `None` if it is not.
    pub(crate) fn asking(&self, clock: Clock) -> Option<Duration> {
        let since = self.segment.word(self.base + ASKING).load(Ordering::Relaxed);
        (since != 0).then(|| Duration::from_nanos(clock.nanos().saturating_sub(since)))
    }

    /// The first `bytes` bytes of a download are in its block.
    pub(crate) fn arrive(&self, place: u32, bytes: u64) {
        self.segment.word(self.at(place) + ARRIVED).store(bytes, Ordering::Release);
    }

    /// How many leading bytes of a download have arrived, for the client.
    pub(crate) fn arrived(&self, place: u32) -> u64 {
        self.segment.word(self.at(place) + ARRIVED).load(Ordering::Acquire)
    }

    /// The worker answers. It must not touch the place afterwards.
    pub(crate) fn answer(&self, place: u32, state: u32, bytes: &[u8; 64], time: Option<Duration>) {
        let at = self.at(place);
        for (i, chunk) in bytes.chunks_exact(8).enumerate() {
            let word = chunk.try_into().map_or(0, u64::from_ne_bytes);
            self.segment.word(at + BYTES + i * 8).store(word, Ordering::Relaxed);
        }
        if let Some(time) = time {
            self.segment.word(at + NANOS).store(time.as_nanos() as u64 + 1, Ordering::Relaxed);
        }
        if self.state(place).swap(state, Ordering::AcqRel) == WAITED {
            self.segment.wake(at + STATE);
        }
        // A count gives the index, and the entry itself says that it is there: the worker's threads need no lock.
        let index = self.segment.word(self.base + FINISHED).fetch_add(1, Ordering::Relaxed);
        self.listed(index).store(place + 1, Ordering::Release);
    }

    /// Takes the `index`-th place that finished, if it is entered. One client thread at a time.
    pub(crate) fn finished(&self, index: u64) -> Option<u32> {
        let entry = self.listed(index);
        let place = entry.load(Ordering::Acquire).checked_sub(1)?;
        entry.store(0, Ordering::Relaxed);
        Some(place)
    }

    /// The `index`-th place that finished is entered.
    pub(crate) fn is_finished(&self, index: u64) -> bool {
        self.listed(index).load(Ordering::Acquire) != 0
    }

    /// How many dispatches have finished, ever.
    pub(crate) fn count(&self) -> u64 {
        self.segment.word(self.base + FINISHED).load(Ordering::Relaxed)
    }

    fn listed(&self, index: u64) -> &AtomicU32 {
        self.segment.half(self.base + LIST + (index as usize % PLACES) * 4)
    }

    /// The bytes of an answered place.
    pub(crate) fn bytes(&self, place: u32) -> [u8; 64] {
        let mut bytes = [0; 64];
        for (i, chunk) in bytes.chunks_exact_mut(8).enumerate() {
            let word = self.segment.word(self.at(place) + BYTES + i * 8).load(Ordering::Relaxed);
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// The time on the device, if it was measured.
    pub(crate) fn time(&self, place: u32) -> Option<Duration> {
        let nanos = self.segment.word(self.at(place) + NANOS).load(Ordering::Relaxed);
        nanos.checked_sub(1).map(Duration::from_nanos)
    }

    /// The worker is gone and will answer nothing more: marks what is unanswered as `LOST`, and wakes threads that
    /// sleep on it.
    pub(crate) fn lose(&self, places: u32) {
        for place in 0..places {
            let flag = self.state(place);
            let unanswered = |s: u32| (s == PENDING || s == WAITED).then_some(LOST);
            if flag.fetch_update(Ordering::AcqRel, Ordering::Acquire, unanswered) == Ok(WAITED) {
                self.segment.wake(self.at(place) + STATE);
            }
        }
    }

    /// Marks the place as waited for. If it is then still `ours`, sleeps until it is answered or `limit` is over; may
    /// wake early. False if it is already answered.
    pub(crate) fn sleep(&self, place: u32, limit: Duration, ours: impl FnOnce() -> bool) -> bool {
        let marked = self.state(place).compare_exchange(PENDING, WAITED, Ordering::AcqRel, Ordering::Acquire);
        let unanswered = matches!(marked, Ok(_) | Err(WAITED));
        if unanswered && ours() {
            self.segment.sleep(self.at(place) + STATE, WAITED, limit);
        }
        unanswered
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    fn sides() -> (Answers, Answers) {
        let (one, file) = Segment::create("windlass-test", FOOTPRINT).unwrap();
        let two = Segment::map(&file, FOOTPRINT).unwrap();
        (Answers::new(Arc::new(one), 0), Answers::new(Arc::new(two), 0))
    }

    #[test]
    fn an_answer_carries_its_bytes_and_its_time_and_is_listed_once() {
        let (client, worker) = sides();
        client.reset(5);
        assert_eq!(client.state(5).load(Ordering::Acquire), PENDING);
        assert_eq!((client.finished(0), client.running(5, Clock::SYSTEM)), (None, None));
        worker.start(5);
        assert!(client.running(5, Clock::SYSTEM).is_some());
        let bytes: [u8; 64] = std::array::from_fn(|i| i as u8);
        worker.answer(5, DONE, &bytes, Some(Duration::from_nanos(77)));
        assert_eq!(client.state(5).load(Ordering::Acquire), DONE);
        assert_eq!((client.bytes(5), client.time(5)), (bytes, Some(Duration::from_nanos(77))));
        assert_eq!((client.finished(0), client.finished(0), client.finished(1)), (Some(5), None, None));
    }

    #[test]
    fn a_sleeper_is_woken_by_the_answer_and_by_the_loss() {
        for lost in [false, true] {
            let (client, worker) = sides();
            client.reset(3);
            let sleeper = client.clone();
            let thread = std::thread::spawn(move || {
                // Sleeps for ever unless it is woken: a missing wake-up hangs the test.
                while sleeper.sleep(3, Duration::from_secs(1 << 20), || true) {}
            });
            while client.state(3).load(Ordering::Acquire) != WAITED {
                std::thread::yield_now();
            }
            if lost {
                client.lose(10)
            } else {
                worker.answer(3, DONE, &[0; 64], None)
            }
            thread.join().unwrap();
            assert_eq!(client.state(3).load(Ordering::Acquire), if lost { LOST } else { DONE });
        }
    }

    #[test]
    fn a_loss_leaves_what_was_answered() {
        let (client, worker) = sides();
        (0..3).for_each(|place| client.reset(place));
        worker.answer(1, SPILLED, &[0; 64], None);
        client.lose(3);
        assert_eq!([0, 1, 2].map(|p| client.state(p).load(Ordering::Acquire)), [LOST, SPILLED, LOST]);
    }
}
