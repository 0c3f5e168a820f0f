//! The client's end of the line: orders out, answers in.

use super::answers::Answers;
use super::arena::Arena;
use super::eagerness::Eagerness;
use super::flights::{Flight, Flights, Reaper, let_go};
use super::lane::{Lane, Sent};
use super::room::Patience;
use super::segment::Segment;
use super::spare::Spare;
use super::turn::{Follows, LANES, Turn};
use super::watchdog::Watchdog;
use super::{layout, ring, seat, told};
use crate::dispatch::SPIN;
use crate::engine::{Epoch, process};
use crate::error::Text;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, fence};
use crate::trace::{Counters, Stats};
use crate::{Error, Result};
use rustix::thread::futex;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{OnceLock, Weak};
use std::time::{Duration, Instant};

/// How long another thread may take to settle what it has claimed, when the worker is gone.
const SWEEPING: Duration = Duration::from_secs(1);

/// Why a worker ended.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) message: String,
    pub(super) code: Option<(i32, Text)>,
}

/// What is shared by an epoch's engine, its work in flight and its keeper.
pub(crate) struct Link {
    pub(super) pid: u32,
    /// The era that it was made in: see `engine/process.rs`.
    pub(super) era: u32,
    pub(super) answers: Answers,
    /// How long a waiter spins.
    pub(super) eagerness: Eagerness,
    control: Arc<Segment>,
    /// Gone with the worker: its pages are the largest part of what a lost worker leaves here.
    arena: Mutex<Option<Arc<Arena>>>,
    lanes: [Lane; LANES],
    /// Gone with the worker as well: each lane has it too, and the reaper.
    flights: Mutex<Option<Arc<Flights>>>,
    reaper: Reaper,
    spills: Mutex<HashMap<u32, Result<Vec<u8>, Error>>>,
    epoch: OnceLock<Weak<Epoch>>,
    /// How the worker ended.
    end: Mutex<Option<End>>,
    /// Closed with the worker: a handle of a life that is over may stay for long.
    bell: Mutex<Option<Arc<OwnedFd>>>,
    /// The keeper sleeps until somebody rings.
    pub(super) idle: AtomicBool,
    pub(super) closing: AtomicBool,
    /// Its generation is over, so nobody is served by waiting for what is in flight.
    pub(super) doomed: AtomicBool,
    over: AtomicBool,
    /// Its process is no more.
    gone: AtomicBool,
    /// Where it waits as a standby.
    post: OnceLock<Weak<Spare>>,
    concluded: AtomicU64,
    watchdog: Mutex<Watchdog>,
    pub(super) counters: Arc<Counters>,
}

impl Link {
    pub(super) fn new(
        pid: u32,
        control: Segment,
        bulk: Segment,
        bell: Arc<OwnedFd>,
        counters: Arc<Counters>,
    ) -> Arc<Self> {
        let (control, flights) = (Arc::new(control), Arc::<Flights>::default());
        Arc::new(Link {
            pid,
            era: process::era(),
            answers: Answers::new(control.clone(), layout::ANSWERS),
            eagerness: Eagerness::new(if bulk.is_pinned() { 3 * SPIN } else { SPIN }),
            lanes: std::array::from_fn(|index| Lane::new(&control, &flights, index)),
            reaper: Reaper::new(&flights),
            flights: Mutex::new(Some(flights)),
            control,
            arena: Mutex::new(Some(Arena::new(Arc::new(bulk)))),
            spills: Mutex::default(),
            epoch: OnceLock::new(),
            end: Mutex::default(),
            bell: Mutex::new(Some(bell)),
            idle: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            doomed: AtomicBool::new(false),
            over: AtomicBool::new(false),
            gone: AtomicBool::new(false),
            post: OnceLock::new(),
            concluded: AtomicU64::new(0),
            watchdog: Mutex::default(),
            counters,
        })
    }

    /// Binds it to the epoch that was made around it. **Race "early end"**: the worker may have ended before; whoever
    /// comes second, this or [`end`](Self::end), sees what the other has left, since both pass the same lock.
    pub(super) fn bind(&self, epoch: &Arc<Epoch>) {
        let _ = self.epoch.set(Arc::downgrade(epoch));
        let end = self.end.lock().clone();
        if let Some(End { message, code }) = end {
            epoch.fault(message, code);
        }
    }

    /// The worker has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.is_over() || self.end.lock().is_some()
    }

    /// The worker has ended, or was killed: ends the epoch.
    pub(super) fn end(&self, end: End) {
        *self.end.lock() = Some(end.clone());
        if let Some(epoch) = self.epoch.get().and_then(Weak::upgrade) {
            epoch.fault(end.message, end.code);
        }
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
    pub(super) fn told(&self, stats: &mut Stats) {
        told::told(&self.control, stats);
    }

    /// Bytes of shared memory for bulk data.
    pub(super) fn bulk(&self) -> usize {
        self.arena.lock().as_ref().map_or(usize::MAX, |arena| arena.bytes())
    }

    /// The worker is gone and everything was settled.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The worker's process is no more.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// The worker was reaped, and everything was settled before.
    pub(super) fn reaped(&self) {
        self.gone.store(true, Ordering::Release);
        if let Some(spare) = self.post.get().and_then(Weak::upgrade) {
            spare.lost(self.pid);
        }
    }

    /// It waits there as a standby.
    pub(super) fn wait_at(&self, spare: &Arc<Spare>) {
        let _ = self.post.set(Arc::downgrade(spare));
    }

    /// Wakes the keeper, if it sleeps for long. **Race "falling asleep"**: the keeper says that it is idle and looks once
    /// more whether there is anything; who leaves something looks afterwards whether it is idle. Both with a full fence in
    /// between.
    pub(super) fn nudge(&self) {
        fence(Ordering::SeqCst);
        if self.idle.load(Ordering::Relaxed) && self.idle.swap(false, Ordering::AcqRel) {
            self.ring();
        }
    }

    /// For the keeper, once it has said that it is idle: there is something to do after all.
    pub(super) fn is_busy(&self) -> bool {
        fence(Ordering::SeqCst); // race "falling asleep"
        self.in_flight() > 0 || self.lanes.iter().any(Lane::has_frees)
    }

    /// Wakes the keeper.
    pub(super) fn ring(&self) {
        if let Some(bell) = &*self.bell.lock() {
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
        }
    }

    /// The lane of this thread. The worker has a thread for each that was ever used.
    fn lane(&self) -> Option<&Lane> {
        let lane = self.lanes.get(seat::mine())?;
        let (opened, bit) = (self.control.half(layout::OPENED), 1 << lane.index());
        if opened.load(Ordering::Relaxed) & bit == 0 && opened.fetch_or(bit, Ordering::AcqRel) & bit == 0 {
            let _ = futex::wake(opened, futex::Flags::empty(), 1);
        }
        Some(lane)
    }

    fn carried(&self, lane: usize) -> u64 {
        self.lanes.get(lane).map_or(0, |lane| lane.progress.carried())
    }

    /// Sends an operation that follows others. Waits only while there is no room, and not for long.
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
                    self.nudge();
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

    /// Sends an order that has no answer. Waits only while there is no room, and not for long.
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
        if !self.is_over()
            && self.era == crate::engine::process::era()
            && let Some(lane) = self.lanes.get(lane)
        {
            lane.free(id);
            self.nudge();
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
        let own = seat::mine();
        self.lanes.iter().filter(|lane| lane.index() != own).filter_map(Lane::freeing).collect()
    }

    /// Settles what has finished and takes its places back, with no lock held meanwhile. Any thread. Not in a forked child:
    /// the list of what has finished is shared with its parent, who would miss what the child takes out.
    pub(super) fn reap(&self) {
        if !process::forked_since(self.era) {
            self.reaper.reap(&self.answers);
        }
    }

    /// The same, where it can wait.
    pub(super) fn glance(&self) {
        if !process::forked_since(self.era) {
            self.reaper.glance(&self.answers);
        }
    }

    /// The same, and waits for other threads that are at it: unless that takes long.
    pub(super) fn reap_all(&self) {
        if !process::forked_since(self.era) {
            self.reaper.reap_all(&self.answers, Instant::now() + Duration::from_millis(20));
        }
    }

    /// Dispatches that are not settled.
    pub(super) fn in_flight(&self) -> u64 {
        self.reap();
        self.unsettled()
    }

    /// The same, as far as it was seen.
    pub(super) fn unsettled(&self) -> u64 {
        let concluded = self.concluded.load(Ordering::Acquire);
        self.lanes.iter().map(Lane::submitted).sum::<u64>().saturating_sub(concluded)
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

    /// The worker is gone: everything that it did not answer is settled now, and nothing more is taken.
    pub(super) fn lose(&self) {
        self.lanes.iter().for_each(Lane::end);
        self.over.store(true, Ordering::Release);
        *self.arena.lock() = None;
        *self.bell.lock() = None;
        let Some(flights) = self.flights.lock().take() else { return };
        self.answers.lose(flights.used());
        let settled = sweep(flights.leave_all());
        *self.spills.lock() = HashMap::new();
        self.reaper.end();
        // When all are settled nobody reads an answer any more, and no buffer asks how far the worker came. (One that was
        // killed a moment ago may still write.)
        if settled {
            self.lanes.iter().for_each(|lane| lane.progress.end());
            self.control.leave();
        }
    }
}

/// Settles what nobody will answer. False when some of it could not be: another thread has claimed it, and may find that it
/// cannot settle it yet.
fn sweep(mut flights: Vec<Arc<dyn Flight>>) -> bool {
    let start = Instant::now();
    while !flights.is_empty() && start.elapsed() < SWEEPING {
        for flight in std::mem::take(&mut flights) {
            if flight.retire() { let_go(flight) } else { flights.push(flight) }
        }
        std::thread::yield_now();
    }
    let settled = flights.is_empty();
    flights.into_iter().for_each(let_go);
    settled
}

#[cfg(test)]
mod tests {
    use super::super::answers::DONE;
    use super::super::order;
    use super::*;
    use crate::sync::AtomicU32;

    /// Somebody has claimed it, and never comes to the end.
    #[derive(Default)]
    struct Claimed(AtomicU32);

    impl Flight for Claimed {
        fn place(&self) -> &AtomicU32 {
            &self.0
        }
        fn retire(&self) -> bool {
            false
        }
        fn name(&self) -> &'static str {
            "claimed"
        }
    }

    fn link() -> Arc<Link> {
        let segment = |len| Segment::create("windlass-test", len).unwrap().0;
        let bell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        Link::new(0, segment(layout::CONTROL), segment(1 << 20), Arc::new(bell), Arc::new(Counters::new(None)))
    }

    /// Whoever has claimed an answered dispatch may still be reading the answer.
    #[test]
    fn a_loss_lets_go_of_the_answers_only_once_all_are_settled() {
        for claimed in [true, false] {
            let link = link();
            let flight = Arc::new(Claimed::default());
            let entered: Arc<dyn Flight> = flight.clone();
            let after = Follows::default().ahead(0, |_| 0);
            if claimed {
                let sent = link.lanes[0].send(&link, order::MEMORY, &entered, &after, &[]).unwrap();
                assert!(matches!(sent, Sent::Done(..)));
            }
            let place = flight.0.load(Ordering::Relaxed);
            link.answers.answer(place, DONE, &[7; 64], None);
            link.lose();
            assert_eq!(link.answers.bytes(place), if claimed { [7; 64] } else { [0; 64] });
            assert_eq!(link.lanes[0].progress.carried(), if claimed { 0 } else { u64::MAX });
            let again = link.lanes[0].send(&link, order::MEMORY, &entered, &after, &[]).unwrap();
            assert!(matches!(again, Sent::Over));
        }
    }
}
