//! The dispatches in flight by the places of their answers, and the places that are free.

use super::answers::{Answers, PLACES};
use crate::sync::{Arc, AtomicU32, Mutex};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// A dispatch in flight, without its types.
pub(super) trait Flight: Send + Sync {
    /// Where its answer comes.
    fn place(&self) -> &AtomicU32;
    /// Settles it if its answer is there. True when it is settled.
    fn retire(&self) -> bool;
    /// The operation.
    fn name(&self) -> &'static str;
}

/// Drops what may be the last of a dispatch. What an op owns may be anything, and its panic is not that of the thread which
/// happens to be here: one that submits something else, or the one that everybody's answers hang on.
pub(super) fn let_go(flight: Arc<dyn Flight>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(flight)));
}

/// Places that go from the pool to a lane at a time.
const BORROWED: usize = 64;
/// Places whose entries are made at a time.
const CHUNK: usize = 1024;

type Entry = Mutex<Option<Arc<dyn Flight>>>;

/// All places. A lane borrows some at a time, so that threads seldom meet here.
pub(super) struct Flights {
    pool: Mutex<Pool>,
    chunks: Box<[OnceLock<Box<[Entry]>>]>,
}

/// Places that were used and are free, and how many were ever used.
#[derive(Default)]
struct Pool {
    free: Vec<u32>,
    used: u32,
}

impl Default for Flights {
    fn default() -> Self {
        Flights { pool: Mutex::default(), chunks: (0..PLACES / CHUNK).map(|_| OnceLock::new()).collect() }
    }
}

impl Flights {
    /// Takes free places to `places`: none when there are none.
    pub(super) fn borrow(&self, places: &mut Vec<u32>) {
        let mut pool = self.pool.lock();
        let rest = pool.free.len().saturating_sub(BORROWED);
        places.extend(pool.free.drain(rest..));
        if places.is_empty() {
            let end = (pool.used as usize + BORROWED).min(PLACES) as u32;
            // The lowest are used first.
            places.extend((pool.used..end).rev());
            pool.used = end;
        }
    }

    /// How many places were ever borrowed: the first so many.
    pub(super) fn used(&self) -> u32 {
        self.pool.lock().used
    }

    /// The dispatch whose answer comes to a place.
    pub(super) fn at(&self, place: u32) -> Option<&Entry> {
        let place = place as usize;
        let chunk = self.chunks.get(place / CHUNK)?;
        chunk.get_or_init(|| (0..CHUNK).map(|_| Entry::default()).collect()).get(place % CHUNK)
    }

    /// Enters one, before its order can be read: who sees its place answered finds it.
    pub(super) fn enter(&self, place: u32, flight: Arc<dyn Flight>) {
        if let Some(entry) = self.at(place) {
            *entry.lock() = Some(flight);
        }
    }

    /// Takes one out.
    pub(super) fn leave(&self, place: u32) -> Option<Arc<dyn Flight>> {
        self.at(place)?.lock().take()
    }

    /// Takes all out. Nobody enters any more.
    pub(super) fn leave_all(&self) -> Vec<Arc<dyn Flight>> {
        (0..self.used()).filter_map(|place| self.leave(place)).collect()
    }
}

/// Settles what has finished. One thread at a time.
#[derive(Default)]
pub(super) struct Reaper {
    /// `None` once the worker is gone.
    flights: Option<Arc<Flights>>,
    next: u64,
    /// Finished, and not settled yet: another thread is at it, or its answer is still in the socket.
    late: Vec<u32>,
}

impl Reaper {
    pub(super) fn new(flights: &Arc<Flights>) -> Self {
        Reaper { flights: Some(flights.clone()), ..Reaper::default() }
    }

    pub(super) fn reap(&mut self, answers: &Answers) {
        let Reaper { flights: Some(flights), next, late } = self else { return };
        let mut places: SmallVec<[u32; BORROWED]> = late.drain(..).collect();
        loop {
            while places.len() < BORROWED
                && let Some(place) = answers.finished(*next)
            {
                *next += 1;
                places.push(place);
            }
            if places.is_empty() {
                return;
            }
            let full = places.len() >= BORROWED;
            let mut free: SmallVec<[u32; BORROWED]> = SmallVec::new();
            for place in places.drain(..) {
                let flight = flights.at(place).and_then(|entry| entry.lock().clone());
                if flight.as_ref().is_none_or(|flight| flight.retire()) {
                    if flights.leave(place).is_some() {
                        free.push(place);
                    }
                } else {
                    late.push(place);
                }
                flight.into_iter().for_each(let_go); // with no lock but the reaper's
            }
            flights.pool.lock().free.extend(free);
            if !full {
                return;
            }
        }
    }
}
