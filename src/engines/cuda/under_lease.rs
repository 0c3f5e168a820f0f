//! The steps under the lease of a slot: 4 to 6 of `dispatch/mod.rs`.
//!
//! ```text
//!   admit on each device ─> begin on each ─> the op's CUDA half ─> end on each ─> one task, kept by the ring of each slot
//! ```
//!
//! Most dispatches have one device. Of several, the first is the *lead*: it has the op's result, the timer, and the
//! device's name in errors. All leases are held until everything is enqueued, so a failure on one device is known before
//! any of them publishes its end.

use super::context::Bound;
use super::lease::{Lease, Place};
use super::memory::FREES_PER_LEASE;
use super::queue::{Leavings, Queue};
use super::reclaim::free_some;
use super::ring::{KeepAlive, Retired};
use super::slot::Mark;
use super::task::Leg;
use super::task_core::{Extra, Landed, TaskCore};
use super::timer::Timer;
use super::{Native, fault};
use crate::buffer::InitState;
use crate::dispatch::{Call, Submission};
use crate::engine::{Completion, Epoch};
use crate::error::Site;
use crate::op::plan::AnyPlan;
use crate::op::{Contained, Made};
use crate::sync::{Arc, Ordering};
use crate::{Error, Result};
use cudarc::driver::sys::CUevent;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a dispatch was not enqueued.
pub(super) enum Undone {
    /// Nothing was enqueued: it may be retried.
    Untouched(Error),
    /// Something may have been enqueued. If so, its end is recorded.
    Touched(Error),
    /// It follows work that is not enqueued yet.
    Late,
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
            Undone::Late => Error::library("internal error: an operation without predecessors was not enqueued"),
        }
    }
}

/// What an enqueue needs besides the op and the devices.
#[derive(Default)]
pub(super) struct Given<'a> {
    pub(super) traced: bool,
    pub(super) plans: &'a [AnyPlan],
    /// The phase of the op; most ops have only one.
    pub(super) phase: usize,
    /// What the earlier phases have made.
    pub(super) made: Option<&'a Made>,
}

/// A dispatch on the leased slot of one of its devices.
pub(super) struct Turn<'t, 'x> {
    place: &'t Place<'t, 'x>,
    pub(super) lease: Lease<'t>,
    left: Leavings,
    /// Where its work ends, once that is recorded.
    end: Option<End>,
}

/// The ticket of a slot at which work ends, and the event that was recorded for it.
#[derive(Clone, Copy)]
struct End {
    ticket: u64,
    event: Option<Native<CUevent>>,
}

/// A dispatch whose ends are recorded and published.
pub(super) struct Enqueued {
    task: TaskCore,
    /// Why not all of it was enqueued.
    failure: Option<Error>,
}

/// Enqueues a dispatch on all of its devices. Keep-alives to retire are added to `retired`. A failure before the first
/// call that touches a stream leaves everything as it was.
#[inline]
pub(super) fn enqueue(
    s: &mut Submission<'_, '_>,
    (lead, others): (&mut Turn<'_, '_>, &mut [Turn<'_, '_>]),
    given: &Given<'_>,
    retired: &mut Retired,
) -> Result<Enqueued, Undone> {
    lead.admit(s.was_admitted)?;
    for other in &*others {
        other.admit(s.was_admitted)?;
    }
    let names = (s.call.subject(), s.options.label);
    let _bound = lead.begin(names, retired)?;
    for other in &mut *others {
        drop(other.begin(names, retired)?); // the lead's context is current again
    }
    let submitted = given.traced.then(|| lead.place.core.timing.clock.start());
    let timer = if s.timed { Some(lead.start_timer(given.traced)?) } else { None };
    #[cfg(feature = "nvtx")]
    let _range = super::api::nvtx::range(s.options.label.unwrap_or(names.0));
    let is_alone = others.is_empty();
    // Not a `Result` that is passed on: it would be as large as an `Error`, and copied at every step.
    let mut failure = None;
    if let Err(error) = caught(&mut || {
        if let Some(relay) = s.relay.as_ref().filter(|_| given.phase == 0) {
            relay.inject_fault()?;
        }
        s.call.half(&mut lead.queue(given, s.facts.raw_bytes))
    }) {
        failure = Some(error);
    } else if s.facts.raw_bytes > 0 {
        failure = lead.queue(given, s.facts.raw_bytes).bring_result().err();
    }
    lead.free_scratch();
    on_each(others, &mut |other| other.free_scratch());
    if lead.left.untouched
        && others.iter().all(|other| other.left.untouched)
        && let Some(error) = failure
    {
        return Err(Undone::Untouched(error)); // it may be retried, and counts as one dispatch
    }
    if let (Some(timer), None) = (&timer, &failure)
        && let Err(error) = lead.record_timer(timer.end)
    {
        failure = Some(error);
    }
    lead.record(&mut failure);
    on_each(others, &mut |other| other.record(&mut failure));
    let mark = lead.publish(failure.as_ref(), is_alone);
    let elsewhere = others.iter_mut().map(|other| (other.publish(failure.as_ref(), is_alone), other.take_keeps()));
    let elsewhere = if is_alone { Vec::new() } else { elsewhere.collect() };
    for plan in given.plans {
        lead.left.keep_value(plan.clone());
    }
    let landed = std::mem::replace(&mut lead.left.landed, Landed::Nothing);
    if let Landed::Staged(staged) = &landed {
        let _ = staged.0.end.set((mark.ticket, mark.event));
    }
    let plain = lead.left.keeps.is_none() && timer.is_none() && submitted.is_none() && s.relay.is_none();
    let extra = if plain && is_alone {
        None
    } else {
        #[cfg(target_os = "linux")]
        let ahead =
            if s.relay.is_some() { lead.place.core.ahead(&lead.place.follows, mark.slot.index) } else { Vec::new() };
        #[cfg(not(target_os = "linux"))]
        let ahead = Vec::new();
        let submitted = submitted.filter(|_| failure.is_none());
        let (label, number, keeps) = (s.options.label.copied(), s.number, lead.take_keeps());
        Some(Box::new(Extra { ahead, _keeps: keeps, elsewhere, timer, submitted, label, number }))
    };
    Ok(Enqueued { task: TaskCore::new(mark, landed, extra), failure })
}

impl Enqueued {
    /// The op becomes the task of the dispatch.
    #[inline]
    pub(super) fn finish(
        self,
        call: &mut dyn Call,
        (lead, others): (&mut Turn<'_, '_>, &mut [Turn<'_, '_>]),
    ) -> Result<(), Undone> {
        let cargo = call.become_task(self.task)?;
        for other in others {
            other.keep(cargo.clone());
        }
        lead.keep(cargo);
        match self.failure {
            None => Ok(()),
            Some(error) => Err(Undone::Touched(error)),
        }
    }

    /// The op stays with its submitter, which enqueues another phase.
    pub(super) fn go_on(self, turn: &mut Turn<'_, '_>) -> Result<Arc<Leg>, Undone> {
        let leg = Arc::new(Leg { core: self.task });
        turn.keep(Some(leg.clone()));
        match self.failure {
            None => Ok(leg),
            Some(error) => Err(Undone::Touched(error)),
        }
    }
}

/// Calls `step` for each turn, with the context of its device current.
#[inline]
fn on_each(others: &mut [Turn<'_, '_>], step: &mut dyn FnMut(&mut Turn<'_, '_>)) {
    for other in others {
        // If this fails, so do the calls of the step: each of them names a stream of this context.
        let _bound = other.place.core.context.bind();
        step(other);
    }
}

/// Runs an op's CUDA half.
fn caught(half: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(half)).unwrap_or_else(|_| {
        Err(Error::Panicked { message: "while it enqueued its CUDA work".into(), site: Site::none() })
    })
}

impl<'t, 'x> Turn<'t, 'x> {
    #[inline]
    pub(super) fn new(place: &'t Place<'t, 'x>, lease: Lease<'t>, landed: Landed) -> Self {
        Turn { place, lease, left: Leavings::new(landed), end: None }
    }

    fn epoch(&self) -> &'t Arc<Epoch> {
        self.place.around.epoch
    }

    /// Where its work ends; `None` if nothing was enqueued.
    pub(super) fn end(&self) -> Option<Mark> {
        let slot = &self.lease.slot.shared;
        self.end.map(|end| Mark { slot: slot.clone(), ticket: end.ticket, event: end.event })
    }

    /// Call when all leases are taken: the end of an epoch sets its flag first, and takes the leases after that.
    fn admit(&self, was_admitted: bool) -> Result<()> {
        if was_admitted { self.epoch().go_on() } else { self.epoch().admit() }
    }

    /// The steps before the op's CUDA half.
    fn begin(
        &mut self,
        (name, label): (&'static &'static str, Option<&'static &'static str>),
        retired: &mut Retired,
    ) -> Result<Bound<'t>> {
        let (core, epoch) = (self.place.core, self.epoch());
        let (shared, state) = (&self.lease.slot.shared, &mut *self.lease.state);
        let bound = core.bind(epoch)?;
        state.reap(shared, 4, retired);
        // Usually empty, so the call is not worth it.
        if !shared.frees.is_empty() {
            free_some(shared, state, FREES_PER_LEASE);
        }
        if !self.place.follows.is_empty() {
            core.follow(epoch, &self.place.follows, shared.index, state)?;
        }
        shared.recent.push(name, label);
        Ok(bound)
    }

    /// The leased stream, for the op's CUDA half.
    fn queue<'q>(&'q mut self, given: &'q Given<'_>, raw_bytes: usize) -> Queue<'q> {
        let Given { plans, phase, made, .. } = *given;
        let (core, epoch, left) = (self.place.core, self.place.around.epoch, &mut self.left);
        let (shared, state) = (&self.lease.slot.shared, &mut *self.lease.state);
        Queue { core, epoch, shared, state, plans, phase, made, raw_bytes, left }
    }

    fn free_scratch(&self) {
        for address in &self.left.scratch {
            // SAFETY: allocated on this stream by this dispatch, and freed behind its work.
            let _ = unsafe { self.place.core.context.api.mem_free_async(*address, self.lease.state.stream.0) };
        }
    }

    /// Records the end of the work, also after a failure: whatever was enqueued ends with a completion, so the buffers
    /// can go back to the caller.
    fn record(&mut self, failure: &mut Option<Error>) {
        let shared = &self.lease.slot.shared;
        // Only the holder of the lease counts, so no locked instruction is needed.
        shared.dispatches.store(shared.dispatches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let (ticket, event, code) = self.lease.state.record(shared);
        self.end = Some(End { ticket, event });
        if !code.is_success() && failure.is_none() {
            *failure = Some(fault::classify(self.epoch(), code, "cuEventRecord"));
        }
    }

    /// Publishes the end of the work to the buffers of this device, and updates the state of their contents. If the
    /// dispatch has several devices, nothing is known of what the other devices have left to do after a failure: its
    /// outputs have no contents then.
    ///
    /// Completions that this work does not follow stay in the history. Through an alias, another thread may have
    /// submitted work on another part of a buffer after this work looked at it.
    fn publish(&self, failure: Option<&Error>, is_alone: bool) -> Mark {
        let End { ticket, event } = self.end.unwrap_or(End { ticket: 0, event: None });
        let end = Completion::Cuda(Mark { slot: self.lease.slot.shared.clone(), ticket, event });
        let s = self.place.around;
        for (i, view) in s.views.iter().enumerate() {
            if i < s.read_count {
                view.region.history.lock().publish_read(&end);
                continue;
            }
            // SAFETY: dropped before the next one is made; that of `gather` is gone.
            let mut track = unsafe { view.history() };
            view.region.writers_done.store(false, Ordering::Release);
            if view.is_part() {
                track.publish_part(&end);
            } else {
                track.publish_write_beside(&end, |earlier| {
                    self.place.core.is_followed(earlier, &self.place.follows, &end)
                });
            }
            drop(track);
            match failure {
                None => view.written(),
                Some(_) if s.preserves_on_failure => {}
                Some(error) if is_alone => view.region.init.fail(error),
                Some(_) => view.region.init.set(InitState::Uninit),
            }
        }
        match end {
            Completion::Cuda(mark) => mark,
            // Not reached: `end` was made above.
            _ => Mark { slot: self.lease.slot.shared.clone(), ticket, event },
        }
    }

    fn take_keeps(&mut self) -> Contained<super::queue::Keeps> {
        Contained::new(self.left.keeps.take().unwrap_or_default())
    }

    /// Keeps `cargo` alive until the work has completed.
    fn keep(&mut self, cargo: Option<Arc<dyn KeepAlive>>) {
        if let Some(End { ticket, event }) = self.end {
            self.lease.state.ring.push(ticket, event, cargo);
        }
    }

    #[cold]
    fn start_timer(&mut self, traced: bool) -> Result<Timer> {
        let (core, epoch) = (self.place.core, self.epoch());
        let timer = core.timers.timer(core.context.api).map_err(|c| fault::classify(epoch, c, "cuEventCreate"))?;
        // Nothing is in flight on this stream, so an event recorded now completes at once.
        if traced && self.lease.slot.shared.sequence.in_flight() == 0 {
            core.timers.anchor(core.context.api, self.lease.state.stream, core.timing.clock);
        }
        self.record_timer(timer.start)?;
        Ok(timer)
    }

    fn record_timer(&self, event: Native<CUevent>) -> Result<()> {
        // SAFETY: event and stream are alive under the lease; the context is current.
        unsafe { self.place.core.context.api.event_record(event.0, self.lease.state.stream.0) }
            .ok()
            .map_err(|code| fault::classify(self.epoch(), code, "cuEventRecord"))
    }
}
