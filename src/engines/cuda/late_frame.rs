//! All of work that a helper enqueues that does not depend on its op: see `late_submit.rs`.

use super::Core;
use super::late::{Ends, Late};
use super::late_enqueue::Behind;
use super::members::Member;
use super::plans::Cell;
use super::slot::Mark;
use super::staging::Patience;
use super::task::Leg;
use super::under_lease::{Phase, Undone};
use crate::buffer::Views;
use crate::clock::{self, Deadline};
use crate::device::Options;
use crate::dispatch::{Backoff, Call, Facts, Ongoing, Submission, Wait, is_stealing, steal_one};
use crate::engine::{Completion, Epoch};
use crate::host::{Core as Settled, Runnable};
use crate::op::plan::AnyPlan;
use crate::op::{Kind, Made, Make, Next, guarded};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::trace::Event;
use crate::worker::Relay;
use crate::{Error, Result};
use smallvec::SmallVec;
use std::sync::OnceLock;

/// What it follows, and whether it needs what that wrote.
pub(super) type Edges = SmallVec<[(Completion, bool); 6]>;

/// One that is coming, or came, without its types.
pub(crate) trait LateJob: Runnable {
    fn frame(&self) -> &Frame;
    /// Once it is enqueued; set before it is bound.
    fn enqueued(&self) -> Option<&dyn Ongoing>;
    /// Has it enqueued: gives its op and operands to `how`, once, and keeps the task that they have become where all went
    /// well. A panic is an error.
    fn enqueue(&self, how: &mut dyn FnMut(&mut dyn Call) -> Result<()>) -> Result<()>;
}

/// All of it that does not depend on its op.
pub(crate) struct Frame {
    late: Arc<Late>,
    core: Arc<Core>,
    pub(super) epoch: Arc<Epoch>,
    facts: &'static Facts,
    /// In the flow of what is late.
    pub(super) number: u64,
    /// For traces.
    traced: u64,
    options: Options,
    /// The half runs, or ran.
    begun: AtomicBool,
    /// Why it failed; set before it is bound.
    error: OnceLock<Error>,
    /// It failed after something was enqueued, up to here.
    touched: OnceLock<Mark>,
    /// Until somebody enqueues it.
    work: Mutex<Option<Work>>,
    /// The buffers that it made. (Not in the ring, which must hold no epoch.)
    made: Mutex<Made>,
}

/// What the enqueue takes.
pub(super) struct Work {
    pub(super) relay: Option<Relay>,
    pub(super) edges: Edges,
    pub(super) plans: SmallVec<[Cell; 1]>,
    /// How many operands there are.
    pub(super) operands: usize,
}

impl Frame {
    pub(super) fn new(core: &Arc<Core>, s: &Submission<'_, '_>, late: Arc<Late>) -> Self {
        Frame {
            late,
            core: core.clone(),
            epoch: s.epoch.clone(),
            facts: s.facts,
            number: core.late.enter(),
            traced: s.number,
            options: *s.options,
            begun: AtomicBool::new(false),
            error: OnceLock::new(),
            touched: OnceLock::new(),
            work: Mutex::new(None),
            made: Mutex::default(),
        }
    }

    /// What it is to enqueue. Before the guard is dropped.
    pub(super) fn give(&self, work: Work) {
        *self.work.lock() = Some(work);
    }

    pub(super) fn take_made(&self, made: &mut Made) {
        *made = std::mem::take(&mut *self.made.lock());
    }

    pub(super) fn settled(&self) -> &Settled {
        self.late.core()
    }

    /// Nothing stands in its way.
    fn may_go(&self) -> Result<()> {
        if self.epoch.dead() {
            return Err(self.epoch.verdict());
        }
        if self.late.core().is_tainted() {
            return Err(Error::upstream("", self.late.core().cause()));
        }
        Ok(())
    }

    /// It is enqueued up to `end`, or came to nothing.
    fn bind(&self, edges: &Edges, end: Option<Mark>, failure: Option<Error>) {
        let upstream = matches!(failure, Some(Error::Upstream { .. }));
        let ends: Ends = match end {
            Some(mark) => {
                if failure.is_some() {
                    let _ = self.touched.set(mark.clone());
                }
                SmallVec::from_iter([mark])
            }
            None => edges.iter().flat_map(|(edge, _)| edge.marks()).filter(|mark| !mark.is_past()).cloned().collect(),
        };
        let outcome = match failure {
            None => Ok(()),
            Some(error) => {
                self.epoch.counters.count_error(&error);
                let _ = self.error.set(error.clone());
                if self.facts.preserves_on_failure && !upstream { Ok(()) } else { Err(error) }
            }
        };
        self.late.bind(ends, outcome);
        self.core.late.leave(self.number);
        self.core.housekeeper.nudge.nudge(); // somebody must see the end of it, also when nobody waits
    }

    /// An error, with the numbers that only the driver knew when it said so.
    fn with_numbers(&self, error: Error) -> Error {
        match self.epoch.engine.as_cuda() {
            Some(engine) => engine.with_numbers(&self.epoch, error),
            None => error,
        }
    }

    /// Waits until a phase is over. (It has its thread and its stream for itself, and of both there are few: a kernel that
    /// never ends keeps them.)
    fn await_phase<'l>(&self, leg: Option<&'l Leg>, end: Option<&Mark>) -> Result<&'l Leg> {
        let (Some(leg), Some(end)) = (leg, end) else {
            return Err(Error::library("the completion of a phase was not recorded"));
        };
        end.outlast();
        if end.is_past() { Ok(leg) } else { Err(self.epoch.verdict()) }
    }

    /// It failed, and what it did enqueue is over; or nobody will ever know.
    fn has_failed(&self) -> bool {
        let over = || self.touched.get().is_none_or(|mark| mark.poll() || mark.slot.over());
        (self.late.is_bound() && self.error.get().is_some() && over()) || self.epoch.dead()
    }

    pub(super) fn error(&self) -> Error {
        let error = self.error.get().cloned();
        error.unwrap_or_else(|| self.locate(self.epoch.verdict()))
    }

    fn locate(&self, error: Error) -> Error {
        error.in_op(self.facts.name, self.facts.library).locate(|site| {
            site.set_device(self.epoch.label.to_string(), self.epoch.generation);
        })
    }

    /// Looks now and then until that is so, or the time is out.
    fn wait(&self, how: Wait, until: Option<Deadline>, is_so: &dyn Fn() -> bool) -> bool {
        let mut backoff = Backoff::new(&self.epoch.timing.waits);
        loop {
            if is_so() {
                return true;
            }
            if clock::is_over(until) {
                return is_so(); // much may have happened between that look and this one at the clock
            }
            match how {
                Wait::Spin => std::hint::spin_loop(),
                Wait::Yield => std::thread::yield_now(),
                Wait::Rayon if !is_stealing() && steal_one() => backoff = Backoff::new(&self.epoch.timing.waits),
                _ => backoff.pause(until),
            }
        }
    }

    /// The enqueue, on a helper or on the submitter's thread. Gives where it ends even when it failed.
    fn carry_out(
        &self,
        call: &mut dyn Call,
        work: &mut Work,
        member: Option<&Member<'_>>,
        end: &mut Option<Mark>,
    ) -> Result<()> {
        let Frame { core, epoch, options, .. } = self;
        let unbuilt = || Err(Error::library("the plan was not built"));
        let plan = |cell: &Cell| cell.get().cloned().unwrap_or_else(unbuilt);
        let plans = work.plans.iter().map(plan).collect::<Result<SmallVec<[AnyPlan; 1]>>>()?;
        let (mut made, mut index, mut is_last) = (Made::default(), 0, self.facts.kind != Kind::Phased);
        self.begun.store(true, Ordering::Release);
        loop {
            let mut leg = None;
            let outcome = {
                let views: Views<'_> = made.views().collect();
                let mut s = Submission::new(&mut *call, epoch, options, (&views, 0));
                (s.relay, s.was_admitted, s.number) = (work.relay.take(), true, self.traced);
                let mut enqueue = |patience| {
                    let of = Behind { edges: &work.edges, operands: work.operands, member, patience, plans: &plans };
                    let phase = Phase { index, made: Some(&made), leg: (!is_last).then_some(&mut leg) };
                    core.enqueue_behind(&mut s, &of, phase, end)
                };
                let outcome = match enqueue(Patience::None) {
                    // As of a dispatch that is not late; nothing was enqueued.
                    Err(Undone::Untouched(Error::OutOfMemory { limit, .. })) => {
                        if limit == 0 {
                            core.give_back(epoch)?;
                        }
                        enqueue(Patience::Some)
                    }
                    outcome => outcome,
                };
                work.relay = s.relay.take();
                outcome
            };
            match outcome {
                Ok(()) => {
                    made.let_scratch_go();
                    *self.made.lock() = made;
                    return Ok(());
                }
                Err(Undone::Between) => {}
                Err(undone) => return Err(self.with_numbers(undone.error())),
            }
            let leg = self.await_phase(leg.as_deref(), end.as_ref())?;
            is_last = call.next(index, leg, &mut Make::new(epoch, &mut made))? == Next::Last;
            index += 1;
        }
    }
}

/// Enqueues it, or parks it until a stream is free for it.
pub(super) fn run(task: Arc<dyn LateJob>) {
    let job: Arc<dyn Runnable> = task.clone();
    let frame = task.frame();
    let mut member = match frame.may_go() {
        Ok(()) => match frame.core.pool_of(frame.facts) {
            Some(pool) => match frame.core.member(pool, &frame.epoch, &job) {
                Ok(None) => return,
                member => member,
            },
            None => Ok(None),
        },
        Err(error) => Err(error),
    };
    let Some(mut work) = frame.work.lock().take() else { return };
    let mut end = None;
    // Of the user's code there are the op's half and a trace.
    let outcome = task.enqueue(&mut |call| {
        let member = std::mem::replace(&mut member, Ok(None))?;
        frame.carry_out(call, &mut work, member.as_ref(), &mut end)?;
        if let Some(trace) = frame.epoch.counters.trace() {
            let slot = end.as_ref().map(|end| end.slot.index);
            trace.emit(Event::AfterEnqueue, &call.info(frame.options.label, slot)?.numbered(frame.traced));
        }
        Ok(())
    });
    let Work { relay, edges, .. } = work;
    drop(relay);
    frame.bind(&edges, end, outcome.err().map(|error| frame.locate(error)));
}

/// A dependency of it is done.
pub(super) fn dep_done(task: Arc<dyn LateJob>) {
    let frame = task.frame();
    if frame.settled().dep_done() {
        let core = frame.core.clone();
        core.helpers.push(task);
    }
}

impl dyn LateJob + '_ {
    pub(super) fn is_settled_now(&self) -> bool {
        match self.enqueued() {
            Some(task) => task.is_settled(),
            // It may have been enqueued since.
            None => self.frame().has_failed() && self.enqueued().is_none_or(|task| task.is_settled()),
        }
    }

    /// It is enqueued, or failed.
    pub(super) fn wait_enqueued(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.frame().wait(how, until, &|| self.enqueued().is_some() || self.frame().has_failed())
    }

    pub(super) fn await_end(&self, how: Wait, until: Option<Deadline>) -> bool {
        if !self.wait_enqueued(how, until) {
            return false;
        }
        match self.enqueued() {
            Some(task) => task.wait(how, until),
            None => true,
        }
    }

    /// The error, unless it is enqueued.
    pub(super) fn await_enqueued(&self) -> Result<&dyn Ongoing> {
        self.wait_enqueued(Wait::Adaptive, None);
        self.enqueued().ok_or_else(|| self.frame().error())
    }

    #[cfg(target_os = "linux")]
    pub(super) fn may_begin(&self) -> bool {
        match self.enqueued() {
            Some(task) => task.may_run(),
            // A call that blocks is at work before it is enqueued.
            None => self.frame().facts.kind != Kind::Enqueue && self.frame().begun.load(Ordering::Acquire),
        }
    }
}

/// Runs it with a panic as an error.
pub(super) fn carried(how: &mut dyn FnMut(&mut dyn Call) -> Result<()>, call: &mut dyn Call) -> Result<()> {
    guarded(&mut || how(call))
}
