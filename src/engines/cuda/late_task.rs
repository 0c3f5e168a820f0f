//! Work that a helper enqueues, and its pending: see `late_submit.rs`.

use super::Core;
use super::late::{Ends, Late};
use super::late_enqueue::Behind;
use super::members::Member;
use super::plans::Cell;
use super::slot::Mark;
use super::staging::Patience;
use super::submit::{Phase, Undone};
use super::task::{CudaTask, Leg};
use crate::buffer::Views;
use crate::clock::{self, Deadline, Timing};
use crate::device::Options;
use crate::dispatch::raw::Raw;
#[cfg(target_os = "linux")]
use crate::dispatch::raw::{Leaving, Left};
use crate::dispatch::{Backoff, Parker, SpansOf, Submission, Subscribed, Task, Wait, is_stealing, steal_one};
use crate::engine::{Completion, Epoch};
use crate::host::{Core as Settled, Runnable};
use crate::op::plan::AnyPlan;
use crate::op::{Contained, HostOf, Kind, Made, Make, Next, Op};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
use crate::trace::{Event, OpInfo};
use crate::worker::Relay;
use crate::{Error, Result};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::Duration;

/// What it follows, and whether it needs what that wrote.
pub(super) type Edges = SmallVec<[(Completion, bool); 6]>;

/// One that is coming, or came.
pub(super) struct LateTask<O: Op> {
    frame: Frame,
    /// Until somebody enqueues it.
    work: Mutex<Option<Work<O>>>,
    /// Once it is enqueued; set before it is bound.
    inner: OnceLock<Arc<CudaTask<O>>>,
    /// The buffers that it made. (Not in the ring, which must hold no epoch.)
    made: Mutex<Made>,
}

/// All of it that does not depend on its op.
pub(super) struct Frame {
    late: Arc<Late>,
    core: Arc<Core>,
    epoch: Arc<Epoch>,
    /// In the flow of what is late.
    number: u64,
    options: Options,
    /// A failure leaves what it writes as it was.
    spares: bool,
    /// The half runs, or ran.
    begun: AtomicBool,
    /// Why it failed; set before it is bound.
    error: OnceLock<Error>,
    /// It failed after something was enqueued, up to here.
    touched: OnceLock<Mark>,
}

/// What the enqueue takes.
pub(super) struct Work<O: Op> {
    pub(super) op: Contained<Option<O>>,
    pub(super) spans: Option<SpansOf<O>>,
    pub(super) relay: Option<Relay>,
    pub(super) edges: Edges,
    pub(super) plans: SmallVec<[Cell; 1]>,
    /// How many operands there are.
    pub(super) operands: usize,
}

impl Frame {
    pub(super) fn new(core: &Arc<Core>, epoch: &Arc<Epoch>, options: Options, late: Arc<Late>, spares: bool) -> Self {
        Frame {
            late,
            core: core.clone(),
            epoch: epoch.clone(),
            number: core.late.enter(),
            options,
            spares,
            begun: AtomicBool::new(false),
            error: OnceLock::new(),
            touched: OnceLock::new(),
        }
    }

    /// Nothing stands in its way.
    fn may_go(&self) -> Result<()> {
        if self.epoch.dead() {
            return Err(self.epoch.verdict());
        }
        if self.late.core.is_tainted() {
            return Err(Error::upstream("an input", self.late.core.cause()));
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
                if self.spares && !upstream { Ok(()) } else { Err(error) }
            }
        };
        self.late.bind(ends, outcome);
        self.core.late.leave(self.number);
        self.core.keeper.nudge.nudge(); // somebody must see the end of it, also when nobody waits
    }

    /// An error, with the numbers that only the driver knew when it said so.
    fn told(&self, error: Error) -> Error {
        match self.epoch.engine.as_cuda() {
            Some(engine) => engine.told(&self.epoch, error),
            None => error,
        }
    }

    /// What a phase left, when it is over. (It has its thread and its stream for itself, and of both there are few: a
    /// kernel that never ends keeps them.)
    fn await_phase<R: Raw>(&self, leg: Option<&Leg>, end: Option<&Mark>) -> Result<R> {
        let (Some(leg), Some(end)) = (leg, end) else { return Err(Error::library("a phase without an end")) };
        end.outlast();
        if !end.is_past() {
            return Err(self.epoch.verdict());
        }
        leg.raw()
    }

    /// It failed, and what it did enqueue is over; or nobody will ever know.
    fn has_failed(&self) -> bool {
        let over = || self.touched.get().is_none_or(|mark| mark.poll() || mark.slot.over());
        (self.late.is_bound() && self.error.get().is_some() && over()) || self.epoch.dead()
    }

    fn error(&self, op: &'static str, library: &'static str) -> Error {
        let error = self.error.get().cloned();
        error.unwrap_or_else(|| self.locate(self.epoch.verdict(), op, library))
    }

    fn locate(&self, error: Error, op: &'static str, library: &'static str) -> Error {
        error.in_op(op, library).locate(|site| {
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
}

impl<O: Op> LateTask<O> {
    pub(super) fn new(frame: Frame) -> Self {
        LateTask { frame, work: Mutex::new(None), inner: OnceLock::new(), made: Mutex::default() }
    }

    /// What it is to enqueue. Before the guard is dropped.
    pub(super) fn give(&self, work: Work<O>) {
        *self.work.lock() = Some(work);
    }

    /// The enqueue, on a helper or on the submitter's thread. Gives where it ends even when it failed.
    fn carry_out(
        &self,
        work: &mut Work<O>,
        member: Option<&Member<'_>>,
        end: &mut Option<Mark>,
    ) -> Result<Arc<CudaTask<O>>> {
        let Frame { core, epoch, options, .. } = &self.frame;
        let unbuilt = || Err(Error::library("a plan that nobody has built"));
        let plan = |cell: &Cell| cell.get().cloned().unwrap_or_else(unbuilt);
        let plans = work.plans.iter().map(plan).collect::<Result<SmallVec<[AnyPlan; 1]>>>()?;
        let (mut made, mut index, mut is_last) = (Made::default(), 0, O::KIND != Kind::Phased);
        self.frame.begun.store(true, Ordering::Release);
        loop {
            let mut leg = None;
            let outcome = {
                let views: Views<'_> = made.views().collect();
                let mut s = Submission::new(&mut *work.op, &mut work.spans, epoch, options, (&views, 0));
                (s.relay, s.was_admitted) = (work.relay.take(), true);
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
                Ok(task) => {
                    made.let_scratch_go();
                    *self.made.lock() = made;
                    return Ok(task);
                }
                Err(Undone::Between) => {}
                Err(undone) => return Err(self.frame.told(undone.error())),
            }
            let raw = self.frame.await_phase(leg.as_deref(), end.as_ref())?;
            let op = work.op.as_ref().ok_or_else(|| Error::library("an op that is gone between its phases"))?;
            is_last = op.next(index, &raw, &mut Make::new(epoch, &mut made))? == Next::Last;
            index += 1;
        }
    }

    fn is_settled_now(&self) -> bool {
        match self.inner.get() {
            Some(task) => Task::is_settled(&**task),
            // It may have been enqueued since.
            None => self.frame.has_failed() && self.inner.get().is_none_or(|task| Task::is_settled(&**task)),
        }
    }

    /// It is enqueued, or failed.
    fn wait_enqueued(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.frame.wait(how, until, &|| self.inner.get().is_some() || self.frame.has_failed())
    }

    fn enqueued(&self) -> Result<&Arc<CudaTask<O>>> {
        self.wait_enqueued(Wait::Adaptive, None);
        self.inner.get().ok_or_else(|| self.frame.error(O::NAME, O::LIBRARY))
    }
}

impl<O: Op> Runnable for LateTask<O> {
    fn core(&self) -> &Settled {
        &self.frame.late.core
    }

    fn place(&self) -> u64 {
        self.frame.number
    }

    fn dep_done(self: Arc<Self>) {
        if self.core().dep_done() {
            self.frame.core.clone().helpers.push(self);
        }
    }

    /// Once more after it was parked.
    fn run(self: Arc<Self>) {
        let frame = &self.frame;
        let job: Arc<dyn Runnable> = self.clone();
        let member = match frame.may_go() {
            Ok(()) => match frame.core.pool_of::<O>() {
                Some(pool) => match frame.core.member(pool, &frame.epoch, &job) {
                    Ok(None) => return,
                    member => member,
                },
                None => Ok(None),
            },
            Err(error) => Err(error),
        };
        let Some(mut work) = self.work.lock().take() else { return };
        let (mut end, mut failure) = (None, None);
        // Of the user's code there are the op's half and a trace.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let task = member.and_then(|member| self.carry_out(&mut work, member.as_ref(), &mut end))?;
            if let Some(trace) = frame.epoch.counters.trace() {
                trace
                    .emit(Event::AfterEnqueue, &OpInfo::of(&*task.op, frame.options.label, Some(task.mark.slot.index)));
            }
            Ok(task)
        }));
        match outcome {
            Ok(Ok(task)) => drop(self.inner.set(task)),
            Ok(Err(error)) => failure = Some(error),
            Err(panic) => failure = Some(Error::panicked(&*panic)),
        }
        let edges = std::mem::take(&mut work.edges);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(work)));
        frame.bind(&edges, end, failure.map(|error| frame.locate(error, O::NAME, O::LIBRARY)));
    }
}

impl<O: Op> Task<HostOf<O>> for LateTask<O> {
    fn is_settled(&self) -> bool {
        self.is_settled_now()
    }

    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        if !self.wait_enqueued(how, until) {
            return false;
        }
        match self.inner.get() {
            Some(task) => task.wait(how, until),
            None => true,
        }
    }

    fn timing(&self) -> &'static Timing {
        self.frame.epoch.timing
    }

    fn take(&self) -> Result<HostOf<O>> {
        let task = self.enqueued()?;
        let mut made = std::mem::take(&mut *self.made.lock());
        task.take_with(&mut made)
    }

    #[cfg(target_os = "linux")]
    fn leave(&self, to: Leaving) -> Result<Left> {
        self.enqueued()?.leave(to)
    }

    fn abandon(&self) {
        if let Some(task) = self.inner.get() {
            task.abandon();
        }
    }

    fn device_time(&self) -> Option<Duration> {
        self.inner.get()?.device_time()
    }

    fn subscribe(&self, _: &Arc<Parker>) -> Subscribed {
        if self.is_settled_now() { Subscribed::Settled } else { Subscribed::Poll }
    }

    fn unsubscribe(&self, _: &Arc<Parker>) {}

    #[cfg(target_os = "linux")]
    fn place(&self) -> Option<(usize, u64)> {
        self.inner.get()?.place()
    }

    #[cfg(target_os = "linux")]
    fn arrived(&self) -> u64 {
        self.inner.get().map_or(0, |task| task.arrived())
    }

    #[cfg(target_os = "linux")]
    fn may_run(&self) -> bool {
        match self.inner.get() {
            Some(task) => task.may_run(),
            // A call that blocks is at work before it is enqueued.
            None => O::KIND != Kind::Enqueue && self.frame.begun.load(Ordering::Acquire),
        }
    }
}
