//! The part of a late dispatch that does not depend on the type of its op: see `late_submit.rs`.

use super::Core;
use super::late::{Ends, Late};
use super::late_enqueue::Behind;
use super::members::Member;
use super::plans::Cell;
use super::slot::Mark;
use super::staging::Patience;
use super::task::Leg;
use super::under_lease::{Phase, Undone};
use crate::core::buffer::Views;
use crate::core::clock::{self, Deadline};
use crate::core::dispatch::Options;
use crate::core::dispatch::{Backoff, Facts, Ongoing, Wait, is_stealing, steal_one};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::plan::AnyPlan;
use crate::core::op::{Made, Make, Next, OpKind, guarded};
use crate::core::order::{Completion, Core as Settled, Runnable};
use crate::core::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::core::trace::Event;
use crate::engines::dispatch::{Call, Submission};
use crate::engines::worker::Relay;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// What a late dispatch follows. The flag of an edge is true if the dispatch needs the data that the earlier work
/// writes.
pub(super) type Edges = SmallVec<[(Completion, bool); 6]>;

/// A late dispatch without its types, before and after it is enqueued.
pub(crate) trait LateJob: Runnable {
    fn frame(&self) -> &Frame;
    /// Its task, once it is enqueued. Set before the dispatch is bound.
    fn enqueued(&self) -> Option<&dyn Ongoing>;
    /// Enqueues it: passes its op and operands to `how`, once, and on success keeps the task that they became. A panic
    /// becomes an error.
    fn enqueue(&self, how: &mut dyn FnMut(&mut dyn Call) -> Result<()>) -> Result<()>;
}

/// The part of a late dispatch that does not depend on the type of its op.
pub(crate) struct Frame {
    late: Arc<Late>,
    core: Arc<Core>,
    pub(super) epoch: Arc<Epoch>,
    facts: &'static Facts,
    /// Its number in `Core::late`, which counts the late dispatches.
    pub(super) number: u64,
    /// Its number in traces.
    traced: u64,
    options: Options,
    /// The CUDA half runs, or has run.
    begun: AtomicBool,
    /// Why it failed. Set before the dispatch is bound.
    error: OnceLock<Error>,
    /// If it failed after something was enqueued: where that ends.
    touched: OnceLock<Mark>,
    /// What the enqueue needs. Taken by the thread that enqueues it.
    work: Mutex<Option<Work>>,
    /// The buffers that its phases made. (They are not kept in the ring, which must hold no `Epoch`.)
    made: Mutex<Made>,
}

/// What the enqueue needs, and consumes.
pub(super) struct Work {
    pub(super) relay: Option<Relay>,
    pub(super) edges: Edges,
    pub(super) plans: SmallVec<[Cell; 1]>,
    /// The number of operands.
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

    /// Sets what the enqueue needs. Call before the guard (the first dependency) is dropped.
    pub(super) fn give(&self, work: Work) {
        *self.work.lock() = Some(work);
    }

    pub(super) fn take_made(&self, made: &mut Made) {
        *made = std::mem::take(&mut *self.made.lock());
    }

    pub(super) fn settled(&self) -> &Settled {
        self.late.core()
    }

    /// Fails if it must not be enqueued: the epoch is dead, or earlier work whose data it needs has failed.
    fn may_go(&self) -> Result<()> {
        if self.epoch.dead() {
            return Err(self.epoch.verdict());
        }
        if self.late.core().is_tainted() {
            return Err(Error::upstream("", self.late.core().cause()));
        }
        Ok(())
    }

    /// Binds it. `end` is where the enqueued work ends; `None` if nothing was enqueued.
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
        self.core.housekeeper.nudge.nudge(); // a sweep must see its completion even if no thread waits for it
    }

    /// The same error; if the driver ran out of memory, with the numbers of bytes that the driver knows.
    fn with_numbers(&self, error: Error) -> Error {
        match self.epoch.engine.as_cuda() {
            Some(engine) => engine.with_numbers(&self.epoch, error),
            None => error,
        }
    }

    /// Waits until a phase has completed. (It occupies its thread and its stream meanwhile, and there are few of both:
    /// a kernel that never ends keeps them.)
    fn await_phase<'l>(&self, leg: Option<&'l Leg>, end: Option<&Mark>) -> Result<&'l Leg> {
        let (Some(leg), Some(end)) = (leg, end) else {
            return Err(Error::library("the event at the end of a phase could not be recorded"));
        };
        end.outlast();
        if end.is_past() { Ok(leg) } else { Err(self.epoch.verdict()) }
    }

    /// Whether it failed, and what it had enqueued has completed. Also true if the epoch is dead or the slot is over:
    /// then the completion can no longer be observed.
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

    /// Polls until `is_so` returns true, or until the deadline. Returns the last answer of `is_so`.
    fn wait(&self, how: Wait, until: Option<Deadline>, is_so: &dyn Fn() -> bool) -> bool {
        let mut backoff = Backoff::new(&self.epoch.timing.waits);
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
                Wait::Rayon if !is_stealing() && steal_one() => backoff = Backoff::new(&self.epoch.timing.waits),
                _ => backoff.pause(until),
            }
        }
    }

    /// The enqueue, on a helper or on the submitting thread. Sets `end` to where it ends, even if it fails.
    fn carry_out(
        &self,
        call: &mut dyn Call,
        work: &mut Work,
        member: Option<&Member<'_>>,
        end: &mut Option<Mark>,
    ) -> Result<()> {
        let Frame { core, epoch, options, .. } = self;
        let unbuilt = || Err(Error::library("internal error: a plan was used before it was built"));
        let plan = |cell: &Cell| cell.get().cloned().unwrap_or_else(unbuilt);
        let plans = work.plans.iter().map(plan).collect::<Result<SmallVec<[AnyPlan; 1]>>>()?;
        let (mut made, mut index, mut is_last) = (Made::default(), 0, self.facts.kind != OpKind::Phased);
        self.begun.store(true, Ordering::Release);
        loop {
            let mut leg = None;
            let outcome = {
                let views: Views<'_> = made.views().collect();
                let mut s = Submission::new(&mut *call, self.facts, epoch, options, (&views, 0));
                (s.relay, s.was_admitted, s.number) = (work.relay.take(), true, self.traced);
                let mut enqueue = |patience| {
                    let of = Behind { edges: &work.edges, operands: work.operands, member, patience, plans: &plans };
                    let phase = Phase { index, made: Some(&made), leg: (!is_last).then_some(&mut leg) };
                    core.enqueue_behind(&mut s, &of, phase, end)
                };
                let outcome = match enqueue(Patience::None) {
                    // As for a dispatch that is not late (`submit.rs`); nothing was enqueued.
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

/// Enqueues it, or parks it until a stream of its pool is free.
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
    let (mut end, mut told) = (None, None);
    // The user's code that runs in this call: the op's CUDA half, and what it tells a trace.
    let outcome = task.enqueue(&mut |call| {
        let member = std::mem::replace(&mut member, Ok(None))?;
        frame.carry_out(call, &mut work, member.as_ref(), &mut end)?;
        if frame.epoch.counters.trace().is_some() {
            let slot = end.as_ref().map(|end| end.slot.index);
            told = Some(call.info(frame.options.label.copied(), slot)?.numbered(frame.traced));
        }
        Ok(())
    });
    let Work { relay, edges, .. } = work;
    drop(relay);
    let has_failed = outcome.is_err();
    frame.bind(&edges, end, outcome.err().map(|error| frame.locate(error)));
    // Not before it is bound, and without its lock: a hook may wait for what follows it.
    if let (Some(trace), Some(info), false) = (frame.epoch.counters.trace(), told, has_failed) {
        trace.emit(Event::AfterEnqueue, &info);
    }
}

/// One of its dependencies is done. The last one queues it on the helpers.
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
            // It may have been enqueued since the check above.
            None => self.frame().has_failed() && self.enqueued().is_none_or(|task| task.is_settled()),
        }
    }

    /// Waits until it is enqueued or has failed. False if the deadline passes first.
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

    /// Waits until it is enqueued, and returns its task. If it failed, returns the error.
    pub(super) fn await_enqueued(&self) -> Result<&dyn Ongoing> {
        self.wait_enqueued(Wait::Adaptive, None);
        self.enqueued().ok_or_else(|| self.frame().error())
    }

    #[cfg(target_os = "linux")]
    pub(super) fn may_begin(&self) -> bool {
        match self.enqueued() {
            Some(task) => task.may_run(),
            // The work of a call that blocks begins before its enqueue is complete.
            None => self.frame().facts.kind != OpKind::Enqueue && self.frame().begun.load(Ordering::Acquire),
        }
    }
}

/// Calls `how`. A panic becomes an error.
pub(super) fn carried(how: &mut dyn FnMut(&mut dyn Call) -> Result<()>, call: &mut dyn Call) -> Result<()> {
    guarded(&mut || how(call))
}
