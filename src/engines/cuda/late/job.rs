//! The enqueue of a late dispatch: steps 3 to 6 of `dispatch/mod.rs`, when all that it follows is bound.
//!
//! What depends on its op is in `task.rs`.

use super::submit::{Edges, Frame, LateJob, Work};
use crate::core::buffer::Views;
use crate::core::clock::{self, Deadline};
use crate::core::dispatch::{Backoff, Ongoing, Wait, is_stealing, steal_one};
use crate::core::error::{Error, Result};
use crate::core::op::{Made, Make, Next, OpKind, guarded};
use crate::core::order::{Completion, Runnable};
use crate::core::sync::{Arc, Ordering};
use crate::core::trace::Event;
use crate::engines::cuda::code::Cell;
use crate::engines::cuda::dispatch::DeviceOperands;
use crate::engines::cuda::dispatch::{EnqueueInput, Enqueued, NotEnqueued, enqueue_on};
use crate::engines::cuda::dispatch::{lease_each, on_slots};
use crate::engines::cuda::memory::Patience;
use crate::engines::cuda::memory::table_staging;
use crate::engines::cuda::streams::Member;
use crate::engines::cuda::streams::Retired;
use crate::engines::cuda::streams::SlotMark;
use crate::engines::cuda::streams::{Choice, Place};
use crate::engines::cuda::wait::PhaseTask;
use crate::engines::dispatch::{Call, Submission};
use crate::engines::op::plan::AnyPlan;
use smallvec::SmallVec;

/// For each device, the stream that is held for it.
type Members<'f> = SmallVec<[Option<Member<'f>>; 1]>;

/// For each device, where the last phase ends there; `None` if nothing was enqueued.
type PhaseEnds = SmallVec<[Option<SlotMark>; 1]>;

impl Frame {
    /// Why one of its devices is gone.
    fn verdict(&self) -> Option<Error> {
        self.shares().find(|share| share.epoch.dead()).map(|share| share.epoch.verdict())
    }

    /// Fails if it must not be enqueued: one of its epochs is dead, or earlier work whose data it needs has failed.
    fn may_go(&self) -> Result<()> {
        if let Some(verdict) = self.verdict() {
            return Err(verdict);
        }
        if self.settled().is_tainted() {
            return Err(Error::upstream("", self.settled().cause()));
        }
        Ok(())
    }

    /// Binds it on all devices. `ends`: where the enqueued work ends.
    fn bind(&self, edges: &[Edges], ends: &PhaseEnds, failure: Option<Error>) {
        let outcome = match failure {
            None => Ok(()),
            Some(error) => {
                let _ = self.touched.set(ends.iter().flatten().cloned().collect());
                self.lead.epoch.counters.count_error(&error);
                let _ = self.error.set(error.clone());
                let upstream = matches!(error, Error::Upstream { .. });
                if self.facts.preserves_on_failure && !upstream { Ok(()) } else { Err(error) }
            }
        };
        for (index, share) in self.shares().enumerate() {
            let end = ends.get(index).and_then(Option::as_ref);
            share.bind(end, edges.get(index).unwrap_or(&Edges::new()), outcome.clone());
        }
    }

    /// The same error; if the driver ran out of memory, with the numbers of bytes that the driver knows.
    fn with_numbers(&self, error: Error) -> Error {
        match self.lead.epoch.engine.as_cuda() {
            Some(engine) => engine.with_numbers(&self.lead.epoch, error),
            None => error,
        }
    }

    /// Waits until a phase has completed. (It occupies its thread and its stream meanwhile, and there are few of both:
    /// a kernel that never ends keeps them.)
    fn await_phase(&self, end: Option<&Option<SlotMark>>) -> Result<()> {
        let Some(Some(end)) = end else {
            return Err(Error::library("the event at the end of a phase could not be recorded"));
        };
        end.outlast();
        if end.is_past() { Ok(()) } else { Err(self.lead.epoch.verdict()) }
    }

    /// Whether it failed, and what it had enqueued has completed. Also true if an epoch is dead or a slot is over: then
    /// the completion can no longer be observed.
    fn has_failed(&self) -> bool {
        let over = || self.touched.get().is_none_or(|ends| ends.iter().all(|mark| mark.poll() || mark.slot.over()));
        (self.lead.late().is_bound() && self.error.get().is_some() && over()) || self.verdict().is_some()
    }

    pub(crate) fn error(&self) -> Error {
        let error = self.error.get().cloned();
        error.unwrap_or_else(|| self.locate(self.verdict().unwrap_or_else(|| self.lead.epoch.verdict())))
    }

    fn locate(&self, error: Error) -> Error {
        error.in_op(self.facts.name, self.facts.library).locate(|site| {
            site.set_device(self.lead.epoch.label.to_string(), self.lead.epoch.generation);
        })
    }

    /// Polls until `is_so` returns true, or until the deadline. Returns the last answer of `is_so`.
    fn wait(&self, how: Wait, until: Option<Deadline>, is_so: &dyn Fn() -> bool) -> bool {
        let waits = &self.lead.epoch.timing.waits;
        let mut backoff = Backoff::new(waits);
        loop {
            if is_so() {
                return true;
            }
            if clock::is_over(until) {
                return is_so(); // it may have become true between the check above and the look at the clock
            }
            match how {
                Wait::Spin => std::hint::spin_loop(),
                Wait::Yield => std::thread::yield_now(),
                Wait::Rayon if !is_stealing() && steal_one() => backoff = Backoff::new(waits),
                _ => backoff.pause(until),
            }
        }
    }

    /// For each device, a stream that a call may block on, if the op needs one and has no stream of its own. `None`: one
    /// of them is held by another job, and this one was parked.
    fn members(&self, job: &Arc<dyn Runnable>) -> Result<Option<Members<'_>>> {
        let mut members = Members::new();
        for share in self.shares() {
            let pool = if share.seat.is_none() { share.core.streams.pool_of(self.facts) } else { None };
            let member = match pool.map(|pool| share.core.streams.member(pool, &share.epoch, job)).transpose()? {
                Some(None) => return Ok(None), // gives back those that were taken
                member => member.flatten(),
            };
            members.push(member);
        }
        Ok(Some(members))
    }

    /// The enqueue, on a helper or on the submitting thread. Sets `ends`, even if it fails.
    fn carry_out(
        &self,
        call: &mut Call<'_>,
        work: &mut Work,
        members: &Members<'_>,
        ends: &mut PhaseEnds,
    ) -> Result<()> {
        let unbuilt = || Err(Error::library("internal error: a plan was used before it was built"));
        let plan = |cell: &Cell| cell.get().cloned().unwrap_or_else(unbuilt);
        let plans = work.plans.iter().map(plan).collect::<Result<SmallVec<[AnyPlan; 1]>>>()?;
        let (mut made, mut phase, mut is_last) = (Made::default(), 0, self.facts.kind != OpKind::Phased);
        let traced = self.lead.epoch.counters.trace().is_some();
        let label = self.options.label.copied();
        self.begun.store(true, Ordering::Release);
        loop {
            let views: Views<'_> = made.views().collect();
            let mut s = Submission::new(&mut *call, self.facts, &self.lead.epoch, &self.options, (&views, 0));
            (s.relay, s.was_admitted, s.number) = (work.relay.take(), true, self.traced);
            let input = EnqueueInput { traced, plans: &plans, phase, made: Some(&made) };
            let mut enqueue = |patience| self.enqueue_phase(&mut s, work, (members, patience), (&input, is_last), ends);
            let outcome = match enqueue(Patience::None) {
                // As for a dispatch that is not late (`submit.rs`); nothing was enqueued.
                Err(NotEnqueued::Untouched(Error::OutOfMemory { limit, .. })) => {
                    if limit == 0 {
                        self.give_back()?;
                    }
                    enqueue(Patience::Some)
                }
                outcome => outcome,
            };
            work.relay = s.relay.take();
            drop(views);
            let Some(leg) = outcome.map_err(|not_enqueued| self.with_numbers(not_enqueued.error()))? else {
                made.let_scratch_go();
                *self.made.lock() = made;
                return Ok(());
            };
            self.await_phase(ends.first())?;
            is_last =
                call.next(phase, leg.landing(), &mut Make::new(&self.lead.epoch, label, &mut made))? == Next::Last;
            phase += 1;
        }
    }

    /// Gives unused memory back to the drivers.
    fn give_back(&self) -> Result<()> {
        self.shares().try_for_each(|share| share.core.give_back(&share.epoch))
    }

    /// Takes the leases and enqueues one phase. On each device it follows what the dispatch must follow there, which is
    /// bound by now, and the end of the phase before. Returns the phase, unless it is the last.
    fn enqueue_phase(
        &self,
        s: &mut Submission<'_, '_, '_>,
        work: &Work,
        (members, patience): (&Members<'_>, Patience),
        (input, is_last): (&EnqueueInput<'_>, bool),
        ends: &mut PhaseEnds,
    ) -> Result<Option<Arc<PhaseTask>>, NotEnqueued> {
        let (lead, operands) = (&self.lead.core, work.operands);
        let landed = lead.memory.landing(s.facts, s.epoch)?;
        let staging = match s.facts.listed && operands > table_staging::MOST_WITHOUT {
            true => Some(lead.table_staging(s.epoch, operands, patience)?),
            false => None,
        };
        let mut places: SmallVec<[Place<'_, '_>; 1]> = SmallVec::new();
        for (index, share) in self.shares().enumerate() {
            let held = members.get(index).and_then(Option::as_ref).map(|member| Choice::Held(member.slot));
            let slot = held.or(share.seat.map(Choice::Seat)).unwrap_or(Choice::Any);
            // The operands have their end already. The lead's has the buffers that its earlier phases made.
            let views = if index == 0 { s.views } else { &[] };
            let operands = DeviceOperands { epoch: &share.epoch, views, ..DeviceOperands::from_submission(s) };
            let mut place = Place::new(&share.core, operands, slot);
            let mut add = |end: &Completion| {
                let _ = share.core.streams.add(end, &mut place.follows); // bound by now
            };
            work.edges.get(index).into_iter().flatten().for_each(|(edge, _)| add(edge));
            views.iter().for_each(|view| view.region.history.lock().all().for_each(&mut add));
            let end = ends.get(index).and_then(Option::as_ref);
            place.follows.extend(end.filter(|end| !end.is_past()).map(|end| end.followed()));
            places.push(place);
        }
        let mut retired = Retired::new();
        let leases = lease_each(&mut places)?;
        let mut on_slots = on_slots(&places, leases, landed);
        let Some((lead, others)) = on_slots.split_first_mut() else { return Ok(None) };
        let has_staging = staging.map(|staging| *lead.lease.state.tables.staging() = staging).is_some();
        let enqueued = enqueue_on(s, (lead, others), input, &mut retired);
        let outcome = enqueued.and_then(|enqueued: Enqueued| match is_last {
            true => enqueued.finish(&mut *s.call, (lead, others), input.plans).map(|()| None),
            false => enqueued.go_on(lead, input.plans).map(Some),
        });
        if has_staging {
            *lead.lease.state.tables.staging() = table_staging::TableStaging::default();
        }
        for (index, on_slot) in on_slots.iter().enumerate() {
            match (on_slot.end(), ends.get_mut(index)) {
                (Some(end), Some(place)) => *place = Some(end),
                (Some(end), None) => ends.push(Some(end)),
                (None, _) => {}
            }
        }
        drop(on_slots);
        retired.iter().for_each(|cargo| cargo.retire());
        outcome
    }
}

/// Enqueues it, or parks it until a stream of its pool is free.
pub(crate) fn run(task: Arc<dyn LateJob>) {
    let job: Arc<dyn Runnable> = task.clone();
    let frame = task.frame();
    let mut members = match frame.may_go().and_then(|()| frame.members(&job)) {
        Ok(Some(members)) => Ok(members),
        Ok(None) => return,
        Err(error) => Err(error),
    };
    let Some(mut work) = frame.work.lock().take() else { return };
    let (mut ends, mut told) = (PhaseEnds::new(), None);
    // The user's code that runs in this call: the op's CUDA half, and what it tells a trace.
    let outcome = task.enqueue(&mut |call| {
        let members = std::mem::replace(&mut members, Ok(Members::new()))?;
        frame.carry_out(call, &mut work, &members, &mut ends)?;
        if frame.lead.epoch.counters.trace().is_some() {
            let slot = ends.first().and_then(Option::as_ref).map(|end| end.slot.index);
            told = Some(call.info(frame.options.label.copied(), slot)?.numbered(frame.traced));
        }
        Ok(())
    });
    let Work { relay, edges, .. } = work;
    drop(relay);
    let has_failed = outcome.is_err();
    let failure = outcome.err().map(|error| frame.locate(error));
    let bind = || frame.bind(&edges, &ends, failure);
    // Of the collectives in a row, each becomes ready when the one before is bound: no other thread is woken for it.
    if frame.facts.pooled && frame.lead.epoch.counters.trace().is_none() {
        frame.lead.core.late.helpers().at_end_of_turn(bind);
    } else {
        bind();
    }
    // Not before it is bound, and without its lock: a hook may wait for what follows it.
    if let (Some(trace), Some(info), false) = (frame.lead.epoch.counters.trace(), told, has_failed) {
        trace.emit(Event::AfterEnqueue, &info);
    }
}

/// One of its dependencies is done. The last one queues it on the helpers.
pub(crate) fn dep_done(task: Arc<dyn LateJob>) {
    let frame = task.frame();
    if frame.settled().dep_done() {
        let core = frame.lead.core.clone();
        core.late.helpers().push(task);
    }
}

impl dyn LateJob + '_ {
    pub(crate) fn is_settled_now(&self) -> bool {
        match self.enqueued() {
            Some(task) => task.is_settled(),
            // It may have been enqueued since the check above.
            None => self.frame().has_failed() && self.enqueued().is_none_or(|task| task.is_settled()),
        }
    }

    /// Waits until it is enqueued or has failed. False if the deadline passes first.
    pub(crate) fn wait_enqueued(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.frame().wait(how, until, &|| self.enqueued().is_some() || self.frame().has_failed())
    }

    pub(crate) fn await_end(&self, how: Wait, until: Option<Deadline>) -> bool {
        if !self.wait_enqueued(how, until) {
            return false;
        }
        match self.enqueued() {
            Some(task) => task.wait(how, until),
            None => true,
        }
    }

    /// Waits until it is enqueued, and returns its task. If it failed, returns the error.
    pub(crate) fn await_enqueued(&self) -> Result<&dyn Ongoing> {
        self.wait_enqueued(Wait::Adaptive, None);
        self.enqueued().ok_or_else(|| self.frame().error())
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn may_begin(&self) -> bool {
        match self.enqueued() {
            Some(task) => task.may_run(),
            // The work of a call that blocks begins before its enqueue is complete.
            None => self.frame().facts.kind != OpKind::Enqueue && self.frame().begun.load(Ordering::Acquire),
        }
    }
}

/// Calls `how`. A panic becomes an error.
pub(crate) fn carried(how: &mut dyn FnMut(&mut Call<'_>) -> Result<()>, call: &mut Call<'_>) -> Result<()> {
    guarded(&mut || how(call))
}
