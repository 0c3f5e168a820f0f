//! The client's end of the connection: sends orders, receives answers.

use super::back_pressure::Patience;
use super::bell::Bell;
use super::ending::Ending;
use super::flights::{Flight, Flights, Reaper, Swept};
use super::lane::{Lane, Sent};
use super::lane_assignment;
use super::spin_limit::SpinLimit;
use super::watchdog::Watchdog;
use crate::core::arena::Arena;
use crate::core::clock::Timing;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Site};
use crate::core::order::LaneOrder;
use crate::core::process;
use crate::core::segment::Segment;
use crate::core::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, fence};
use crate::core::trace::{Counters, Stats};
use crate::engines::worker::shared::Answers;
use crate::engines::worker::shared::{Follows, LANES};
use crate::engines::worker::shared::{layout, ring, stats_mirror};
use rustix::thread::futex;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::time::Duration;

/// What an epoch's engine, its work in flight and its monitor share.
pub(crate) struct Link {
    pub(super) pid: u32,
    /// The fork generation in which it was made: see `core/process/mod.rs`.
    pub(super) fork_generation: u32,
    pub(super) answers: Answers,
    /// How long a waiter spins.
    pub(super) spin_limit: SpinLimit,
    control: Arc<Segment>,
    /// `None` once the worker is gone: its pages are the largest part of what a lost worker leaves in this process.
    arena: Mutex<Option<Arc<Arena>>>,
    lanes: [Lane; LANES],
    /// `None` once the worker is gone. Each lane and the reaper have it too.
    flights: Mutex<Option<Arc<Flights>>>,
    pub(super) reaper: Reaper,
    spills: Mutex<HashMap<u32, Result<Vec<u8>, Error>>>,
    pub(super) ending: Ending,
    pub(super) bell: Bell,
    pub(super) closing: AtomicBool,
    /// The generation is over: no caller needs what is still in flight.
    pub(super) doomed: AtomicBool,
    /// The worker has a GPU.
    pub(super) on_gpu: AtomicBool,
    concluded: AtomicU64,
    watchdog: Mutex<Watchdog>,
    /// A value in the shared memory that neither side can have written, as a text for the error.
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
            on_gpu: AtomicBool::new(false),
            concluded: AtomicU64::new(0),
            watchdog: Mutex::new(Watchdog::new(timing)),
            garbage: OnceLock::new(),
            timing,
            counters,
        })
    }

    /// Counts the beats of the worker's heart and what the worker has done. A worker that reads orders and answers them
    /// is alive, even if the thread that beats is late because so many other threads run.
    pub(crate) fn beats(&self) -> u64 {
        let word = |offset| self.control.word(offset).load(Ordering::Relaxed);
        let read = (0..LANES).map(|lane| ring::read_so_far(&self.control, layout::orders(lane)));
        read.fold(word(layout::BEAT).wrapping_add(self.answers.count()), u64::wrapping_add)
    }

    /// The GPU's driver refused to register shared memory: bulk data is copied through staging.
    pub(super) fn is_staged(&self) -> bool {
        self.control.half(layout::STAGED).load(Ordering::Relaxed) != 0
    }

    /// Fills in the counts that the worker has published last.
    pub(super) fn read_stats(&self, stats: &mut Stats) {
        stats_mirror::read(&self.control, stats);
    }

    /// Bytes of shared memory for bulk data.
    pub(super) fn bulk(&self) -> usize {
        self.arena.lock().as_ref().map_or(usize::MAX, |arena| arena.bytes())
    }

    /// For the monitor, after it has said that it is idle: whether there is something to do.
    pub(super) fn is_busy(&self) -> bool {
        fence(Ordering::SeqCst); // race "falling asleep"
        self.unsettled() > 0 || self.lanes.iter().any(Lane::has_frees)
    }

    /// The lane of this thread. On a lane's first use, wakes the worker to start a thread for it.
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

    /// Sends an operation that follows others. Waits, for a bounded time, only if the ring is full.
    pub(super) fn send(
        &self,
        epoch: &Epoch,
        kind: u8,
        flight: &Arc<dyn Flight>,
        follows: &Follows,
        body: &[u8],
    ) -> Result<LaneOrder> {
        let Some(lane) = self.lane() else { return Err(epoch.verdict()) };
        let after = follows.ahead(lane.index(), |lane| self.carried(lane));
        let mut patience = Patience::default();
        loop {
            if epoch.dead() {
                return Err(epoch.verdict());
            }
            match lane.send(self, kind, flight, &after, body)? {
                Sent::Done(sent, due) => {
                    if due {
                        self.glance();
                    }
                    self.bell.nudge();
                    return Ok(sent);
                }
                Sent::Over => return Err(epoch.verdict()),
                Sent::Full => {
                    self.reap();
                    patience.wait(self)?;
                }
            }
        }
    }

    /// Sends an order that has no answer. Waits, for a bounded time, only if the ring is full.
    pub(super) fn tell(&self, epoch: &Epoch, kind: u8, body: &[u8]) -> Result<LaneOrder> {
        let Some(lane) = self.lane() else { return Err(epoch.verdict()) };
        let mut patience = Patience::default();
        loop {
            epoch.admit()?;
            match lane.tell(self, kind, body)? {
                Sent::Done(sent, _) => return Ok(sent),
                Sent::Over => return Err(epoch.verdict()),
                Sent::Full => patience.wait(self)?,
            }
        }
    }

    pub(super) fn count(&self, bytes: usize) {
        self.counters.orders.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_crossed.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Frees memory that an order of this lane made. Does not wait: may be called from any drop.
    pub(super) fn free(&self, lane: usize, id: u64) {
        if !self.ending.is_over()
            && self.fork_generation == crate::core::process::fork_generation()
            && let Some(lane) = self.lanes.get(lane)
        {
            lane.free(id);
            self.bell.nudge();
        }
    }

    /// Sends the frees that drops have queued, if no thread submits.
    pub(super) fn flush_frees(&self) {
        self.lanes.iter().for_each(|lane| lane.flush_frees(self));
    }

    /// Of each lane but this thread's: the last order that frees memory, if the worker has not carried it out. Memory
    /// may be short until then.
    pub(super) fn freeing(&self) -> Vec<u64> {
        self.flush_frees();
        let own = lane_assignment::mine();
        self.lanes.iter().filter(|lane| lane.index() != own).filter_map(Lane::freeing).collect()
    }

    /// Settles finished dispatches and frees their places. No lock is held meanwhile; any thread may call it. Does
    /// nothing in a forked child: the list of finished places is shared with the parent, which would miss what the
    /// child takes out.
    pub(super) fn reap(&self) {
        if !process::forked_since(self.fork_generation) {
            self.reaper.reap(&self.answers);
        }
    }

    /// The same, but not from within the user's code: see `Reaper::glance`.
    pub(super) fn glance(&self) {
        if !process::forked_since(self.fork_generation) {
            self.reaper.glance(&self.answers);
        }
    }

    /// The same, and waits for other threads that settle, up to a limit.
    pub(super) fn reap_all(&self) {
        if !process::forked_since(self.fork_generation) {
            let end = self.timing.clock.after(self.timing.watch.reap_all);
            self.reaper.reap_all(&self.answers, (end, self.timing.waits.shortest_pause));
        }
    }

    /// For the monitor: something has finished, and no thread has settled it.
    pub(super) fn is_due(&self) -> bool {
        self.reaper.is_due(&self.answers)
    }

    /// Dispatches that are not settled, after settling those that have finished.
    pub(super) fn in_flight(&self) -> u64 {
        self.reap();
        self.unsettled()
    }

    /// The same without settling any first.
    pub(super) fn unsettled(&self) -> u64 {
        let concluded = self.concluded.load(Ordering::Acquire);
        self.submitted().saturating_sub(concluded)
    }

    /// Dispatches that the worker has not finished. Answers are counted too: if a trace hook calls this, the hook
    /// itself may keep other dispatches from being settled.
    pub(super) fn unfinished(&self) -> u64 {
        let answered = self.answers.count();
        self.in_flight().min(self.submitted().saturating_sub(answered))
    }

    fn submitted(&self) -> u64 {
        self.lanes.iter().map(Lane::submitted).sum()
    }

    /// No handle is left that could learn the outcome of what is in flight.
    pub(super) fn is_forsaken(&self) -> bool {
        let flights = self.flights.lock().clone();
        flights.is_none_or(|flights| flights.are_forsaken())
    }

    /// Counts one more dispatch as settled.
    pub(super) fn concluded(&self) {
        self.concluded.fetch_add(1, Ordering::Release);
    }

    /// Keeps an answer that came through the socket.
    pub(super) fn spilled(&self, place: u32, answer: Result<Vec<u8>, Error>) {
        self.spills.lock().insert(place, answer);
    }

    /// Takes an answer that came through the socket.
    pub(super) fn spill(&self, place: u32) -> Option<Result<Vec<u8>, Error>> {
        self.spills.lock().remove(&place)
    }

    /// The shared memory was overwritten by something else. Nothing in it can be trusted any more, so the worker ends.
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

    /// The longest time that the worker has been at one operation, and the operation's name. `None` also if the last
    /// look was less than an eighth of `limit` ago.
    pub(super) fn slowest(&self, limit: Duration) -> Option<(Duration, &'static str)> {
        let flights = self.flights.lock().clone()?;
        let on_gpu = self.on_gpu.load(Ordering::Relaxed);
        self.watchdog.lock().look(limit / 8, &self.answers, &flights, (&self.lanes, on_gpu))
    }

    /// The shared memory for bulk data; `None` once the worker is gone.
    pub(super) fn arena(&self) -> Option<Arc<Arena>> {
        self.arena.lock().clone()
    }

    /// The worker is gone: settles everything that it did not answer, and accepts no more orders. Does not call the
    /// user's code: a dispatch with a trace is settled by the thread that waits for it, or by
    /// [`clear_up`](Self::clear_up).
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

    /// Settles what [`lose`](Self::lose) has left, and releases what belonged to the worker. Calls the user's code.
    pub(super) fn clear_up(&self, swept: Swept) {
        let settled = swept.settle(self.timing);
        *self.spills.lock() = HashMap::new();
        // Once all are settled, no thread reads an answer, and no buffer asks how far the worker came. (A worker that
        // was killed a moment ago may still write.)
        if settled {
            self.lanes.iter().for_each(|lane| lane.progress.end());
            self.control.leave();
        }
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
