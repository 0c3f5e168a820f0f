//! A dispatch in flight in a worker.
//!
//! Its completion is a flag in shared memory; no thread has to notify it. The first thread that looks after the flag
//! was set (a waiter or a reaper) claims the dispatch, takes the answer out, drops what the dispatch kept, and settles
//! it.
//!
//! **Race "used again"**: once this dispatch is settled, its place is reused for another one, and a look may have read
//! the flag of that other one. So nothing that was read is valid until the claim has succeeded: a place is reused only
//! after a thread has seen this dispatch settled, and then no claim succeeds any more. A sleeper that marked another
//! dispatch's flag looks once more before it sleeps, and never sleeps for long.

use super::arriving::Arriving;
use super::flights::calling;
use super::link::Link;
use crate::core::arena::Block;
use crate::core::arena::PIECE;
use crate::core::buffer::Allocation;
use crate::core::clock::{self, Clock, Deadline, Stopwatch};
use crate::core::dispatch::{Backoff, Wait, is_stealing, steal_one};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landing;
use crate::core::sync::{Arc, AtomicU8, AtomicU32, Mutex, Ordering};
use crate::core::trace::{DeviceTime, Event, OpInfo};
use crate::engines::op::Facts;
use crate::engines::worker::shared::answers;
use crate::engines::worker::shared::{DONE as ANSWERED, PENDING as UNANSWERED, SPILLED, WAITED};
use smallvec::SmallVec;
use std::time::Duration;

const PENDING: u8 = 0;
const CLAIMED: u8 = 1;
/// The claiming thread has counted it as finished in the epoch's flow, or is about to. It settles it right afterwards.
const COUNTED: u8 = 2;
const DONE: u8 = 3;
const FAILED: u8 = 4;

/// A dispatch without its types. All code is here, so that it is compiled once.
pub(crate) struct UntypedDispatch {
    name: &'static str,
    library: &'static str,
    /// Its answer is in the shared memory that was sent with it.
    bulk: bool,
    /// Used instead of `Outcome::block` for a large download, if no trace is notified of its end.
    pub(super) arriving: Option<Arc<Arriving>>,
    link: Arc<Link>,
    pub(super) epoch: Arc<Epoch>,
    /// Its number in the epoch's flow.
    number: u64,
    pub(super) place: AtomicU32,
    state: AtomicU8,
    outcome: Mutex<Outcome>,
    /// For a trace: what it is, and when it was submitted.
    pub(super) traced: Option<(OpInfo, Stopwatch)>,
}

struct Outcome {
    /// The operands' allocations. They count against the memory limit until the work is done.
    keep: SmallVec<[Arc<Allocation>; 4]>,
    /// The shared memory that was sent with the op.
    block: Option<Block>,
    answer: Option<Result<Landing>>,
    time: Option<Duration>,
    abandoned: bool,
}

impl UntypedDispatch {
    pub(super) fn new(
        op: &Facts,
        link: &Arc<Link>,
        (epoch, number): (&Arc<Epoch>, u64),
        keep: SmallVec<[Arc<Allocation>; 4]>,
        block: Option<Block>,
        info: Option<OpInfo>,
    ) -> Self {
        // A trace is notified of the completion before the result is available. So with a trace nothing is taken early.
        let (block, arriving) = match block {
            Some(block) if op.bulk && block.len() > PIECE && info.is_none() => (None, Some(Arriving::new(link, block))),
            block => (block, None),
        };
        UntypedDispatch {
            name: op.name,
            library: op.library,
            bulk: op.bulk,
            arriving,
            link: link.clone(),
            epoch: epoch.clone(),
            number,
            place: AtomicU32::new(0),
            state: AtomicU8::new(PENDING),
            outcome: Mutex::new(Outcome { keep, block, answer: None, time: None, abandoned: false }),
            traced: info.map(|info| (info, epoch.timing.clock.start())),
        }
    }

    /// Called when the order was sent, before any thread can wait for the dispatch.
    pub(super) fn sent(&self) {
        if let Some(arriving) = &self.arriving {
            arriving.comes_to(self.here());
        }
    }

    fn here(&self) -> u32 {
        self.place.load(Ordering::Relaxed)
    }

    /// True if the dispatch is settled. Settles it if its answer is there.
    #[inline]
    pub(super) fn look(&self) -> bool {
        match self.state.load(Ordering::Acquire) {
            PENDING | CLAIMED => {}
            COUNTED => return self.await_settled(),
            _ => return true,
        }
        let flag = self.link.answers.state(self.here());
        match flag.load(Ordering::Acquire) {
            UNANSWERED | WAITED if !self.epoch.dead() => false,
            // The generation ended. An answer that was given before that is valid.
            UNANSWERED | WAITED => match flag.load(Ordering::Acquire) {
                UNANSWERED | WAITED => self.conclude(answers::LOST),
                answered => self.conclude(answered),
            },
            // In a forked child the flag is the parent's, and may belong to another dispatch by now.
            _ if self.epoch.is_forked() => self.conclude(answers::LOST),
            answered => self.conclude(answered),
        }
    }

    /// A thread that saw that nothing is in flight (`synchronize`) expects this dispatch to be settled. It is about to
    /// be; no user code runs in between.
    #[cold]
    fn await_settled(&self) -> bool {
        while self.state.load(Ordering::Acquire) < DONE {
            if self.epoch.is_forked() {
                return self.settle_forked();
            }
            if self.epoch.is_left_alone() {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    /// In a forked child the thread that claimed it does not exist, and will not settle it.
    #[cold]
    fn settle_forked(&self) -> bool {
        let settle = |state| (state < DONE).then_some(FAILED);
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, settle);
        true
    }

    /// The first thread to claim it settles it. False while another thread is doing so, or while the answer is still in
    /// the socket.
    fn conclude(&self, flag: u32) -> bool {
        if self.state.compare_exchange(PENDING, CLAIMED, Ordering::AcqRel, Ordering::Acquire).is_err() {
            if self.epoch.is_forked() {
                return self.settle_forked();
            }
            return self.state.load(Ordering::Acquire) >= COUNTED && self.await_settled();
        }
        let place = self.here(); // ours: race "used again"
        let spilled = if flag == SPILLED { self.link.spill(place) } else { None };
        if flag == SPILLED && spilled.is_none() && !self.link.ending.is_over() {
            self.state.store(PENDING, Ordering::Release);
            return false;
        }
        let (keep, failed, time) = {
            let mut outcome = self.outcome.lock();
            let block = outcome.block.take();
            let answer = match (flag, spilled) {
                (_, Some(Ok(bytes))) => Ok(Landing::Bulk(bytes)),
                (_, Some(Err(error))) => Err(self.locate(error)),
                (ANSWERED, None) => Ok(match (block, &self.arriving) {
                    (Some(block), _) if self.bulk => Landing::Shared(block),
                    (_, Some(arriving)) => Landing::Arriving(arriving.clone()),
                    _ => Landing::Slot(self.link.answers.bytes(place)),
                }),
                _ if self.epoch.dead() => Err(self.locate(self.epoch.verdict())),
                _ => Err(self.locate(self.link.garbled(format!("the state of an answer is {flag}")))),
            };
            let failed = answer.as_ref().err().cloned();
            if flag == ANSWERED {
                outcome.time = self.link.answers.time(place);
            }
            if !outcome.abandoned {
                outcome.answer = Some(answer);
            }
            (std::mem::take(&mut outcome.keep), failed, outcome.time)
        };
        drop(keep); // before it settles: a thread that sees it settled sees the memory freed
        let trace = self.traced.as_ref().and_then(|traced| Some((self.epoch.counters.trace()?, traced)));
        if let Some((trace, (info, _))) = trace {
            calling(|| trace.emit(Event::BeforeComplete, info));
        }
        self.state.store(COUNTED, Ordering::Relaxed);
        self.epoch.flow.leave(self.number);
        if let Some(error) = &failed {
            self.epoch.counters.count_error(error);
        }
        self.link.concluded();
        if let Some(arriving) = &self.arriving {
            arriving.end(failed.clone().map_or(Ok(()), Err)); // a thread that sees the end sees all of this done
        }
        self.state.store(if failed.is_some() { FAILED } else { DONE }, Ordering::Release);
        if let Some((trace, (info, submitted))) = trace {
            let ran = time.filter(|_| trace.is_timed()).map(|took| DeviceTime::new(None, took));
            let info = OpInfo { ran, ..*info };
            calling(|| trace.emit(Event::AfterComplete(submitted.elapsed()), &info));
        }
        true
    }

    fn locate(&self, error: Error) -> Error {
        error.in_op(self.name, self.library).locate(|site| {
            site.move_to(self.epoch.label.to_string(), self.epoch.generation);
        })
    }

    fn poll_with(&self, until: Option<Deadline>, mut between: impl FnMut()) -> bool {
        loop {
            if self.look() {
                return true;
            }
            if clock::is_over(until) {
                // Much time may have passed between that look and this reading of the clock.
                return self.look();
            }
            between();
        }
    }

    /// Spins for `limit`, or until it is settled if there is none.
    fn spin(&self, limit: Option<Duration>, until: Option<Deadline>) -> bool {
        let start = Clock::SYSTEM.start();
        loop {
            for _ in 0..64 {
                if self.look() {
                    return true;
                }
                std::hint::spin_loop();
            }
            let spent = start.elapsed();
            if limit.is_some_and(|limit| spent >= limit) || clock::is_over(until) {
                return self.look(); // see `poll_with`
            }
            if spent > self.epoch.timing.waits.spin {
                std::thread::yield_now(); // where cores are few, the worker may need this core
            }
        }
    }

    /// Sleeps on the flag.
    fn park(&self, until: Option<Deadline>) -> bool {
        let timing = self.epoch.timing;
        let done = self.poll_with(until, || {
            let most = timing.watch.nap;
            let left = until.map_or(most, |until| until.slice().min(most));
            let ours = || self.state.load(Ordering::Acquire) == PENDING; // race "used again": checked once more
            if !self.link.answers.sleep(self.here(), left, ours) {
                clock::pause(timing.waits.shortest_pause); // answered, but cannot be settled here yet
            }
        });
        self.epoch.counters.forced_waits.fetch_add(1, Ordering::Relaxed);
        done
    }

    /// Waits; false when the time ran out first.
    pub(super) fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        if self.look() {
            return true;
        }
        match how {
            Wait::Spin => self.spin(None, until),
            Wait::Yield => self.poll_with(until, std::thread::yield_now),
            Wait::Adaptive => {
                let start = Clock::SYSTEM.start();
                let done = self.spin(Some(self.link.spin_limit.limit()), until) || self.park(until);
                if done {
                    self.link.spin_limit.learn(start.elapsed());
                }
                done
            }
            Wait::Rayon if !is_stealing() => {
                let waits = &self.epoch.timing.waits;
                let mut backoff = Backoff::new(waits);
                self.poll_with(until, || if steal_one() { backoff = Backoff::new(waits) } else { backoff.pause(until) })
            }
            Wait::Block | Wait::Rayon => self.park(until),
        }
    }

    pub(super) fn landing(&self) -> Result<Landing> {
        // In a forked child the shared memory is the parent's, which may reuse it, even if this was settled before the
        // fork.
        if self.epoch.is_forked() {
            return Err(self.locate(self.epoch.verdict()));
        }
        if let Some(arriving) = self.arriving.as_ref().filter(|_| !self.look()) {
            let mut outcome = self.outcome.lock();
            // Only once, and not if a thread that settles it has left the answer meanwhile.
            if !outcome.abandoned && outcome.answer.is_none() && self.state.load(Ordering::Acquire) < DONE {
                outcome.abandoned = true;
                return Ok(Landing::Arriving(arriving.clone()));
            }
        }
        self.wait(Wait::Adaptive, None);
        let answer = self.outcome.lock().answer.take();
        answer.ok_or_else(|| Error::library("the result was already taken"))?
    }

    /// Completes and counts an error that occurred after the work was done.
    pub(super) fn failed(&self, error: Error) -> Error {
        let error = self.locate(error);
        self.epoch.counters.count_error(&error);
        error
    }

    pub(super) fn abandon(&self) {
        if self.epoch.is_forked() {
            return; // the lock may be held by a thread that does not exist here
        }
        let answer = {
            let mut outcome = self.outcome.lock();
            outcome.abandoned = true;
            outcome.answer.take()
        };
        drop(answer);
    }

    /// The time on the device, if it was measured.
    pub(super) fn time(&self) -> Option<Duration> {
        if self.epoch.is_forked() {
            return None; // the lock may be held by a thread that does not exist here
        }
        self.outcome.lock().time
    }
}
