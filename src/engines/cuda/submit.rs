//! A dispatch on a GPU: steps 3 to 6 of `dispatch/mod.rs`.

use super::api::Code;
use super::follow::Follows;
use super::gate::Gate;
use super::lease::Lease;
use super::memory::FREES_PER_LEASE;
use super::reclaim::free_some;
use super::ring::Retired;
use super::room;
use super::slot::{Mark, Shared, State};
use super::staging::Patience;
use super::task::{CudaTask, Extra, Flight, Landed, Leg};
use super::timer::Timer;
use super::{Core, CudaEngine, Enqueue, fault};
use crate::buffer::{Content, Track, View};
use crate::dispatch::raw::Raw;
use crate::dispatch::{Backoff, Submission, TaskOf};
use crate::engine::{Completion, Epoch};
use crate::error::Site;
use crate::op::plan::AnyPlan;
use crate::op::{Contained, Keeps, Kind, Made, Op, Prepare};
use crate::sync::{Arc, Ordering};
use crate::trace::{Event, OpInfo};
use crate::{Error, Result};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl CudaEngine {
    pub(crate) fn submit<O: Op>(&self, mut s: Submission<'_, '_, O>) -> Result<TaskOf<O>> {
        let core = &self.core;
        let mut needs = core.plans.needs();
        if O::PREPARED {
            let (reads, writes) = s.spans()?;
            s.op()?.prepare(reads, writes, &mut Prepare(&mut needs));
        }
        let mut plans = needs.ready();
        if let Some(trace) = s.epoch.counters.trace() {
            trace.emit(Event::BeforeEnqueue, &OpInfo::of(s.op()?, s.options.label, None));
        }
        let Some(plans) = plans.take().filter(|_| O::KIND == Kind::Enqueue && !O::POOLED.said()) else {
            return core.submit_late(s, needs.all);
        };
        let outcome = match core.submit(&mut s, Patience::None, &plans) {
            // A library that could not make its handle for want of memory has enqueued nothing: after the ladder's
            // driver-side rungs it may be able to. Nor has who found no staging, which tells its limit.
            Err(Undone::Untouched(Error::OutOfMemory { limit, .. })) => {
                if limit == 0 {
                    core.give_back(s.epoch)?;
                }
                core.submit(&mut s, Patience::Some, &plans)
            }
            outcome => outcome,
        };
        match outcome {
            Ok(task) => Ok(task),
            Err(Undone::Late) if O::FROM_PEER.said() => self.submit_when_bound(s),
            Err(Undone::Late) => core.submit_late(s, needs.all),
            Err(undone) => Err(self.told(s.epoch, undone.error())),
        }
    }

    /// A copy between devices behind what is not enqueued yet: waits here until it is. (Each of the two devices would have
    /// to remember an end of its own, of work that is not enqueued.)
    #[cold]
    fn submit_when_bound<O: Op>(&self, mut s: Submission<'_, '_, O>) -> Result<TaskOf<O>> {
        let mut backoff = Backoff::new(&self.core.timing.waits);
        loop {
            if Around::of(&s).is_bound()? {
                match self.core.submit(&mut s, Patience::Some, &[]) {
                    Ok(task) => return Ok(task),
                    Err(Undone::Late) => {}
                    Err(undone) => return Err(self.told(s.epoch, undone.error())),
                }
            }
            backoff.pause(None);
        }
    }

    /// An error, with the numbers that only the driver knew when it said so. Staging has told its own.
    pub(super) fn told(&self, epoch: &Arc<Epoch>, error: Error) -> Error {
        match error {
            Error::OutOfMemory { total: 0, limit: 0, .. } => self.describe(epoch, error),
            other => other,
        }
    }
}

/// A submission without its op: all that most of the way of a dispatch looks at, which so is compiled once.
#[derive(Clone, Copy)]
pub(super) struct Around<'a, 'x> {
    pub(super) epoch: &'a Arc<Epoch>,
    pub(super) views: &'a [View<'x>],
    pub(super) read_count: usize,
    /// A failure leaves what it writes as it was.
    pub(super) spares: bool,
}

impl<'a, 'x> Around<'a, 'x> {
    pub(super) fn of<O: Op>(s: &Submission<'a, 'x, O>) -> Self {
        Around { epoch: s.epoch, views: s.views, read_count: s.read_count, spares: O::SPARES.said() }
    }
}

/// An enqueue that came to nothing.
pub(super) enum Undone {
    /// Nothing was enqueued at all: it may be tried again.
    Untouched(Error),
    /// Something may have been enqueued; and where it was, its end is recorded.
    Touched(Error),
    /// What it must follow is not enqueued yet.
    Late,
    /// It was one phase of several, and is enqueued: the op stays with who submits it.
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
            Undone::Late | Undone::Between => Error::library("it follows nothing, and has one phase"),
        }
    }
}

/// What an enqueue is given beside the op and its operands.
pub(super) struct Given<'a> {
    pub(super) landed: Landed,
    pub(super) traced: bool,
    pub(super) plans: &'a [AnyPlan],
    pub(super) phase: Phase<'a>,
}

/// Which phase of an op it is; most have one.
#[derive(Default)]
pub(super) struct Phase<'a> {
    pub(super) index: usize,
    pub(super) made: Option<&'a Made>,
    /// Where it goes if it is not the last one.
    pub(super) leg: Option<&'a mut Option<Arc<Leg>>>,
}

/// The op and its flight where they stay. The op is copied there at once, and not by way of the stack.
fn placed<O: Op>(s: &mut Submission<'_, '_, O>, flight: Flight) -> Result<Arc<CudaTask<O>>> {
    let op = s.take_op()?;
    let place = Arc::<CudaTask<O>>::new_uninit();
    // SAFETY: room for a task, which nobody else has yet; `Arc::get_mut` would ask for that with a locked instruction.
    unsafe {
        Arc::as_ptr(&place).cast_mut().cast::<CudaTask<O>>().write(CudaTask { op: Contained::new(op), flight });
        Ok(place.assume_init())
    }
}

/// Runs an op's CUDA half.
fn caught(half: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(half))
        .unwrap_or_else(|_| Err(Error::Panicked { message: "in its CUDA half".into(), site: Site::none() }))
}

/// Keeps another device's epoch from ending.
type Entered<'x> = (&'x Arc<Epoch>, super::blocker::Inside<'x>);

/// A peer copy waits for events of another device's epoch, which must not end meanwhile.
fn foreign<'x>(s: Around<'_, 'x>) -> Result<SmallVec<[Entered<'x>; 1]>> {
    let foreign = s.views.iter().filter(|v| !Arc::ptr_eq(&v.region.epoch, s.epoch));
    let inside: SmallVec<[_; 1]> = foreign
        .filter_map(|view| Some((&view.region.epoch, view.region.epoch.engine.as_cuda()?.core.blockers.enter())))
        .collect();
    for (epoch, _) in &inside {
        epoch.admit()?;
    }
    Ok(inside)
}

impl Core {
    fn submit<O: Op>(
        self: &Arc<Self>,
        s: &mut Submission<'_, '_, O>,
        patience: Patience,
        plans: &[AnyPlan],
    ) -> Result<Arc<CudaTask<O>>, Undone> {
        let (around, label) = (Around::of(s), s.options.label);
        let trace = s.epoch.counters.trace();
        // The target's too: its events are what the sources' streams are made to follow.
        let inside = if O::FROM_PEER.said() { Some((self.blockers.enter(), foreign(around)?)) } else { None };
        let mut end = None;
        let (mut follows, mut retired) = (Follows::new(), Retired::new());
        let given =
            Given { landed: self.landing::<O>(s.epoch)?, traced: trace.is_some(), plans, phase: Phase::default() };
        let room = match const { room::may_need::<O>() } && s.views.len() > room::MOST_WITHOUT {
            true => Some(self.room(s.epoch, s.views.len(), patience)?),
            false => None,
        };
        let gate = if O::GATED.said() { Gate::enter(around) } else { Gate::default() };
        if !self.gather(around, &mut follows) {
            return Err(Undone::Late);
        }
        let mut lease = self.hold(s.epoch, &mut follows)?;
        let index = lease.slot.shared.index;
        let has_room = room.map(|room| *lease.state.tables.room() = room).is_some();
        let result =
            self.enqueue(s, &follows, &mut lease, (&mut retired, O::FROM_PEER.said().then_some(&mut end)), given);
        if has_room {
            *lease.state.tables.room() = room::Room::default();
        }
        drop(lease);
        drop(gate);
        if let Some(end) = end {
            super::peer::follow_back(around, &end);
        }
        drop(inside); // before anything of the user's runs, which may wait for those devices
        retired.iter().for_each(|cargo| cargo.retire());
        let task = result?;
        if let Some(trace) = trace {
            trace.emit(Event::AfterEnqueue, &OpInfo::of(&*task.op, label, Some(index)));
            self.keeper.nudge.nudge(); // somebody must see the completion, also when nobody waits
        }
        Ok(task)
    }

    /// An op without operands on a slot of the caller's choice.
    pub(crate) fn submit_on<O: Op<Reads = (), Output = ()>>(
        self: &Arc<Self>,
        index: usize,
        device: &crate::Device,
        epoch: &Arc<Epoch>,
        op: O,
    ) -> Result<()> {
        let Some(slot) = self.slot(index) else { return Ok(()) };
        let (mut op, mut spans) = (Some(op), Some(((), ())));
        let mut s = Submission::new(&mut op, &mut spans, epoch, device.options(), (&[], 0));
        let mut retired = Retired::new();
        let mut lease = Lease { slot, state: slot.lease.lock() };
        let result = self
            .enqueue(
                &mut s,
                &Follows::new(),
                &mut lease,
                (&mut retired, None),
                Given { landed: Landed::Nothing, traced: false, plans: &[], phase: Phase::default() },
            )
            .map(drop)
            .map_err(Undone::error);
        drop(lease);
        retired.iter().for_each(|cargo| cargo.retire());
        result
    }

    /// Where the op's result is to land.
    pub(super) fn landing<O: Op>(&self, epoch: &Arc<Epoch>) -> Result<Landed> {
        match O::Raw::BYTES {
            0 => Ok(Landed::Nothing),
            _ => self.small_slot(epoch).map(Landed::Slot),
        }
    }

    /// A slot for what must follow this, all of which has an event then.
    pub(super) fn hold(&self, epoch: &Arc<Epoch>, follows: &mut Follows) -> Result<Lease<'_>> {
        let mut lease = self.lease(follows);
        if follows.iter().any(|f| f.must_be_closed(lease.slot.shared.index)) {
            // Leases are taken one at a time, so that two threads cannot wait for each other's.
            drop(lease);
            self.close_open(epoch, follows)?;
            lease = self.lease(follows);
        }
        Ok(lease)
    }

    pub(crate) fn bind(&self, epoch: &Arc<Epoch>) -> Result<super::context::Bound<'_>> {
        self.context.bind().map_err(|code| fault::classify(epoch, code, super::context::BINDING))
    }

    /// Everything under the lease. What was retired is told, and where it ends, if that is asked for.
    pub(super) fn enqueue<O: Op>(
        self: &Arc<Self>,
        s: &mut Submission<'_, '_, O>,
        follows: &Follows,
        lease: &mut Lease<'_>,
        (retired, end): (&mut Retired, Option<&mut Option<Mark>>),
        given: Given<'_>,
    ) -> Result<Arc<CudaTask<O>>, Undone> {
        let (epoch, around) = (s.epoch, Around::of(s));
        let (op, (reads, writes)) = (s.op()?, s.spans()?);
        let (shared, state) = (&lease.slot.shared, &mut *lease.state);
        let name = op.subject().unwrap_or(const { &O::NAME });
        // After the lease was taken: the end of the epoch sets the flag, then takes it.
        if s.was_admitted {
            epoch.go_on()?
        } else {
            epoch.admit()?
        }
        let _bound = self.bind(epoch)?;
        self.begin(around, follows, (shared, state), retired, name)?;
        let timer = if s.options.timed { Some(self.start_timer(epoch, state)?) } else { None };
        let submitted = given.traced.then(|| self.timing.clock.start());
        #[cfg(feature = "nvtx")]
        let _range = super::api::nvtx::range(s.options.label.unwrap_or(name));
        let mut queue = Enqueue::new(
            self,
            epoch,
            (shared, state),
            (reads, writes),
            given.landed,
            (given.plans, given.phase.index, given.phase.made),
        );
        // Not a `Result` that is handed on: it is as long as an error, and would be copied at every turn.
        let mut failure = None;
        let mut half = || {
            if let Some(relay) = s.relay.as_ref().filter(|_| given.phase.index == 0) {
                relay.suffer()?;
            }
            op.cuda(&mut queue)
        };
        if let Err(error) = caught(&mut half) {
            failure = Some(error);
        } else if O::Raw::BYTES > 0
            && let Err(error) = queue.bring_result()
        {
            failure = Some(error);
        }
        let Enqueue { landed, keep, mut kept, scratch, untouched, .. } = queue;
        if !scratch.is_empty() {
            self.free_scratch(&scratch, state);
        }
        if untouched && let Some(error) = failure {
            return Err(Undone::Untouched(error)); // it may be tried once more, and is one dispatch
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
        if let Landed::Staged(staged) = &landed {
            let _ = staged.0.end.set((ticket, event));
        }
        kept.extend(given.plans.iter().cloned());
        let extra = if keep.is_empty() && kept.is_empty() && timer.is_none() && submitted.is_none() && s.relay.is_none()
        {
            None
        } else {
            #[cfg(target_os = "linux")]
            let ahead = if s.relay.is_some() { self.ahead(follows, mark.slot.index) } else { Vec::new() };
            #[cfg(not(target_os = "linux"))]
            let ahead = Vec::new();
            let (submitted, label) = (submitted.filter(|_| failure.is_none()), s.options.label);
            Some(Box::new(Extra { ahead, _keep: keep, _kept: Contained::new(kept), timer, submitted, label }))
        };
        let mut flight = Flight::new(mark, landed, extra);
        if let Some(place) = given.phase.leg {
            let leg = Arc::new(Leg { flight });
            *place = Some(leg.clone());
            state.ring.push(ticket, event, Some(leg));
            return Err(failure.map_or(Undone::Between, Undone::Touched));
        }
        // What need not outlive its pending goes with it: the ring holds the little that the device still needs.
        let keeps = if flight.is_held() { Keeps::ALL } else { s.op_mut()?.keeps() };
        let task = placed(s, flight)?;
        let cargo = keeps.cargo(&task);
        state.ring.push(ticket, event, cargo);
        match failure {
            None => Ok(task),
            Some(error) => Err(Undone::Touched(error)),
        }
    }

    /// Up to the op's CUDA half. The context is current.
    fn begin(
        &self,
        s: Around<'_, '_>,
        follows: &Follows,
        (shared, state): (&Arc<Shared>, &mut State),
        retired: &mut Retired,
        name: &'static &'static str,
    ) -> Result<()> {
        state.reap(shared, 4, retired);
        free_some(shared, state, FREES_PER_LEASE);
        self.follow(s.epoch, follows, shared.index, state)?;
        shared.recent.push(name);
        Ok(())
    }

    /// From the op's CUDA half on. Also after a failure: what did get in is behind a completion, so the buffers can go
    /// back to the caller.
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
            // It is what was made two lines above.
            _ => (Mark { slot: shared.clone(), ticket, event }, code),
        }
    }

    /// Tells the buffers where this work ends, and what they are worth now.
    ///
    /// What this work does not follow stays: through an alias, somebody may have come between the look at a buffer and
    /// this, with work on another part of it.
    fn publish(&self, s: Around<'_, '_>, follows: &Follows, end: &Completion, (ok, failure): (bool, Option<&Error>)) {
        for (i, view) in s.views.iter().enumerate() {
            if i < s.read_count {
                // A peer's buffer is told by a mark of its own device: see `peer.rs`.
                if Arc::ptr_eq(&view.region.epoch, s.epoch) {
                    view.region.track.lock().publish_read(end);
                }
            } else {
                let publish = |track: &mut Track| {
                    view.region.calm.store(false, Ordering::Release);
                    track.publish_write_beside(end, |earlier| self.is_followed(earlier, follows, end));
                };
                // SAFETY: what is written is moved into the dispatch.
                unsafe { view.region.of_owned(publish) };
                if ok {
                    view.written();
                } else if !s.spares {
                    match failure {
                        Some(error) => view.region.worth.fail(error),
                        None => view.region.worth.set(Content::Failed),
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
    fn start_timer(&self, epoch: &Arc<Epoch>, state: &State) -> Result<Timer> {
        let timer = self.timers.timer(self.context.api).map_err(|c| fault::classify(epoch, c, "cuEventCreate"))?;
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
