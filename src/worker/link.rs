//! The client's end of the line: orders out, answers in.

use super::answers::{Answers, PLACES};
use super::arena::{Arena, Block};
use super::order::{self, Free, head};
use super::ring::{self, Pushed, Ring};
use super::segment::Segment;
use super::spare::Spare;
use super::{answers, layout};
use crate::dispatch::Backoff;
use crate::engine::Epoch;
use crate::error::{Site, Text};
use crate::sync::{Arc, AtomicBool, AtomicU32, AtomicU64, Mutex, Ordering};
use crate::trace::Counters;
use crate::{Error, Result};
use crossbeam_queue::SegQueue;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{OnceLock, Weak};
use std::time::{Duration, Instant};

/// How long a full ring is waited for. The worker reads on whatever its device does, unless the device is inline.
const PATIENCE: Duration = Duration::from_secs(10);
/// Submissions between two looks at what has finished.
const REAP_EVERY: u32 = 32;

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
fn let_go(flight: Option<Arc<dyn Flight>>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(flight)));
}

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
    control: Arc<Segment>,
    /// Gone with the worker: its pages are the largest part of what a lost worker leaves here.
    arena: Mutex<Option<Arc<Arena>>>,
    outbox: Mutex<Outbox>,
    /// Memory to give back, from drops; goes out with the next order, or by the keeper.
    frees: SegQueue<u64>,
    reaper: Mutex<Reaper>,
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
    submitted: AtomicU64,
    concluded: AtomicU64,
    pub(super) counters: Arc<Counters>,
}

struct Outbox {
    ring: Ring,
    /// Places that were used and are free, and how many were ever used.
    free: Vec<u32>,
    used: u32,
    flights: Vec<Option<Arc<dyn Flight>>>,
    since_reap: u32,
    /// The worker is gone. **Race "late submit"**: set under the same lock under which a dispatch is entered, so it is
    /// either swept or refused.
    over: bool,
}

#[derive(Default)]
struct Reaper {
    next: u64,
    /// Finished, and not settled yet: another thread is at it, or its answer is still in the socket.
    late: Vec<u32>,
}

impl Link {
    pub(super) fn new(
        pid: u32,
        control: Segment,
        bulk: Segment,
        bell: Arc<OwnedFd>,
        counters: Arc<Counters>,
    ) -> Arc<Self> {
        let control = Arc::new(control);
        let ring = Ring::new(control.clone(), layout::ORDERS, layout::ORDERS_CAPACITY);
        let outbox = Outbox { ring, free: Vec::new(), used: 0, flights: Vec::new(), since_reap: 0, over: false };
        Arc::new(Link {
            pid,
            era: crate::engine::process::era(),
            answers: Answers::new(control.clone(), layout::ANSWERS),
            control,
            arena: Mutex::new(Some(Arena::new(Arc::new(bulk)))),
            outbox: Mutex::new(outbox),
            frees: SegQueue::new(),
            reaper: Mutex::default(),
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
            submitted: AtomicU64::new(0),
            concluded: AtomicU64::new(0),
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
        let beaten = self.control.word(layout::BEAT).load(Ordering::Relaxed);
        beaten.wrapping_add(self.answers.count()).wrapping_add(ring::read_so_far(&self.control, layout::ORDERS))
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

    /// Wakes the keeper, if it sleeps for long.
    pub(super) fn nudge(&self) {
        if self.idle.load(Ordering::Relaxed) && self.idle.swap(false, Ordering::AcqRel) {
            self.ring();
        }
    }

    /// Wakes the keeper.
    pub(super) fn ring(&self) {
        if let Some(bell) = &*self.bell.lock() {
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
        }
    }

    /// Sends an operation. Waits only while there is no room, and not for long.
    pub(super) fn send(&self, epoch: &Epoch, kind: u8, flight: &Arc<dyn Flight>, body: &[u8]) -> Result<()> {
        let mut waiting: Option<(Instant, Backoff)> = None;
        loop {
            let reap = {
                let mut outbox = self.outbox.lock();
                if outbox.over || epoch.dead() {
                    return Err(epoch.verdict());
                }
                if self.flush(&outbox)
                    && let Some(place) = outbox.take_place()
                {
                    self.answers.reset(place);
                    flight.place().store(place, Ordering::Relaxed);
                    match outbox.ring.push(&[&head(kind, place), body]) {
                        Pushed::Done => {
                            if let Some(entry) = outbox.flights.get_mut(place as usize) {
                                *entry = Some(flight.clone());
                            }
                            outbox.since_reap += 1;
                            self.submitted.fetch_add(1, Ordering::Relaxed);
                            self.count(body.len() + 8);
                            let due = outbox.since_reap >= REAP_EVERY;
                            if due {
                                outbox.since_reap = 0;
                            }
                            Some(due)
                        }
                        Pushed::Full => {
                            outbox.free.push(place);
                            None
                        }
                        Pushed::TooLong => {
                            outbox.free.push(place);
                            let (len, most) = (body.len(), outbox.ring.longest());
                            return Err(Error::unsupported(format!(
                                "an operation of {len} bytes does not cross to a worker, at most {most} do"
                            )));
                        }
                    }
                } else {
                    None
                }
            };
            if let Some(due) = reap {
                if due {
                    self.reap();
                }
                self.nudge();
                return Ok(());
            }
            self.reap();
            let (since, backoff) = waiting.get_or_insert_with(|| (Instant::now(), Backoff::new()));
            if since.elapsed() > PATIENCE {
                let in_flight = self.submitted.load(Ordering::Relaxed) - self.concluded.load(Ordering::Relaxed);
                return Err(Error::Busy { in_flight, limit: PLACES as u64, site: Site::none() });
            }
            backoff.pause(None);
        }
    }

    /// Sends an order that has no answer. False when there is no room for it now.
    pub(super) fn tell(&self, kind: u8, body: &[u8]) -> Result<bool> {
        let outbox = self.outbox.lock();
        if outbox.over {
            return Err(Error::library("the worker is gone"));
        }
        let sent = self.flush(&outbox) && outbox.ring.push(&[&head(kind, 0), body]) == Pushed::Done;
        if sent {
            self.count(body.len() + 8);
        }
        Ok(sent)
    }

    fn count(&self, bytes: usize) {
        self.counters.orders.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_crossed.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Memory is to be given back. No wait: may be called from any drop.
    pub(super) fn free(&self, id: u64) {
        if !self.is_over() && self.era == crate::engine::process::era() {
            self.frees.push(id);
            self.nudge();
        }
    }

    /// Sends what drops have left. False when there is no room.
    fn flush(&self, outbox: &Outbox) -> bool {
        while let Some(id) = self.frees.pop() {
            let mut bytes = [0u8; 16];
            let sent = postcard::to_slice(&Free { id }, &mut bytes)
                .is_ok_and(|body| outbox.ring.push(&[&head(order::FREE, 0), body]) == Pushed::Done);
            if !sent {
                self.frees.push(id);
                return false;
            }
            self.count(16);
        }
        true
    }

    /// For the keeper: sends what drops have left when nobody submits.
    pub(super) fn flush_frees(&self) {
        if !self.frees.is_empty() {
            let outbox = self.outbox.lock();
            if !outbox.over {
                self.flush(&outbox);
            }
        }
    }

    /// Settles what has finished and takes its places back. Any thread; one at a time, others go on.
    pub(super) fn reap(&self) {
        let Some(mut reaper) = self.reaper.try_lock() else { return };
        let mut places: SmallVec<[u32; 64]> = reaper.late.drain(..).collect();
        loop {
            while places.len() < 64
                && let Some(place) = self.answers.finished(reaper.next)
            {
                reaper.next += 1;
                places.push(place);
            }
            if places.is_empty() {
                return;
            }
            let flights: SmallVec<[_; 64]> = {
                let outbox = self.outbox.lock();
                places.iter().map(|place| outbox.flights.get(*place as usize).cloned().flatten()).collect()
            };
            let mut done: SmallVec<[u32; 64]> = SmallVec::new();
            for (place, flight) in places.drain(..).zip(&flights) {
                if flight.as_ref().is_none_or(|flight| flight.retire()) {
                    done.push(place);
                } else {
                    reaper.late.push(place);
                }
            }
            let full = flights.len() >= 64;
            {
                let mut outbox = self.outbox.lock();
                for place in done {
                    if let Some(entry) = outbox.flights.get_mut(place as usize)
                        && entry.take().is_some()
                    {
                        outbox.free.push(place);
                    }
                }
            }
            flights.into_iter().for_each(let_go); // with no lock but the reaper's
            if !full {
                return;
            }
        }
    }

    /// Dispatches that are not settled.
    pub(super) fn in_flight(&self) -> u64 {
        self.reap();
        let concluded = self.concluded.load(Ordering::Acquire);
        self.submitted.load(Ordering::Relaxed).saturating_sub(concluded)
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

    /// The longest time that the worker has been at one operation, and which.
    pub(super) fn slowest(&self) -> Option<(Duration, &'static str)> {
        let outbox = self.outbox.lock();
        let running = outbox.flights.iter().flatten().filter_map(|flight| {
            let place = flight.place().load(Ordering::Relaxed);
            let unanswered = self.answers.state(place).load(Ordering::Acquire) < answers::DONE;
            Some((self.answers.running(place).filter(|_| unanswered)?, flight.name()))
        });
        running.max_by_key(|(time, _)| *time)
    }

    /// The worker is gone: everything that it did not answer is settled now, and nothing more is taken.
    pub(super) fn lose(&self) {
        let (used, flights) = {
            let mut outbox = self.outbox.lock();
            outbox.over = true;
            (outbox.used, std::mem::take(&mut outbox.flights))
        };
        self.over.store(true, Ordering::Release);
        *self.arena.lock() = None;
        self.answers.lose(used);
        for flight in flights.iter().flatten() {
            while !flight.retire() {
                std::thread::yield_now(); // another thread is at it
            }
        }
        flights.into_iter().for_each(let_go);
        while self.frees.pop().is_some() {}
        self.spills.lock().clear();
        // All are settled, so nobody reads an answer any more. A worker that was killed a moment ago may still write one.
        self.control.forget(0, layout::CONTROL);
        *self.bell.lock() = None;
    }

    /// Shared memory for `len` bytes. Waits while others use it, and not for long.
    pub(super) fn block(&self, epoch: &Epoch, len: usize) -> Result<Block> {
        let mut waiting: Option<(Instant, Backoff)> = None;
        loop {
            let arena = self.arena.lock().clone();
            let Some(arena) = arena else { return Err(epoch.verdict()) };
            if let Some(block) = arena.block(len) {
                self.counters.bytes_crossed.fetch_add(len as u64, Ordering::Relaxed);
                return Ok(block);
            }
            let total = arena.bytes() as u64;
            let (since, backoff) = waiting.get_or_insert_with(|| (Instant::now(), Backoff::new()));
            // What nobody is working on is held by results that were not taken: no wait would bring it back.
            if len as u64 > total || self.in_flight() == 0 || since.elapsed() > PATIENCE {
                let site = Site::none();
                return Err(Error::OutOfMemory { requested: len as u64, free: 0, total, limit: total, site });
            }
            drop(arena);
            backoff.pause(None);
        }
    }
}

impl Outbox {
    fn take_place(&mut self) -> Option<u32> {
        if let Some(place) = self.free.pop() {
            return Some(place);
        }
        if (self.used as usize) < PLACES {
            self.used += 1;
            self.flights.push(None);
            return Some(self.used - 1);
        }
        None
    }
}
