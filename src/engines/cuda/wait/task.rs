//! A dispatch in flight on a GPU, and one that is not enqueued yet.
//!
//! It completes when its mark does; nothing has to notify it. The first thread that looks after the mark has completed
//! (a waiter, or a thread that reaps the slot's ring) claims it, notifies the trace, and settles it.
//!
//! Here is what depends on the number of bytes of its op. The rest is in `task_core.rs`; for a late dispatch it is in
//! `late/submit.rs` and `late/job.rs`.

use super::task_core::{Landed, TaskCore};
use crate::core::clock::{Deadline, Timing};
use crate::core::dispatch::{Ongoing, Subscribed, TaskHold, Wait};
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landing;
#[cfg(target_os = "linux")]
use crate::core::op::raw::{RemoteResult, RemoteTarget};
use crate::core::op::{AnyOp, Made, Retention};
use crate::core::order::{KeepAlive, Parker, Runnable, Settle};
use crate::core::sync::{Arc, Mutex};
use crate::core::trace::{OpInfo, OpMetadata};
use crate::engines::cuda::late::{Frame, LateJob};
use crate::engines::cuda::late::{carried, dep_done, run};
use crate::engines::dispatch::Call;
use crate::engines::op::{Content, OpMemory, Payload, in_class, taken};
use std::sync::OnceLock;
use std::time::Duration;

/// The single allocation of a dispatch.
///
/// It is freed with its pending. The slot's ring holds a share only if the device, or a trace, still needs part of it
/// ([`TaskCore::is_held`], [`Retention`](crate::core::op::Retention)). So a chain of dispatches whose pendings are dropped
/// at once reuses the same few bytes.
struct CudaTask<const WORDS: usize> {
    core: TaskCore,
    op: Payload<WORDS>,
}

impl Call<'_> {
    /// Becomes work in flight on a GPU: moves the op into its task. Returns what the ring must keep alive.
    #[inline]
    pub(crate) fn become_task(&mut self, mut core: TaskCore) -> Result<Option<Arc<dyn KeepAlive>>> {
        // What need not outlive the pending is dropped with it: the ring keeps only the little that the device still needs.
        let keeps = if core.is_held() { Retention::ALL } else { self.memory.keeps() };
        let (task, cargo) = match keeps.part() {
            Some(cargo) => (TaskHold::Sole(sole(core, &mut self.memory)?), cargo),
            None => {
                let (task, kept) = shared(core, &mut self.memory)?;
                (TaskHold::Shared(task), Some(kept))
            }
        };
        self.task = Some(task);
        Ok(cargo)
    }
}

/// A task for one pending alone. Fails if the op is not there.
#[inline]
fn sole(core: TaskCore, from: &mut OpMemory<'_>) -> Result<Box<dyn Ongoing>> {
    if from.op().is_none() {
        return Err(taken());
    }
    let task: Box<dyn Ongoing> = in_class!(from.facts(), Content::Op, WORDS => CudaTask::<WORDS>::sole(core, from));
    Ok(task)
}

/// A task that the ring of a slot holds too.
fn shared(core: TaskCore, from: &mut OpMemory<'_>) -> Result<(Arc<dyn Ongoing>, Arc<dyn KeepAlive>)> {
    if from.op().is_none() {
        return Err(taken());
    }
    let both: (Arc<dyn Ongoing>, Arc<dyn KeepAlive>) = in_class!(from.facts(), Content::Op, WORDS => {
        let task = CudaTask::<WORDS>::shared(core, from);
        (task.clone(), task)
    });
    Ok(both)
}

impl<const WORDS: usize> CudaTask<WORDS> {
    /// Written in place and not through the stack, as the other.
    fn shared(core: TaskCore, from: &mut OpMemory<'_>) -> Arc<Self> {
        let place = Arc::<Self>::new_uninit();
        let to = Arc::as_ptr(&place).cast_mut().cast::<Self>();
        // SAFETY: there is memory for a task, which is not shared yet; both fields are written.
        unsafe {
            (&raw mut (*to).core).write(core);
            Payload::fill(&raw mut (*to).op, from, Content::Op);
            place.assume_init()
        }
    }

    #[inline]
    fn sole(core: TaskCore, from: &mut OpMemory<'_>) -> Box<Self> {
        let mut place = Box::<Self>::new_uninit();
        let to = place.as_mut_ptr();
        // SAFETY: there is memory for a task, of which both fields are written.
        unsafe {
            (&raw mut (*to).core).write(core);
            Payload::fill(&raw mut (*to).op, from, Content::Op);
            place.assume_init()
        }
    }
}

/// One phase of an op, but not the last. The op itself stays with its submitter.
pub(crate) struct PhaseTask {
    pub(crate) core: TaskCore,
}

impl PhaseTask {
    /// What the phase has left. Call only when the phase is complete.
    pub(crate) fn landing(&self) -> Landing {
        match &*self.core.landed.lock() {
            // SAFETY: the caller has seen that the phase is complete, so the device has written the slot.
            Landed::Slot(slot) => Landing::Slot(unsafe { slot.read() }),
            _ => Landing::Slot([0; 64]),
        }
    }
}

impl KeepAlive for PhaseTask {
    fn retire(&self) {}
}

impl<const WORDS: usize> OpMetadata for CudaTask<WORDS> {
    fn names(&self) -> (&'static str, &'static str) {
        (self.op.facts().name, self.op.facts().library)
    }
    fn info(&self) -> OpInfo {
        let label = self.core.extra.as_ref().and_then(|extra| extra.label);
        self.op.facts().info(self.op.op(), label, Some(self.core.mark.slot.index))
    }
}

impl<const WORDS: usize> KeepAlive for CudaTask<WORDS> {
    fn retire(&self) {
        self.core.retire(self);
    }
}

impl<const WORDS: usize> Ongoing for CudaTask<WORDS> {
    fn answer(&self, landing: &mut Landing, _: &mut Made) -> Result<AnyOp<'_>> {
        self.core.answer(self, self.op.facts().eager, landing)?;
        self.op().ok_or_else(taken)
    }

    fn op(&self) -> Option<AnyOp<'_>> {
        Some(self.op.op()?.any())
    }

    fn failed(&self, error: Error) -> Error {
        self.core.locate(self, error)
    }

    fn is_settled(&self) -> bool {
        self.core.is_settled(self)
    }

    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.core.wait(self, how, until)
    }

    fn timing(&self) -> &'static Timing {
        self.core.mark.slot.timing
    }

    #[cfg(target_os = "linux")]
    fn to_remote(&self, to: RemoteTarget) -> Result<RemoteResult> {
        self.core.to_remote(self, self.op.facts().eager, to)
    }

    fn abandon(&self) {
        // The ring drops what it holds after the ticket has completed, at the latest when the slot is leased again. If
        // that frees something of value, the housekeeping thread should look sooner.
        self.core.let_go(self.op.facts().is_of_value());
    }

    fn device_time(&self) -> Option<Duration> {
        self.core.device_time()
    }

    fn subscribe(&self, _: &Arc<Parker>) -> Subscribed {
        if self.core.is_settled(self) { Subscribed::Settled } else { Subscribed::Poll }
    }

    fn unsubscribe(&self, _: &Arc<Parker>) {}

    #[cfg(target_os = "linux")]
    fn place(&self) -> Option<(usize, u64)> {
        Some((self.core.mark.slot.index, self.core.mark.ticket))
    }

    #[cfg(target_os = "linux")]
    fn arrived(&self) -> u64 {
        if self.op.facts().bulk { self.core.arrived() } else { 0 }
    }

    #[cfg(target_os = "linux")]
    fn may_run(&self) -> bool {
        self.core.may_run()
    }
}

/// A late dispatch, before and after it is enqueued.
pub(crate) struct LateTask {
    frame: Frame,
    /// The op and the places of its operands in device memory, until it is enqueued.
    op: Mutex<Payload<0>>,
    /// Its task, once it is enqueued. Set before the dispatch is bound.
    inner: OnceLock<TaskHold>,
}

impl Call<'_> {
    /// Becomes work that is enqueued later.
    pub(crate) fn become_late(&mut self, frame: Frame) -> Result<Arc<LateTask>> {
        let task = LateTask::new(frame, &mut self.memory)?;
        self.task = Some(TaskHold::Shared(task.clone()));
        Ok(task)
    }
}

impl LateTask {
    /// Fails if the op and its operands are not there.
    pub(crate) fn new(frame: Frame, from: &mut OpMemory<'_>) -> Result<Arc<Self>> {
        if from.operation().is_none() {
            return Err(taken());
        }
        Ok(Arc::new(LateTask { frame, op: Mutex::new(Payload::boxed(from)), inner: OnceLock::new() }))
    }

    fn job(&self) -> &dyn LateJob {
        self
    }
}

impl LateJob for LateTask {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn enqueued(&self) -> Option<&dyn Ongoing> {
        match self.inner.get() {
            Some(task) => Some(&**task),
            None => None,
        }
    }

    fn enqueue(&self, how: &mut dyn FnMut(&mut Call<'_>) -> Result<()>) -> Result<()> {
        let mut op = self.op.lock(); // no other thread takes it
        let Some(memory) = op.memory() else { return Err(taken()) };
        let mut call = Call::new(memory);
        let outcome = carried(how, &mut call);
        if let (Ok(()), Some(task)) = (&outcome, call.take()) {
            let _ = self.inner.set(task);
        }
        call.clear(); // dropped before the dispatch is bound
        outcome
    }
}

impl Runnable for LateTask {
    fn core(&self) -> &Settle {
        self.frame.settled()
    }

    fn place(&self) -> u64 {
        self.frame.number()
    }

    fn dep_done(self: Arc<Self>) {
        dep_done(self);
    }

    fn run(self: Arc<Self>) {
        run(self);
    }
}

impl Ongoing for LateTask {
    fn answer(&self, landing: &mut Landing, made: &mut Made) -> Result<AnyOp<'_>> {
        let task = self.job().await_enqueued()?;
        self.frame.take_made(made);
        task.answer(landing, made)
    }

    fn op(&self) -> Option<AnyOp<'_>> {
        self.enqueued()?.op()
    }

    fn failed(&self, error: Error) -> Error {
        match self.enqueued() {
            Some(task) => task.failed(error),
            None => error,
        }
    }

    fn is_settled(&self) -> bool {
        self.job().is_settled_now()
    }

    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.job().await_end(how, until)
    }

    fn timing(&self) -> &'static Timing {
        self.frame.epoch().timing
    }

    #[cfg(target_os = "linux")]
    fn to_remote(&self, to: RemoteTarget) -> Result<RemoteResult> {
        self.job().await_enqueued()?.to_remote(to)
    }

    fn abandon(&self) {
        if let Some(task) = self.inner.get() {
            task.abandon();
        }
    }

    fn device_time(&self) -> Option<Duration> {
        self.enqueued()?.device_time()
    }

    fn subscribe(&self, _: &Arc<Parker>) -> Subscribed {
        if self.job().is_settled_now() { Subscribed::Settled } else { Subscribed::Poll }
    }

    fn unsubscribe(&self, _: &Arc<Parker>) {}

    #[cfg(target_os = "linux")]
    fn place(&self) -> Option<(usize, u64)> {
        self.enqueued()?.place()
    }

    #[cfg(target_os = "linux")]
    fn arrived(&self) -> u64 {
        self.enqueued().map_or(0, |task| task.arrived())
    }

    #[cfg(target_os = "linux")]
    fn may_run(&self) -> bool {
        self.job().may_begin()
    }
}
