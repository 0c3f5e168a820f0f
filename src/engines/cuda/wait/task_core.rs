//! The part of a task in flight on a GPU that does not depend on its op, compiled once: its state, the waits for its
//! mark, and the place of its results.

use super::timer::Timer;
use crate::core::clock::{self, Clock, Deadline, Stopwatch, Waits};
use crate::core::dispatch::{Backoff, Spinner, Wait, is_stealing, steal_one};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::Contained;
use crate::core::op::raw::Landing;
#[cfg(target_os = "linux")]
use crate::core::op::raw::{RemoteResult, RemoteTarget};
use crate::core::sync::{Arc, AtomicU8, Mutex, Ordering};
use crate::core::trace::{DeviceTime, Event, OpMetadata};
use crate::engines::cuda::dispatch::Keeps;
use crate::engines::cuda::dispatch::Rings;
use crate::engines::cuda::memory::SmallSlot;
use crate::engines::cuda::memory::{Staged, ended};
use crate::engines::cuda::streams::SlotMark;
use smallvec::SmallVec;
use std::sync::Weak;
use std::time::Duration;

const PENDING: u8 = 0;
const CLAIMED: u8 = 1;
const DONE: u8 = 2;
const FAILED: u8 = 3;

/// Where the device writes the result for the host.
pub(crate) enum Landed {
    Nothing,
    Slot(SmallSlot),
    Staged(Staged),
    /// Shared memory, where another process waits for it.
    #[cfg(target_os = "linux")]
    InPlace(Box<crate::engines::cuda::memory::Progress>),
}

/// The part of a task that does not depend on its op, so that its code is compiled once.
pub(crate) struct TaskCore {
    pub(crate) mark: SlotMark,
    state: AtomicU8,
    pub(crate) landed: Mutex<Landed>,
    pub(crate) extra: Option<Box<Extra>>,
}

/// Parts that most dispatches do not have.
pub(crate) struct Extra {
    /// In a worker, whose client wants to know when the device can start the work: the marks of other slots that it
    /// follows.
    pub(crate) ahead: Vec<SlotMark>,
    /// What must outlive the work. Dropped when the ring drops the task.
    pub(crate) _keeps: Contained<Keeps>,
    /// For a dispatch over several devices.
    pub(crate) elsewhere: Option<Elsewhere>,
    pub(crate) timer: Option<Timer>,
    /// When it was submitted; set if a trace is notified of its end.
    pub(crate) submitted: Option<Stopwatch>,
    pub(crate) label: Option<&'static str>,
    /// The dispatch's number in traces.
    pub(crate) number: u64,
}

/// What a dispatch over several devices leaves on the others.
pub(crate) struct Elsewhere {
    /// Where its work ends, and what must outlive it there.
    pub(crate) ends: Vec<(SlotMark, Contained<Keeps>)>,
    pub(crate) rings: Rings,
}

/// Values of any type that the work needs until it is complete.
pub(crate) type Kept = SmallVec<[Arc<dyn std::any::Any + Send + Sync>; 1]>;

impl TaskCore {
    pub(crate) fn new(mark: SlotMark, landed: Landed, extra: Option<Box<Extra>>) -> Self {
        TaskCore { mark, state: AtomicU8::new(PENDING), landed: Mutex::new(landed), extra }
    }

    /// Whether part of it must outlive its pending: memory that the device reads or writes, a timer, or the
    /// notification of a trace.
    pub(crate) fn is_held(&mut self) -> bool {
        self.extra.is_some() || !matches!(self.landed.get_mut(), Landed::Nothing)
    }

    fn waits(&self) -> &'static Waits {
        &self.mark.slot.timing.waits
    }

    pub(crate) fn submitted(&self) -> Option<Stopwatch> {
        self.extra.as_ref()?.submitted
    }

    /// The marks on other devices, for a dispatch over several.
    fn elsewhere(&self) -> impl Iterator<Item = &SlotMark> {
        let elsewhere = self.extra.as_ref().and_then(|extra| extra.elsewhere.as_ref());
        elsewhere.into_iter().flat_map(|elsewhere| &elsewhere.ends).map(|(mark, _)| mark)
    }

    /// The mark of a device that is over and has not done its part, or else the lead's.
    fn culprit(&self) -> &SlotMark {
        self.elsewhere().find(|mark| mark.slot.over() && !mark.is_past()).unwrap_or(&self.mark)
    }
}

impl TaskCore {
    /// Polls; settles the task if that is possible. True if it is settled.
    #[inline]
    fn look(&self, op: &dyn OpMetadata) -> bool {
        if self.state.load(Ordering::Acquire) >= DONE {
            return true;
        }
        if self.mark.poll() && self.elsewhere().all(SlotMark::poll) {
            return self.conclude(op, true);
        }
        if self.mark.slot.over() || self.elsewhere().any(|mark| mark.slot.over()) {
            // The flag is set after the last poll that could have helped. A task that is not known to be complete now
            // never will be.
            return self.conclude(op, self.mark.is_past() && self.elsewhere().all(SlotMark::is_past));
        }
        false
    }

    /// A ring lets it go, because it is done on that device.
    pub(crate) fn retire(&self, op: &dyn OpMetadata) {
        let elsewhere = self.extra.as_ref().and_then(|extra| extra.elsewhere.as_ref());
        if elsewhere.is_none_or(|elsewhere| elsewhere.rings.let_go()) {
            self.conclude(op, true);
        }
    }

    /// The first thread to claim it settles it. False while another thread is doing so.
    fn conclude(&self, op: &dyn OpMetadata, done: bool) -> bool {
        if self.state.compare_exchange(PENDING, CLAIMED, Ordering::AcqRel, Ordering::Acquire).is_err() {
            if self.mark.slot.is_forked() {
                // The thread that claimed it does not exist in this forked process, and will not settle it here.
                let _ = self.state.compare_exchange(CLAIMED, FAILED, Ordering::AcqRel, Ordering::Acquire);
            }
            return self.state.load(Ordering::Acquire) >= DONE;
        }
        let end = if done { DONE } else { FAILED };
        match self.submitted() {
            None => self.state.store(end, Ordering::Release),
            Some(submitted) => {
                let epoch = self.epoch();
                let trace = epoch.as_ref().and_then(|e| e.counters.trace());
                let mut info = op.info_at_end().numbered(self.extra.as_ref().map_or(0, |extra| extra.number));
                if let Some(trace) = trace {
                    trace.emit(Event::BeforeComplete, &info);
                }
                self.state.store(end, Ordering::Release);
                if let Some(trace) = trace {
                    let latency = submitted.elapsed();
                    info.ran = if done { self.ran(submitted, latency) } else { None };
                    trace.emit(Event::AfterComplete(latency), &info);
                }
            }
        }
        true
    }

    /// When the device ran it, for a trace.
    fn ran(&self, submitted: Stopwatch, latency: Duration) -> Option<DeviceTime> {
        let timer = self.extra.as_ref()?.timer.as_ref()?;
        let context = &self.mark.slot.context;
        let took = timer.elapsed(context)?.min(latency);
        let began = timer.began_after(submitted, context).map(|began| began.min(latency - took));
        Some(DeviceTime::new(began, took))
    }

    fn epoch(&self) -> Option<Arc<Epoch>> {
        self.mark.slot.epoch.get().and_then(Weak::upgrade)
    }

    pub(crate) fn locate(&self, op: &dyn OpMetadata, error: Error) -> Error {
        let (op, library) = op.names();
        let error = error.in_op(op, library);
        match self.epoch() {
            Some(epoch) => {
                epoch.counters.count_error(&error);
                error.locate(|site| {
                    site.set_device(epoch.label.to_string(), epoch.generation);
                })
            }
            None => error,
        }
    }

    /// Polls until it is settled or `until` is reached; calls `between` after each poll.
    fn poll_with(&self, op: &dyn OpMetadata, until: Option<Deadline>, between: &mut dyn FnMut(&mut Backoff)) -> bool {
        let mut backoff = Backoff::learning(self.waits(), op.names().0);
        loop {
            if self.look(op) {
                backoff.ended();
                return true;
            }
            if clock::is_over(until) {
                // The thread may have been stopped between the poll and this check of the clock.
                return self.look(op);
            }
            between(&mut backoff);
        }
    }

    /// Spins for `limit`. Reads the clock rarely: that costs a fifth of a poll.
    fn spin(&self, op: &dyn OpMetadata, limit: Option<Duration>, until: Option<Deadline>) -> bool {
        if self.look(op) {
            return true;
        }
        let (mut start, mut rounds) = (None, 0u32);
        loop {
            for _ in 0..16 {
                if self.look(op) {
                    return true;
                }
            }
            rounds = rounds.saturating_add(1);
            if rounds > 1024 {
                std::thread::yield_now(); // after some milliseconds: if cores are few, other threads may need this one
            }
            if limit.is_none() && until.is_none() {
                continue;
            }
            let start = start.get_or_insert_with(|| Clock::SYSTEM.start());
            if limit.is_some_and(|limit| start.elapsed() >= limit) || clock::is_over(until) {
                return self.look(op); // see `poll_with`
            }
        }
    }

    fn block(&self, op: &dyn OpMetadata) -> bool {
        if self.look(op) {
            return true;
        }
        for mark in std::iter::once(&self.mark).chain(self.elsewhere()) {
            if let (Some(core), Some(event)) = (mark.slot.core.get().and_then(Weak::upgrade), mark.event) {
                match core.streams.waits().wait(&mark.slot, mark.ticket, event.0) {
                    Ok(_) => {}
                    Err(code) => mark.slot.report(code, "cuEventSynchronize"),
                }
            }
        }
        // The event may belong to later work by now, or blocking was not possible: polling settles the task in both
        // cases.
        self.poll_with(op, None, &mut |backoff| backoff.pause(None))
    }

    pub(crate) fn wait(&self, op: &dyn OpMetadata, how: Wait, until: Option<Deadline>) -> bool {
        // A caller that has waited waits once more to take the result: then it is settled already.
        if self.state.load(Ordering::Acquire) >= DONE {
            return true;
        }
        match how {
            Wait::Spin => self.spin(op, None, until),
            Wait::Yield => self.poll_with(op, until, &mut |_| std::thread::yield_now()),
            Wait::Adaptive => {
                self.spin(op, Some(self.waits().spin), until)
                    || Spinner::enter().is_some_and(|_here| self.spin(op, Some(self.waits().gpu_spin), until))
                    || self.poll_with(op, until, &mut |b| b.pause(until))
            }
            Wait::Rayon if !is_stealing() => self.poll_with(op, until, &mut |b| {
                if steal_one() { *b = Backoff::new(self.waits()) } else { b.pause(until) }
            }),
            Wait::Block if until.is_none() => self.block(op),
            Wait::Block | Wait::Rayon => self.poll_with(op, until, &mut |b| b.pause(until)),
        }
    }

    /// Takes what the device has left, as [`landing`](Self::landing) does.
    pub(crate) fn answer(&self, op: &dyn OpMetadata, eager: bool, landing: &mut Landing) -> Result<()> {
        match self.landing(op, eager) {
            Ok(left) => {
                *landing = left;
                Ok(())
            }
            Err(error) => Err(self.locate(op, error)),
        }
    }

    /// The place of the results. Waits until the task is settled, unless the output can be taken early.
    fn landing(&self, op: &dyn OpMetadata, eager: bool) -> Result<Landing> {
        // The trace must see the completion before the result is returned, so with a trace nothing is taken early.
        if !eager || self.submitted().is_some() {
            self.wait(op, Wait::Adaptive, None);
        }
        if self.state.load(Ordering::Acquire) == FAILED {
            return Err(ended(&self.culprit().slot));
        }
        Ok(match &*self.landed.lock() {
            Landed::Nothing => Landing::Nothing,
            #[cfg(target_os = "linux")]
            Landed::InPlace(_) => Landing::Nothing,
            // SAFETY: the task is settled, so the device has written the slot. (Only an eager output is taken before
            // that, and eager outputs land in staging.)
            Landed::Slot(slot) => Landing::Slot(unsafe { slot.read() }),
            // The ring holds the other share until all pieces have arrived.
            Landed::Staged(staged) => Landing::Arriving(staged.0.clone()),
        })
    }

    /// As `look`, which is inlined; this is compiled once.
    pub(crate) fn is_settled(&self, op: &dyn OpMetadata) -> bool {
        self.look(op)
    }

    /// The result for another process, which may already have the data (`InPlace`).
    #[cfg(target_os = "linux")]
    pub(crate) fn to_remote(&self, op: &dyn OpMetadata, eager: bool, to: RemoteTarget) -> Result<RemoteResult> {
        let in_place = matches!(*self.landed.lock(), Landed::InPlace(_));
        let left = match self.landing(op, eager && !in_place) {
            Ok(_) if in_place => Ok(RemoteResult::Slot([0; 64])),
            Ok(landing) => landing.into_remote(to),
            Err(error) => Err(error),
        };
        left.map_err(|error| self.locate(op, error))
    }

    /// The result will not be asked for. `holds`: whether the task holds something that is worth freeing soon.
    pub(crate) fn let_go(&self, holds: bool) {
        if (holds || self.extra.is_some()) && self.state.load(Ordering::Acquire) < DONE {
            self.mark.slot.reclaim.nudge.nudge();
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn arrived(&self) -> u64 {
        match &mut *self.landed.lock() {
            Landed::InPlace(progress) => progress.look(&self.mark.slot),
            _ => 0,
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn may_run(&self) -> bool {
        self.extra.as_ref().is_none_or(|extra| extra.ahead.iter().all(SlotMark::poll))
    }

    pub(crate) fn device_time(&self) -> Option<Duration> {
        if self.mark.slot.over() {
            return None;
        }
        self.extra.as_ref()?.timer.as_ref()?.elapsed(&self.mark.slot.context)
    }
}
