//! The steps under the lease of a slot: 4 to 6 of `device/dispatch/mod.rs`.
//!
//! ```text
//!   admit on each device ─> begin on each ─> the op's CUDA half ─> end on each ─> one task, kept by the ring of each slot
//! ```
//!
//! Most dispatches have one device. Of several, the first is the *lead*: it has the op's result, the timer, and the
//! device's name in errors. All leases are held until everything is enqueued, so a failure on one device is known before
//! any of them publishes its end.

use super::on_slot::OnSlot;
use super::queue::{OtherQueues, Queue};
use super::together::Rings;
use crate::core::clock::Stopwatch;
use crate::core::error::{Error, Result, Site};
use crate::core::op::Made;
use crate::core::sync::Arc;
use crate::engines::cuda::streams::{Retired, SlotMark};
use crate::engines::cuda::wait::PhaseTask;
use crate::engines::cuda::wait::{Elsewhere, Extra, Landed, TaskCore, Timer};
use crate::engines::dispatch::{Call, Submission};
use crate::engines::op::plan::AnyPlan;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a dispatch was not enqueued.
pub(crate) enum NotEnqueued {
    /// Nothing was enqueued: it may be retried.
    Untouched(Error),
    /// Something may have been enqueued. If so, its end is recorded.
    Touched(Error),
    /// It follows work that is not enqueued yet.
    Late,
}

impl From<Error> for NotEnqueued {
    fn from(error: Error) -> Self {
        NotEnqueued::Touched(error)
    }
}

impl NotEnqueued {
    pub(crate) fn error(self) -> Error {
        match self {
            NotEnqueued::Untouched(error) | NotEnqueued::Touched(error) => error,
            NotEnqueued::Late => Error::library("internal error: an operation without predecessors was not enqueued"),
        }
    }
}

/// What an enqueue needs besides the op and the devices.
#[derive(Default)]
pub(crate) struct EnqueueInput<'a> {
    pub(crate) traced: bool,
    pub(crate) plans: &'a [AnyPlan],
    /// The phase of the op; most ops have only one.
    pub(crate) phase: usize,
    /// What the earlier phases have made.
    pub(crate) made: Option<&'a Made>,
}

/// A dispatch whose ends are recorded and published.
pub(crate) struct Enqueued {
    task: TaskCore,
    /// Why not all of it was enqueued.
    failure: Option<Error>,
}

/// Enqueues a dispatch on all of its devices. Keep-alives to retire are added to `retired`. A failure before the first
/// call that touches a stream leaves everything as it was.
///
/// It is compiled twice, once for the ordinary dispatch, which has one device: 180 instructions of 2000 are saved if
/// neither this nor the steps of `OnSlot` are calls (`benches/count.py`).
#[inline(always)]
pub(super) fn enqueue<'t, 'x>(
    s: &mut Submission<'_, '_, '_>,
    (lead, others): (&mut OnSlot<'t, 'x>, &mut [OnSlot<'t, 'x>]),
    input: &EnqueueInput<'_>,
    retired: &mut Retired,
) -> Result<Enqueued, NotEnqueued> {
    lead.admit(s.was_admitted)?;
    others.iter().try_for_each(|other| other.admit(s.was_admitted))?;
    let names = (s.call.subject(), s.options.label);
    if !others.is_empty() {
        begin_elsewhere(others, names, retired)?;
    }
    let _bound = lead.begin(names, retired)?;
    let measured = Measured::begin(lead, s.timed, input.traced)?;
    #[cfg(feature = "nvtx")]
    let _range = crate::engines::cuda::api::nvtx::range(s.options.label.unwrap_or(names.0));
    let mut failure = half(s, (&mut *lead, &mut *others), input);
    lead.free_scratch();
    others.iter().for_each(OnSlot::free_scratch);
    if is_untouched(lead, others)
        && let Some(error) = failure
    {
        return Err(NotEnqueued::Untouched(error)); // it may be retried, and counts as one dispatch
    }
    measured.end(lead, &mut failure);
    // All ends are recorded before the first is published: only then is it known whether the dispatch has failed.
    if others.is_empty() {
        lead.record(&mut failure);
    } else {
        end_each(lead, others, &mut failure);
    }
    let mark = lead.publish(failure.as_ref(), others.is_empty());
    let elsewhere = if others.is_empty() { None } else { Some(publish_elsewhere(others, failure.as_ref())) };
    let landed = take_landed(lead, &mark);
    let is_plain = lead.left.keeps.is_none() && elsewhere.is_none() && measured.is_nothing() && s.relay.is_none();
    let extra = if is_plain { None } else { Some(extra(s, lead, &mark, elsewhere, measured, failure.is_some())) };
    Ok(Enqueued { task: TaskCore::new(mark, landed, extra), failure })
}

/// What is measured of a dispatch: when it was submitted, if a trace is notified of its end, and its time on the device.
struct Measured {
    submitted: Option<Stopwatch>,
    timer: Option<Timer>,
}

impl Measured {
    #[inline(always)]
    fn begin(lead: &mut OnSlot<'_, '_>, is_timed: bool, is_traced: bool) -> Result<Self> {
        let submitted = is_traced.then(|| lead.place.core.timing.clock.start());
        let timer = if is_timed { Some(lead.start_timer(is_traced)?) } else { None };
        Ok(Measured { submitted, timer })
    }

    #[inline(always)]
    fn end(&self, lead: &OnSlot<'_, '_>, failure: &mut Option<Error>) {
        if let (Some(timer), None) = (&self.timer, &failure) {
            *failure = lead.record_timer(timer.end).err();
        }
    }

    fn is_nothing(&self) -> bool {
        self.timer.is_none() && self.submitted.is_none()
    }
}

/// Whether nothing was put on any stream, and the operands are unchanged.
#[inline(always)]
fn is_untouched(lead: &OnSlot<'_, '_>, others: &[OnSlot<'_, '_>]) -> bool {
    lead.left.untouched && others.iter().all(|other| other.left.untouched)
}

/// The place of the result. If it is staged, whoever empties the staging waits for `mark`.
#[inline(always)]
fn take_landed(lead: &mut OnSlot<'_, '_>, mark: &SlotMark) -> Landed {
    let landed = std::mem::replace(&mut lead.left.landed, Landed::Nothing);
    if let Landed::Staged(staged) = &landed {
        let _ = staged.0.end.set((mark.ticket, mark.event));
    }
    landed
}

/// The parts of the task that most dispatches do not have.
fn extra(
    s: &Submission<'_, '_, '_>,
    lead: &mut OnSlot<'_, '_>,
    mark: &SlotMark,
    elsewhere: Option<Elsewhere>,
    Measured { submitted, timer }: Measured,
    has_failed: bool,
) -> Box<Extra> {
    let (submitted, ahead) = (submitted.filter(|_| !has_failed), lead.ahead(s, mark));
    let (label, number, _keeps) = (s.options.label.copied(), s.number, lead.take_keeps());
    Box::new(Extra { ahead, _keeps, elsewhere, timer, submitted, label, number })
}

/// As [`enqueue`], for a dispatch that is late or has several devices.
pub(crate) fn enqueue_on<'t, 'x>(
    s: &mut Submission<'_, '_, '_>,
    on_slots: (&mut OnSlot<'t, 'x>, &mut [OnSlot<'t, 'x>]),
    input: &EnqueueInput<'_>,
    retired: &mut Retired,
) -> Result<Enqueued, NotEnqueued> {
    enqueue(s, on_slots, input, retired)
}

/// Runs the op's CUDA half, and enqueues the copy of its result. Returns its error. (A `Result` that is passed on would be
/// as large as an `Error`, and copied at every step.)
#[inline(always)]
fn half(
    s: &mut Submission<'_, '_, '_>,
    (lead, others): (&mut OnSlot<'_, '_>, &mut [OnSlot<'_, '_>]),
    input: &EnqueueInput<'_>,
) -> Option<Error> {
    let raw_bytes = s.facts.raw_bytes;
    let mut half = || {
        if let Some(relay) = s.relay.as_ref().filter(|_| input.phase == 0) {
            relay.inject_fault()?;
        }
        let is_alone = others.is_empty();
        let mut others = Others { on_slots: &mut *others, input };
        let elsewhere: Option<&mut dyn OtherQueues> = if is_alone { None } else { Some(&mut others) };
        s.call.half(lead.queue(input, raw_bytes, elsewhere).untyped())
    };
    if let Err(error) = caught(&mut half) {
        return Some(error);
    }
    if raw_bytes > 0 { lead.queue(input, raw_bytes, None).bring_result().err() } else { None }
}

/// Runs the code of the op's author.
fn caught(half: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(half)).unwrap_or_else(|_| {
        Err(Error::Panicked { message: "while it enqueued its CUDA work".into(), site: Site::none() })
    })
}

/// Begins on the devices other than the lead.
#[cold]
fn begin_elsewhere(
    others: &mut [OnSlot<'_, '_>],
    names: (&'static &'static str, Option<&'static &'static str>),
    retired: &mut Retired,
) -> Result<()> {
    others.iter_mut().try_for_each(|other| other.begin(names, retired).map(drop))
}

/// Records the ends of a dispatch over several devices.
///
/// If its half has failed, it did not say to the end which device follows which, and work on one device may still use the
/// memory of another. So each stream follows all others first. If not even that is possible, this waits for the streams:
/// the work must not count as done on a device whose memory another one uses.
#[cold]
fn end_each<'t, 'x>(lead: &mut OnSlot<'t, 'x>, others: &mut [OnSlot<'t, 'x>], failure: &mut Option<Error>) {
    let mut all: Vec<&mut OnSlot<'t, 'x>> = std::iter::once(lead).chain(others).collect();
    if failure.is_some() {
        let events = all.iter_mut().map(|on_slot| on_slot.step()).collect::<Result<Vec<_>>>();
        let joined = events.and_then(|events| all.iter().try_for_each(|on_slot| on_slot.follow_all(&events)));
        if joined.is_err() {
            all.iter().for_each(|on_slot| on_slot.drain());
        }
    }
    all.iter_mut().for_each(|on_slot| on_slot.record_bound(failure));
}

/// Publishes the ends on the devices other than the lead.
#[cold]
fn publish_elsewhere(others: &mut [OnSlot<'_, '_>], failure: Option<&Error>) -> Elsewhere {
    let ends: Vec<_> = others.iter_mut().map(|other| (other.publish(failure, false), other.take_keeps())).collect();
    Elsewhere { rings: Rings::new(1 + ends.len()), ends }
}

impl Enqueued {
    /// The op becomes the task of the dispatch.
    #[inline(always)]
    pub(crate) fn finish(
        self,
        call: &mut Call<'_>,
        (lead, others): (&mut OnSlot<'_, '_>, &mut [OnSlot<'_, '_>]),
        plans: &[AnyPlan],
    ) -> Result<(), NotEnqueued> {
        let mut cargo = call.become_task(self.task)?;
        // Most dispatches have no plan, or one, and their ring keeps nothing else of them.
        for plan in plans {
            match cargo {
                None => cargo = Some(plan.clone()),
                Some(_) => lead.keep_beside(plan.clone()),
            }
        }
        for other in others {
            other.keep(cargo.clone());
        }
        lead.keep(cargo);
        match self.failure {
            None => Ok(()),
            Some(error) => Err(NotEnqueued::Touched(error)),
        }
    }

    /// The op stays with its submitter, which enqueues another phase.
    pub(crate) fn go_on(self, on_slot: &mut OnSlot<'_, '_>, plans: &[AnyPlan]) -> Result<Arc<PhaseTask>, NotEnqueued> {
        let leg = Arc::new(PhaseTask { core: self.task });
        plans.iter().for_each(|plan| on_slot.keep_beside(plan.clone()));
        on_slot.keep(Some(leg.clone()));
        match self.failure {
            None => Ok(leg),
            Some(error) => Err(NotEnqueued::Touched(error)),
        }
    }
}

/// The slots of the devices other than the lead, as the op's CUDA half sees them.
struct Others<'o, 't, 'x> {
    on_slots: &'o mut [OnSlot<'t, 'x>],
    input: &'o EnqueueInput<'o>,
}

impl OtherQueues for Others<'_, '_, '_> {
    fn count(&self) -> usize {
        self.on_slots.len()
    }

    fn queue(&mut self, index: usize) -> Option<Queue<'_>> {
        let on_slot = self.on_slots.get_mut(index)?;
        Some(on_slot.queue(self.input, 0, None))
    }
}
