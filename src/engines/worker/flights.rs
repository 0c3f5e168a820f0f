//! The dispatches in flight by the places of their answers, and the places that are free.

use super::answers::{Answers, PLACES};
use super::flying::Flying;
use crate::clock::{self, Clock, Deadline, Timing};
use crate::sync::{Arc, AtomicU32, AtomicUsize, Mutex, Ordering};
use parking_lot::MutexGuard;
use smallvec::SmallVec;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::Duration;

/// A dispatch in flight, without its types.
pub(crate) trait Flight: Send + Sync {
    /// Where its answer comes.
    fn place(&self) -> &AtomicU32;
    /// Settles it if its answer is there. True when it is settled.
    fn retire(&self) -> bool;
    /// The operation.
    fn name(&self) -> &'static str;
    /// All of an operation that does not depend on what it is.
    fn flying(&self) -> Option<&Flying> {
        None
    }
    /// Somebody is told when it settles: that calls the user's code.
    fn is_traced(&self) -> bool {
        false
    }
    /// Its result is being taken out, by somebody who has no handle of the dispatch any more.
    fn is_taken_out(&self) -> bool {
        false
    }
}

/// Drops what may be the last of a dispatch. What an op owns may be anything, and its panic is not that of the thread which
/// happens to be here: one that submits something else, or the one that everybody's answers hang on.
pub(super) fn let_go(flight: Arc<dyn Flight>) {
    let _ = catch_unwind(AssertUnwindSafe(|| calling(|| drop(flight))));
}

thread_local! {
    /// How deep this thread is in code of the user's that is called where work is settled.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// What the user's code waits for it may have to settle itself, and so call the user's code again: so deep at most.
const DEEPEST: usize = 4;

/// Calls the user's code: a trace's hooks, the drop of what an operation owns.
pub(super) fn calling<T>(what: impl FnOnce() -> T) -> T {
    struct Called;
    impl Drop for Called {
        fn drop(&mut self) {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    DEPTH.set(DEPTH.get() + 1);
    let _called = Called;
    what()
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

    /// Nobody can learn of any of them: the table has the last handle on each. Once that is so it stays, when nobody enters
    /// any more.
    pub(super) fn are_forsaken(&self) -> bool {
        let forsaken = |flight: &Arc<dyn Flight>| Arc::strong_count(flight) == 1 && !flight.is_taken_out();
        let entries = (0..self.used()).filter_map(|place| self.at(place));
        entries.into_iter().all(|entry| entry.lock().as_ref().is_none_or(forsaken))
    }

    /// Takes all out and settles what nobody will answer, as far as that calls nobody; nobody enters any more.
    pub(super) fn sweep(&self) -> Swept {
        let flights: Vec<_> = (0..self.used()).filter_map(|place| self.leave(place)).collect();
        for flight in flights.iter().filter(|flight| !flight.is_traced()) {
            flight.retire();
        }
        Swept(flights)
    }
}

/// What was in flight when the worker ended.
#[derive(Default)]
pub(super) struct Swept(Vec<Arc<dyn Flight>>);

impl Swept {
    /// Settles the rest and lets go of all: calls the user's code. False when some of it could not be settled: another
    /// thread has claimed it, and may find that it cannot settle it yet.
    pub(super) fn settle(self, timing: &Timing) -> bool {
        let mut flights = self.0;
        let (start, pace) = (timing.clock.start(), Clock::SYSTEM.start());
        while !flights.is_empty() && start.elapsed() < timing.watch.settling {
            let (settled, left): (Vec<_>, _) = flights.into_iter().partition(|flight| flight.retire());
            settled.into_iter().for_each(let_go);
            flights = left;
            clock::pause(pace.elapsed().min(timing.watch.reap_all));
        }
        let settled = flights.is_empty();
        flights.into_iter().for_each(let_go);
        settled
    }
}

/// Settles what has finished. Each thread takes some of it out under the lock, and settles it with none: that is where a
/// trace is told, and where what a user's operation owned may be dropped.
pub(super) struct Reaper {
    finished: Mutex<Finished>,
    /// Those who have taken some out, and are not done with it.
    at_work: AtomicUsize,
}

/// What is known to have finished.
struct Finished {
    /// `None` once the worker is gone.
    flights: Option<Arc<Flights>>,
    next: u64,
    /// Finished, and not settled yet: another thread is at it, or its answer is still in the socket.
    late: Vec<u32>,
}

type Places = SmallVec<[u32; BORROWED]>;

/// What one thread has taken out.
struct Taken<'a> {
    reaper: &'a Reaper,
    flights: Arc<Flights>,
    places: Places,
    late: Places,
}

impl Reaper {
    pub(super) fn new(flights: &Arc<Flights>) -> Self {
        let finished = Finished { flights: Some(flights.clone()), next: 0, late: Vec::new() };
        Reaper { finished: Mutex::new(finished), at_work: AtomicUsize::new(0) }
    }

    /// Settles what has finished, where that can wait: not from within the user's code, which may hold what it needs itself
    /// when it is called for the next, and has only looked at the device.
    pub(super) fn glance(&self, answers: &Answers) {
        if DEPTH.get() == 0 {
            self.reap(answers);
        }
    }

    /// Settles what has finished. One thread at a time takes it out, others go on.
    pub(super) fn reap(&self, answers: &Answers) {
        self.reap_by(answers, || self.finished.try_lock());
    }

    /// The same, and waits for those who are at it, at most until `end`, with pauses. (A hook that asks is at it itself.)
    pub(super) fn reap_all(&self, answers: &Answers, (end, pause): (Option<Deadline>, Duration)) {
        loop {
            self.reap_by(answers, || Some(self.finished.lock()));
            if self.at_work.load(Ordering::Acquire) == 0 || clock::is_over(end) {
                return;
            }
            clock::pause(pause);
        }
    }

    fn reap_by<'a>(&'a self, answers: &Answers, lock: impl Fn() -> Option<MutexGuard<'a, Finished>>) {
        let mut again = false;
        while DEPTH.get() < DEEPEST
            && let Some(finished) = lock()
            && let Some(taken) = self.take(finished, answers, again)
        {
            again = true;
            if !taken.settle() {
                return;
            }
        }
    }

    /// Nobody has taken anything out and is not done with it, but for those who ask from within that.
    pub(super) fn is_at_rest(&self) -> bool {
        DEPTH.get() > 0 || self.at_work.load(Ordering::Acquire) == 0
    }

    /// Something has finished, and nobody has taken it out yet, or it could not be settled.
    pub(super) fn is_due(&self, answers: &Answers) -> bool {
        let finished = self.finished.lock();
        finished.flights.is_some() && (!finished.late.is_empty() || answers.is_finished(finished.next))
    }

    /// The worker is gone.
    pub(super) fn end(&self) {
        let mut finished = self.finished.lock();
        finished.flights = None;
        finished.late = Vec::new();
    }

    /// Takes some out, and at first what was late; `None` when there is nothing.
    fn take(&self, mut finished: MutexGuard<'_, Finished>, answers: &Answers, again: bool) -> Option<Taken<'_>> {
        let Finished { flights, next, late } = &mut *finished;
        let flights = flights.clone()?;
        let mut places: Places = if again { Places::new() } else { late.drain(..).collect() };
        while places.len() < BORROWED
            && let Some(place) = answers.finished(*next)
        {
            *next += 1;
            places.push(place);
        }
        if places.is_empty() {
            return None;
        }
        self.at_work.fetch_add(1, Ordering::Relaxed); // under the lock: who finds nothing more sees that it is taken out
        Some(Taken { reaper: self, flights, places, late: Places::new() })
    }
}

impl Taken<'_> {
    /// False when there is nothing more. A place stays in the table until it is settled: what is lost is swept there.
    fn settle(mut self) -> bool {
        let full = self.places.len() >= BORROWED;
        let mut free = Places::new();
        let mut done = SmallVec::<[Arc<dyn Flight>; BORROWED]>::new();
        for place in std::mem::take(&mut self.places) {
            let flight = self.flights.at(place).and_then(|entry| entry.lock().clone());
            if flight.as_ref().is_none_or(|flight| flight.retire()) {
                if self.flights.leave(place).is_some() {
                    free.push(place);
                }
            } else {
                self.late.push(place);
            }
            done.extend(flight);
        }
        self.flights.pool.lock().free.extend(free);
        self.put_back();
        // Last: what an operation owns may be long in its drop.
        done.into_iter().for_each(let_go);
        full
    }

    /// Others may find now that they can be settled.
    fn put_back(&mut self) {
        if !self.late.is_empty() {
            let mut finished = self.reaper.finished.lock();
            if finished.flights.is_some() {
                finished.late.extend(self.late.drain(..));
            }
        }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.put_back();
        self.reaper.at_work.fetch_sub(1, Ordering::Release);
    }
}
