//! The dispatches in flight by the places of their answers, and the free places.

use super::untyped_dispatch::UntypedDispatch;
use crate::core::clock::{self, Clock, Deadline, Timing};
use crate::core::sync::{Arc, AtomicU32, AtomicUsize, Mutex, Ordering};
use crate::engines::worker::shared::{Answers, PLACES};
use parking_lot::MutexGuard;
use smallvec::SmallVec;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::Duration;

/// A dispatch in flight, without its types.
pub(crate) trait Flight: Send + Sync {
    /// The place of its answer.
    fn place(&self) -> &AtomicU32;
    /// Settles it if its answer is there. True when it is settled.
    fn retire(&self) -> bool;
    /// The operation's name.
    fn name(&self) -> &'static str;
    /// The part that is the same for every operation; `None` for a question.
    fn dispatch(&self) -> Option<&UntypedDispatch> {
        None
    }
    /// A trace is notified when it settles, which calls the user's code.
    fn is_traced(&self) -> bool {
        false
    }
    /// A thread that has no handle of the dispatch any more is copying its result out.
    fn is_taken_out(&self) -> bool {
        false
    }
}

/// Drops a handle that may be the last of a dispatch. An op may own anything, so its drop may panic. That panic must
/// not reach the thread that happens to be here: it may be submitting something else, or settling the work of all
/// others.
pub(super) fn let_go(flight: Arc<dyn Flight>) {
    let _ = catch_unwind(AssertUnwindSafe(|| calling(|| drop(flight))));
}

thread_local! {
    /// How many calls of the user's code, made while settling, this thread is nested in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// If the user's code waits for something, it may have to settle that itself, which calls the user's code again. At
/// most this deep.
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

/// How many places a lane takes from the pool at a time.
const BORROWED: usize = 64;
/// How many table entries are allocated at a time.
const CHUNK: usize = 1024;

type Entry = Mutex<Option<Arc<dyn Flight>>>;

/// All places. A lane borrows several at a time, so that threads seldom contend here.
pub(super) struct Flights {
    pool: Mutex<Pool>,
    chunks: Box<[OnceLock<Box<[Entry]>>]>,
}

/// Places that were used and are free now, and how many were ever used.
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
    /// Moves free places into `places`; none if there are none.
    pub(super) fn borrow(&self, places: &mut Vec<u32>) {
        let mut pool = self.pool.lock();
        let rest = pool.free.len().saturating_sub(BORROWED);
        places.extend(pool.free.drain(rest..));
        if places.is_empty() {
            let end = (pool.used as usize + BORROWED).min(PLACES) as u32;
            // `pop` takes the last, so the lowest are used first.
            places.extend((pool.used..end).rev());
            pool.used = end;
        }
    }

    /// How many places were ever borrowed: all below this number.
    pub(super) fn used(&self) -> u32 {
        self.pool.lock().used
    }

    /// The entry of a place.
    pub(super) fn at(&self, place: u32) -> Option<&Entry> {
        let place = place as usize;
        let chunk = self.chunks.get(place / CHUNK)?;
        chunk.get_or_init(|| (0..CHUNK).map(|_| Entry::default()).collect()).get(place % CHUNK)
    }

    /// Enters a dispatch, before its order can be read: a thread that sees the place answered finds the dispatch.
    pub(super) fn enter(&self, place: u32, flight: Arc<dyn Flight>) {
        if let Some(entry) = self.at(place) {
            *entry.lock() = Some(flight);
        }
    }

    /// Takes a dispatch out.
    pub(super) fn leave(&self, place: u32) -> Option<Arc<dyn Flight>> {
        self.at(place)?.lock().take()
    }

    /// No caller can learn the outcome of any of them: the table has the last handle of each. Once true, it stays true
    /// if no more are entered.
    pub(super) fn are_forsaken(&self) -> bool {
        let forsaken = |flight: &Arc<dyn Flight>| Arc::strong_count(flight) == 1 && !flight.is_taken_out();
        let entries = (0..self.used()).filter_map(|place| self.at(place));
        entries.into_iter().all(|entry| entry.lock().as_ref().is_none_or(forsaken))
    }

    /// Takes all out, and settles those that need no call of the user's code. No more are entered by then.
    pub(super) fn sweep(&self) -> Swept {
        let flights: Vec<_> = (0..self.used()).filter_map(|place| self.leave(place)).collect();
        for flight in flights.iter().filter(|flight| !flight.is_traced()) {
            flight.retire();
        }
        Swept(flights)
    }
}

/// The dispatches that were in flight when the worker ended.
#[derive(Default)]
pub(super) struct Swept(Vec<Arc<dyn Flight>>);

impl Swept {
    /// Settles the rest and drops all. Calls the user's code. False if some could not be settled: another thread has
    /// claimed them, and may not be able to settle them yet.
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

/// Settles what has finished. Each thread takes a batch out under the lock, and settles it without the lock: settling
/// may call a trace, and drop what a user's operation owned.
pub(super) struct Reaper {
    finished: Mutex<Finished>,
    /// How many threads have taken a batch out and have not finished it.
    at_work: AtomicUsize,
}

/// What is known to have finished.
struct Finished {
    /// `None` once the worker is gone.
    flights: Option<Arc<Flights>>,
    next: u64,
    /// Finished but not settled: another thread is settling it, or its answer is still in the socket.
    late: Vec<u32>,
}

type Places = SmallVec<[u32; BORROWED]>;

/// A batch that one thread has taken out.
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

    /// Settles what has finished, for callers that do not depend on it. Does nothing within the user's code, which has
    /// only looked at the device: settling may call the user's code again, which may need a lock that it holds here.
    pub(super) fn glance(&self, answers: &Answers) {
        if DEPTH.get() == 0 {
            self.reap(answers);
        }
    }

    /// Settles what has finished. One thread at a time takes a batch out; other threads do not wait for it.
    pub(super) fn reap(&self, answers: &Answers) {
        self.reap_by(answers, || self.finished.try_lock());
    }

    /// The same, and waits, with pauses, for other threads that settle, at most until `end`. (Called from a trace's
    /// hook, it always waits until `end`: this thread settles too.)
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

    /// No thread is settling a batch. Always true within the user's code that settling calls: this thread settles too.
    pub(super) fn is_at_rest(&self) -> bool {
        DEPTH.get() > 0 || self.at_work.load(Ordering::Acquire) == 0
    }

    /// Something has finished that no thread has taken out, or that could not be settled yet.
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

    /// Takes a batch out, at first also what was late. `None` if there is nothing.
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
        self.at_work.fetch_add(1, Ordering::Relaxed); // under the lock: a thread that finds no more sees this count
        Some(Taken { reaper: self, flights, places, late: Places::new() })
    }
}

impl Taken<'_> {
    /// False if there is nothing more. A place stays in the table until its dispatch is settled, so that a loss sweeps
    /// it.
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
        // Last: the drop of what an operation owns may take long.
        done.into_iter().for_each(let_go);
        full
    }

    /// Returns what could not be settled to the list; another thread may be able to settle it later.
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
