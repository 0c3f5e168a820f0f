//! The steps under the lease of a slot: 4 to 6 of `device/dispatch/mod.rs`.

use super::api::Code;
use super::follow::Follows;
use super::lease::Lease;
use super::memory::FREES_PER_LEASE;
use super::queue::{Leavings, Queue};
use super::reclaim::free_some;
use super::ring::Retired;
use super::slot::{Mark, Shared, State};
use super::submit::Around;
use super::task::Leg;
use super::task_core::{Extra, Landed, TaskCore};
use super::timer::Timer;
use super::{Core, fault};
use crate::core::buffer::InitState;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Site};
use crate::core::op::plan::AnyPlan;
use crate::core::op::{Contained, Made};
use crate::core::order::Completion;
use crate::core::sync::{Arc, Ordering};
use crate::engines::dispatch::Submission;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An enqueue that did not finish its dispatch.
pub(super) enum Undone {
    /// Nothing was enqueued: it may be retried.
    Untouched(Error),
    /// Something may have been enqueued. If so, its end is recorded.
    Touched(Error),
    /// It follows work that is not enqueued yet.
    Late,
    /// One phase of several was enqueued, and it was not the last: the op stays with its submitter.
    Between,
}

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Undone::Touched(error)
    }
}

impl Undone {
    pub(super) fn error(self) -> Error {
        match self {
            Undone::Untouched(error) | Undone::Touched(error) => error,
            Undone::Late | Undone::Between => {
                Error::library("internal error: an operation without predecessors, with one phase, was not enqueued")
            }
        }
    }
}

/// What an enqueue needs besides the op and its operands.
pub(super) struct Given<'a> {
    pub(super) landed: Landed,
    pub(super) traced: bool,
    pub(super) plans: &'a [AnyPlan],
    pub(super) phase: Phase<'a>,
}

/// The phase of an op; most ops have only one.
#[derive(Default)]
pub(super) struct Phase<'a> {
    pub(super) index: usize,
    pub(super) made: Option<&'a Made>,
    /// Where the enqueued phase is stored; `None` for the last one.
    pub(super) leg: Option<&'a mut Option<Arc<Leg>>>,
}

/// Runs an op's CUDA half.
fn caught(half: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(half)).unwrap_or_else(|_| {
        Err(Error::Panicked { message: "while it enqueued its CUDA work".into(), site: Site::none() })
    })
}

impl Core {
    /// Everything that is done under the lease. Keep-alives to retire are added to `retired`. The mark of the end is
    /// stored in `end`, if the caller asks for it.
    pub(super) fn enqueue(
        self: &Arc<Self>,
        s: &mut Submission<'_, '_>,
        follows: &Follows,
        lease: &mut Lease<'_>,
        (retired, end): (&mut Retired, Option<&mut Option<Mark>>),
        given: Given<'_>,
    ) -> Result<(), Undone> {
        let (epoch, around, raw_bytes) = (s.epoch, Around::of(s), s.facts.raw_bytes);
        let (shared, state) = (&lease.slot.shared, &mut *lease.state);
        let name = s.call.subject();
        // Checked after the lease was taken: the end of the epoch sets the flag first, and takes the lease after that.
        if s.was_admitted {
            epoch.go_on()?
        } else {
            epoch.admit()?
        }
        let _bound = self.bind(epoch)?;
        self.begin(around, follows, (shared, state), retired, (name, s.options.label))?;
        let submitted = given.traced.then(|| self.timing.clock.start());
        let timer = if s.timed { Some(self.start_timer(epoch, (shared, state), given.traced)?) } else { None };
        #[cfg(feature = "nvtx")]
        let _range = super::api::nvtx::range(s.options.label.unwrap_or(name));
        let (plans, Phase { index: phase, made, leg }) = (given.plans, given.phase);
        let mut left = Leavings::new(given.landed);
        // Not a `Result` that is passed on: it would be as large as an `Error`, and copied at every step.
        let mut failure = None;
        let mut half = || {
            if let Some(relay) = s.relay.as_ref().filter(|_| phase == 0) {
                relay.inject_fault()?;
            }
            let (state, left) = (&mut *state, &mut left);
            s.call.half(&mut Queue { core: self, epoch, shared, state, plans, phase, made, raw_bytes, left })
        };
        if let Err(error) = caught(&mut half) {
            failure = Some(error);
        } else if raw_bytes > 0 {
            let (state, left) = (&mut *state, &mut left);
            let queue = Queue { core: self, epoch, shared, state, plans, phase, made, raw_bytes, left };
            failure = queue.bring_result().err();
        }
        if !left.scratch.is_empty() {
            self.free_scratch(&left.scratch, state);
        }
        if left.untouched
            && let Some(error) = failure
        {
            return Err(Undone::Untouched(error)); // it may be retried, and counts as one dispatch
        }
        // Only the holder of the lease counts, so no locked instruction is needed.
        shared.dispatches.store(shared.dispatches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if let (Some(timer), None) = (&timer, &failure)
            && let Err(error) = self.record_timer(epoch, timer.end, state)
        {
            failure = Some(error);
        }
        let (mark, code) = self.end(around, follows, (shared, state), failure.as_ref());
        if let Some(end) = end {
            *end = Some(mark.clone());
        }
        if !code.is_success() && failure.is_none() {
            failure = Some(fault::classify(epoch, code, "cuEventRecord"));
        }
        let (ticket, event) = (mark.ticket, mark.event);
        if let Landed::Staged(staged) = &left.landed {
            let _ = staged.0.end.set((ticket, event));
        }
        for plan in plans {
            left.keep_value(plan.clone());
        }
        let extra = if left.keeps.is_none() && timer.is_none() && submitted.is_none() && s.relay.is_none() {
            None
        } else {
            #[cfg(target_os = "linux")]
            let ahead = if s.relay.is_some() { self.ahead(follows, mark.slot.index) } else { Vec::new() };
            #[cfg(not(target_os = "linux"))]
            let ahead = Vec::new();
            let (submitted, label) = (submitted.filter(|_| failure.is_none()), s.options.label.copied());
            let (number, keeps) = (s.number, Contained::new(left.keeps.take().unwrap_or_default()));
            Some(Box::new(Extra { ahead, _keeps: keeps, timer, submitted, label, number }))
        };
        let task = TaskCore::new(mark, left.landed, extra);
        if let Some(place) = leg {
            let leg = Arc::new(Leg { core: task });
            *place = Some(leg.clone());
            state.ring.push(ticket, event, Some(leg));
            return Err(failure.map_or(Undone::Between, Undone::Touched));
        }
        let cargo = s.call.become_task(task)?;
        state.ring.push(ticket, event, cargo);
        match failure {
            None => Ok(()),
            Some(error) => Err(Undone::Touched(error)),
        }
    }

    /// The steps before the op's CUDA half. The context must be current.
    fn begin(
        &self,
        s: Around<'_, '_>,
        follows: &Follows,
        (shared, state): (&Arc<Shared>, &mut State),
        retired: &mut Retired,
        (name, label): (&'static &'static str, Option<&'static &'static str>),
    ) -> Result<()> {
        state.reap(shared, 4, retired);
        // Usually empty, so the call is not worth it.
        if !shared.frees.is_empty() {
            free_some(shared, state, FREES_PER_LEASE);
        }
        if !follows.is_empty() {
            self.follow(s.epoch, follows, shared.index, state)?;
        }
        shared.recent.push(name, label);
        Ok(())
    }

    /// The steps after the op's CUDA half, also after a failure: whatever was enqueued ends with a completion, so the
    /// buffers can go back to the caller.
    fn end(
        &self,
        s: Around<'_, '_>,
        follows: &Follows,
        (shared, state): (&Arc<Shared>, &mut State),
        failure: Option<&Error>,
    ) -> (Mark, Code) {
        let (ticket, event, code) = state.record(shared);
        let completion = Completion::Cuda(Mark { slot: shared.clone(), ticket, event });
        self.publish(s, follows, &completion, (failure.is_none() && code.is_success(), failure));
        match completion {
            Completion::Cuda(mark) => (mark, code),
            // Not reached: `completion` was made above.
            _ => (Mark { slot: shared.clone(), ticket, event }, code),
        }
    }

    /// Publishes the end of this work to its buffers, and updates the state of their contents.
    ///
    /// Completions that this work does not follow stay in the history. Through an alias, another thread may have
    /// submitted work on another part of a buffer after this work looked at it.
    fn publish(&self, s: Around<'_, '_>, follows: &Follows, end: &Completion, (ok, failure): (bool, Option<&Error>)) {
        for (i, view) in s.views.iter().enumerate() {
            if i < s.read_count {
                // A peer's buffer gets a mark of its own device: see `peer.rs`.
                if Arc::ptr_eq(&view.region.epoch, s.epoch) {
                    view.region.history.lock().publish_read(end);
                }
            } else {
                // SAFETY: dropped before the next one is made; that of `gather` is gone.
                let mut track = unsafe { view.history() };
                view.region.writers_done.store(false, Ordering::Release);
                if view.is_part() {
                    track.publish_part(end);
                } else {
                    track.publish_write_beside(end, |earlier| self.is_followed(earlier, follows, end));
                }
                drop(track);
                if ok {
                    view.written();
                } else if !s.preserves_on_failure {
                    match failure {
                        Some(error) => view.region.init.fail(error),
                        None => view.region.init.set(InitState::Failed),
                    }
                }
            }
        }
    }

    fn free_scratch(&self, scratch: &[u64], state: &State) {
        for address in scratch {
            // SAFETY: allocated on this stream by this dispatch, and freed behind its work.
            let _ = unsafe { self.context.api.mem_free_async(*address, state.stream.0) };
        }
    }

    #[cold]
    fn start_timer(&self, epoch: &Arc<Epoch>, (shared, state): (&Shared, &State), traced: bool) -> Result<Timer> {
        let timer = self.timers.timer(self.context.api).map_err(|c| fault::classify(epoch, c, "cuEventCreate"))?;
        // Nothing is in flight on this stream, so an event recorded now completes at once.
        if traced && shared.sequence.in_flight() == 0 {
            self.timers.anchor(self.context.api, state.stream, self.timing.clock);
        }
        self.record_timer(epoch, timer.start, state)?;
        Ok(timer)
    }

    fn record_timer(
        &self,
        epoch: &Arc<Epoch>,
        event: super::Native<cudarc::driver::sys::CUevent>,
        state: &State,
    ) -> Result<()> {
        // SAFETY: event and stream are alive under the lease; the context is current.
        unsafe { self.context.api.event_record(event.0, state.stream.0) }
            .ok()
            .map_err(|code| fault::classify(epoch, code, "cuEventRecord"))
    }
}
