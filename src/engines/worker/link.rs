//! The client's end of the line: orders out, answers in.

use super::answers::Answers;
use super::arena::Arena;
use super::back_pressure::Patience;
use super::bell::Bell;
use super::ending::Ending;
use super::flights::{Flight, Flights, Reaper, Swept};
use super::lane::{Lane, Sent};
use super::segment::Segment;
use super::spin_limit::SpinLimit;
use super::turn::{Follows, LANES, Turn};
use super::watchdog::Watchdog;
use super::{lane_assignment, layout, ring, stats_mirror};
use crate::clock::Timing;
use crate::engine::{Epoch, process};
use crate::error::Site;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, fence};
use crate::trace::{Counters, Stats};
use crate::{Error, Result};
use rustix::thread::futex;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::time::Duration;

/// What is shared by an epoch's engine, its work in flight and its monitor.
pub(crate) struct Link {
    pub(super) pid: u32,
    /// The fork generation that it was made in: see `engine/process.rs`.
    pub(super) fork_generation: u32,
    pub(super) answers: Answers,
    /// How long a waiter spins.
    pub(super) spin_limit: SpinLimit,
    control: Arc<Segment>,
    /// Gone with the worker: its pages are the largest part of what a lost worker leaves here.
    arena: Mutex<Option<Arc<Arena>>>,
    lanes: [Lane; LANES],
    /// Gone with the worker as well: each lane has it too, and the reaper.
    flights: Mutex<Option<Arc<Flights>>>,
    pub(super) reaper: Reaper,
    spills: Mutex<HashMap<u32, Result<Vec<u8>, Error>>>,
    pub(super) ending: Ending,
    pub(super) bell: Bell,
    pub(super) closing: AtomicBool,
    /// Its generation is over, so nobody is served by waiting for what is in flight.
    pub(super) doomed: AtomicBool,
    concluded: AtomicU64,
    watchdog: Mutex<Watchdog>,
    /// What of the shared memory nobody of us has written there.
    garbage: OnceLock<String>,
    pub(super) counters: Arc<Counters>,
    pub(super) timing: &'static Timing,
}

impl Link {
    pub(super) fn new(
        pid: u32,
        control: Segment,
        bulk: Segment,
        bell: Arc<OwnedFd>,
        counters: Arc<Counters>,
    ) -> Arc<Self> {
        let timing = counters.timing;
        let spin = if bulk.is_pinned() { 3 * timing.waits.spin } else { timing.waits.spin };
        let (control, flights) = (Arc::new(control), Arc::<Flights>::default());
        Arc::new(Link {
            pid,
            fork_generation: process::fork_generation(),
            answers: Answers::new(control.clone(), layout::ANSWERS),
            spin_limit: SpinLimit::new(spin, &timing.watch),
            lanes: std::array::from_fn(|index| Lane::new(&control, &flights, index)),
            reaper: Reaper::new(&flights),
            flights: Mutex::new(Some(flights)),
            control,
            arena: Mutex::new(Some(Arena::new(Arc::new(bulk)))),
            spills: Mutex::default(),
            ending: Ending::default(),
            bell: Bell::new(bell),
            closing: AtomicBool::new(false),
            doomed: AtomicBool::new(false),
            concluded: AtomicU64::new(0),
            watchdog: Mutex::new(Watchdog::new(timing)),
            garbage: OnceLock::new(),
            timing,
            counters,
        })
    }

    /// How often the worker's heart has beaten, and what it has done: whoever reads orders and answers them lives, also
    /// where so many others run that the thread that beats is late.
    pub(super) fn beats(&self) -> u64 {
        let word = |offset| self.control.word(offset).load(Ordering::Relaxed);
        let read = (0..LANES).map(|lane| ring::read_so_far(&self.control, layout::orders(lane)));
        read.fold(word(layout::BEAT).wrapping_add(self.answers.count()), u64::wrapping_add)
    }

    /// The driver of its GPU refused to have shared memory registered: bulk data goes through staging.
    pub(super) fn is_staged(&self) -> bool {
        self.control.half(layout::STAGED).load(Ordering::Relaxed) != 0
    }

    /// Fills in what the worker has said last of what it holds.
    pub(super) fn read_stats(&self, stats: &mut Stats) {
        stats_mirror::read(&self.control, stats);
    }

    /// Bytes of shared memory for bulk data.
    pub(super) fn bulk(&self) -> usize {
        self.arena.lock().as_ref().map_or(usize::MAX, |arena| arena.bytes())
    }

    /// For the monitor, once it has said that it is idle: there is something to do after all.
    pub(super) fn is_busy(&self) -> bool {
        fence(Ordering::SeqCst); // race "falling asleep"
        self.unsettled() > 0 || self.lanes.iter().any(Lane::has_frees)
    }

    /// The lane of this thread. The worker has a thread for each that was ever used.
    fn lane(&self) -> Option<&Lane> {
        let lane = self.lanes.get(lane_assignment::mine())?;
        let (opened, bit) = (self.control.half(layout::OPENED), 1 << lane.index());
        if opened.load(Ordering::Relaxed) & bit == 0 && opened.fetch_or(bit, Ordering::AcqRel) & bit == 0 {
            let _ = futex::wake(opened, futex::Flags::empty(), 1);
        }
        Some(lane)
    }

    fn carried(&self, lane: usize) -> u64 {
        self.lanes.get(lane).map_or(0, |lane| lane.progress.carried())
    }

    /// Sends an operation that follows others. Waits, for a bounded time, only while the ring is full.
    pub(super) fn send(
        &self,
        epoch: &Epoch,
        kind: u8,
        flight: &Arc<dyn Flight>,
        follows: &Follows,
        body: &[u8],
    ) -> Result<Turn> {
        let Some(lane) = self.lane() else { return Err(epoch.verdict()) };
        let after = follows.ahead(lane.index(), |lane| self.carried(lane));
        let mut patience = Patience::default();
        loop {
            if epoch.dead() {
                return Err(epoch.verdict());
            }
            match lane.send(self, kind, flight, &after, body)? {
                Sent::Done(turn, due) => {
                    if due {
                        self.glance();
                    }
                    self.bell.nudge();
                    return Ok(turn);
                }
                Sent::Over => return Err(epoch.verdict()),
                Sent::Full => {
                    self.reap();
                    patience.wait(self)?;
                }
            }
        }
    }

    /// Sends an order that has no answer. Waits, for a bounded time, only while the ring is full.
    pub(super) fn tell(&self, epoch: &Epoch, kind: u8, body: &[u8]) -> Result<Turn> {
        let Some(lane) = self.lane() else { return Err(epoch.verdict()) };
        let mut patience = Patience::default();
        loop {
            epoch.admit()?;
            match lane.tell(self, kind, body)? {
                Sent::Done(turn, _) => return Ok(turn),
                Sent::Over => return Err(epoch.verdict()),
                Sent::Full => patience.wait(self)?,
            }
        }
    }

    pub(super) fn count(&self, bytes: usize) {
        self.counters.orders.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_crossed.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Memory that a lane's order made is to be given back. No wait: may be called from any drop.
    pub(super) fn free(&self, lane: usize, id: u64) {
        if !self.ending.is_over()
            && self.fork_generation == crate::engine::process::fork_generation()
            && let Some(lane) = self.lanes.get(lane)
        {
            lane.free(id);
            self.bell.nudge();
        }
    }

    /// Sends what drops have left, when nobody submits.
    pub(super) fn flush_frees(&self) {
        self.lanes.iter().for_each(|lane| lane.flush_frees(self));
    }

    /// Orders of other threads that give memory back, and that the worker has not come to: memory may be short until
    /// then.
    pub(super) fn freeing(&self) -> Vec<u64> {
        self.flush_frees();
        let own = lane_assignment::mine();
        self.lanes.iter().filter(|lane| lane.index() != own).filter_map(Lane::freeing).collect()
    }

    /// Settles what has finished and takes its places back, with no lock held meanwhile. Any thread. Not in a forked child:
    /// the list of what has finished is shared with its parent, who would miss what the child takes out.
    pub(super) fn reap(&self) {
        if !process::forked_since(self.fork_generation) {
            self.reaper.reap(&self.answers);
        }
    }

    /// The same, where it can wait.
    pub(super) fn glance(&self) {
        if !process::forked_since(self.fork_generation) {
            self.reaper.glance(&self.answers);
        }
    }

    /// The same, and waits for other threads that are at it: unless that takes long.
    pub(super) fn reap_all(&self) {
        if !process::forked_since(self.fork_generation) {
            let end = self.timing.clock.after(self.timing.watch.reap_all);
            self.reaper.reap_all(&self.answers, (end, self.timing.waits.shortest_pause));
        }
    }

    /// For the monitor: something has finished, and nobody has settled it.
    pub(super) fn is_due(&self) -> bool {
        self.reaper.is_due(&self.answers)
    }

    /// Dispatches that are not settled.
    pub(super) fn in_flight(&self) -> u64 {
        self.reap();
        self.unsettled()
    }

    /// The same, as far as it was seen.
    pub(super) fn unsettled(&self) -> u64 {
        let concluded = self.concluded.load(Ordering::Acquire);
        self.submitted().saturating_sub(concluded)
    }

    /// Dispatches that the worker has not finished. A hook that asks this may itself keep others from being settled.
    pub(super) fn unfinished(&self) -> u64 {
        let answered = self.answers.count();
        self.in_flight().min(self.submitted().saturating_sub(answered))
    }

    fn submitted(&self) -> u64 {
        self.lanes.iter().map(Lane::submitted).sum()
    }

    /// Nobody can learn any more of what is in flight.
    pub(super) fn is_forsaken(&self) -> bool {
        let flights = self.flights.lock().clone();
        flights.is_none_or(|flights| flights.are_forsaken())
    }

    /// One more is settled.
    pub(super) fn concluded(&self) {
        self.concluded.fetch_add(1, Ordering::Release);
    }

    /// An answer came through the socket.
    pub(super) fn spilled(&self, place: u32, answer: Result<Vec<u8>, Error>) {
        self.spills.lock().insert(place, answer);
    }

    /// Takes it.
    pub(super) fn spill(&self, place: u32) -> Option<Result<Vec<u8>, Error>> {
        self.spills.lock().remove(&place)
    }

    /// Something else has written into the shared memory: what else it says is worth nothing either, so the worker ends.
    #[cold]
    pub(super) fn garbled(&self, what: String) -> Error {
        let cause = format!("the memory shared with the worker was overwritten: {what}");
        let _ = self.garbage.set(cause.clone());
        self.bell.ring();
        Error::ContextPoisoned { cause, site: Site::none() }
    }

    /// For the monitor: why the worker must end.
    pub(super) fn garbage(&self) -> Option<&str> {
        self.garbage.get().map(String::as_str)
    }

    /// The longest time that the worker has been at one thing, and at which; looks no more often than is of use with this
    /// `limit`.
    pub(super) fn slowest(&self, limit: Duration) -> Option<(Duration, &'static str)> {
        let flights = self.flights.lock().clone()?;
        self.watchdog.lock().look(limit / 8, &self.answers, &flights, &self.lanes)
    }

    /// The shared memory for bulk data, while there is a worker.
    pub(super) fn arena(&self) -> Option<Arc<Arena>> {
        self.arena.lock().clone()
    }

    /// The worker is gone: everything that it did not answer settles now, and nothing more is taken. Calls nobody: what a
    /// trace is told of is settled by who waits for it, and the rest of it by [`clear_up`](Self::clear_up).
    pub(super) fn lose(&self) -> Swept {
        self.lanes.iter().for_each(Lane::end);
        self.ending.close();
        *self.arena.lock() = None;
        self.bell.close();
        let Some(flights) = self.flights.lock().take() else { return Swept::default() };
        self.answers.lose(flights.used());
        let swept = flights.sweep();
        self.reaper.end();
        swept
    }

    /// Settles what a loss has left, and lets go of what belonged to it: calls the user's code.
    pub(super) fn clear_up(&self, swept: Swept) {
        let settled = swept.settle(self.timing);
        *self.spills.lock() = HashMap::new();
        // When all are settled nobody reads an answer any more, and no buffer asks how far the worker came. (One that was
        // killed a moment ago may still write.)
        if settled {
            self.lanes.iter().for_each(|lane| lane.progress.end());
            self.control.leave();
        }
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
