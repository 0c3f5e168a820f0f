//! A dispatch in flight on a GPU, and one that is not enqueued yet.
//!
//! It completes when its mark does; nothing has to notify it. The first thread that looks after the mark has completed
//! (a waiter, or a thread that reaps the slot's ring) claims it, notifies the trace, and settles it.
//!
//! What depends on its op is here. The rest is in `task_core.rs`; for a late dispatch it is in `late_submit.rs` and
//! `late_job.rs`.

use super::task_core::{Landed, TaskCore};
use crate::core::clock::{Deadline, Timing};
use crate::core::dispatch::{Ongoing, Subscribed, Task, Wait};
use crate::core::error::Result;
use crate::core::op::raw::{Landing, Raw};
#[cfg(target_os = "linux")]
use crate::core::op::raw::{RemoteResult, RemoteTarget};
use crate::core::op::{Contained, Made, Output};
use crate::core::order::{KeepAlive, Parker, Runnable, Settle};
use crate::core::sync::{Arc, Mutex};
use crate::core::trace::{OpInfo, OpMetadata};
use crate::engines::cuda::late::{Frame, LateJob};
use crate::engines::cuda::late::{carried, dep_done, run};
use crate::engines::dispatch::TaskOf;
use crate::engines::dispatch::{Call, Typed};
use crate::engines::op::SpansOf;
use crate::engines::op::{HostOf, Op};
use std::ops::Deref;
use std::sync::OnceLock;
use std::time::Duration;

/// The single allocation of a dispatch.
///
/// It is freed with its pending. The slot's ring holds a share only if the device, or a trace, still needs part of it
/// ([`TaskCore::is_held`], [`Retention`](crate::op::Retention)). So a chain of dispatches whose pendings are dropped at
/// once reuses the same few bytes.
pub(crate) struct CudaTask<O: Op> {
    pub(crate) op: Contained<O>,
    pub(crate) core: TaskCore,
}

/// One phase of an op, but not the last. The op itself stays with its submitter.
pub(crate) struct PhaseTask {
    pub(crate) core: TaskCore,
}

impl PhaseTask {
    /// The result of the phase. Call only when the phase is complete.
    pub(crate) fn raw<R: Raw>(&self) -> Result<R> {
        let landing = match &*self.core.landed.lock() {
            // SAFETY: the caller has seen that the phase is complete, so the device has written the slot.
            Landed::Slot(slot) => Landing::Slot(unsafe { slot.read() }),
            _ => Landing::Slot([0; 64]),
        };
        R::land(landing)
    }
}

impl KeepAlive for PhaseTask {
    fn retire(&self) {}
}

/// Converts a result of this type for another process.
#[cfg(target_os = "linux")]
fn left<R: Raw>(landing: Landing, to: RemoteTarget) -> Result<RemoteResult> {
    R::land(landing)?.to_remote(to)
}

impl<O: Op> Deref for CudaTask<O> {
    type Target = TaskCore;
    fn deref(&self) -> &TaskCore {
        &self.core
    }
}

impl<O: Op> OpMetadata for CudaTask<O> {
    fn names(&self) -> (&'static str, &'static str) {
        (O::NAME, O::LIBRARY)
    }
    fn info(&self) -> OpInfo {
        OpInfo::new(&*self.op, self.extra.as_ref().and_then(|extra| extra.label), Some(self.mark.slot.index))
    }
}

impl<O: Op> KeepAlive for CudaTask<O> {
    fn retire(&self) {
        self.core.retire(self);
    }
}

impl<O: Op> Task<HostOf<O>> for CudaTask<O> {
    fn take(&self, made: &mut Made) -> Result<HostOf<O>> {
        let answer = match self.core.landing(self, O::Output::EAGER.is_yes()) {
            Ok(landing) => O::Raw::land(landing),
            Err(error) => Err(error),
        };
        let error = match answer {
            Ok(raw) => match self.op.conclude(raw, made) {
                Ok(host) => return Ok(host),
                Err(error) => error,
            },
            Err(error) => error,
        };
        Err(self.core.locate(self, error))
    }
}

impl<O: Op> Ongoing for CudaTask<O> {
    fn is_settled(&self) -> bool {
        self.core.is_settled(self)
    }

    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.core.wait(self, how, until)
    }

    fn timing(&self) -> &'static Timing {
        self.mark.slot.timing
    }

    #[cfg(target_os = "linux")]
    fn to_remote(&self, to: RemoteTarget) -> Result<RemoteResult> {
        self.core.to_remote(self, O::Output::EAGER.is_yes(), left::<O::Raw>, to)
    }

    fn abandon(&self) {
        // The ring drops what it holds after the ticket has completed, at the latest when the slot is leased again. If
        // that frees something of value, the housekeeping thread should look sooner.
        self.core.let_go(std::mem::needs_drop::<O>() || O::Raw::BYTES > 0 || O::Output::EAGER.is_yes());
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
        Some((self.mark.slot.index, self.mark.ticket))
    }

    #[cfg(target_os = "linux")]
    fn arrived(&self) -> u64 {
        if O::Raw::BULK { self.core.arrived() } else { 0 }
    }

    #[cfg(target_os = "linux")]
    fn may_run(&self) -> bool {
        self.core.may_run()
    }
}

/// A late dispatch, before and after it is enqueued.
pub(crate) struct LateTask<O: Op> {
    frame: Frame,
    /// Taken when it is enqueued.
    op: Mutex<OpWithSpans<O>>,
    /// Its task, once it is enqueued. Set before the dispatch is bound.
    inner: OnceLock<TaskOf<O>>,
}

/// The op, and the places of its operands in device memory.
type OpWithSpans<O> = (Contained<Option<O>>, Option<SpansOf<O>>);

impl<O: Op> LateTask<O> {
    pub(crate) fn new(frame: Frame, op: Option<O>, spans: Option<SpansOf<O>>) -> Arc<Self> {
        let op = Mutex::new((Contained::new(op), spans));
        Arc::new(LateTask { frame, op, inner: OnceLock::new() })
    }

    fn job(&self) -> &dyn LateJob {
        self
    }
}

impl<O: Op> LateJob for LateTask<O> {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn enqueued(&self) -> Option<&dyn Ongoing> {
        match self.inner.get() {
            Some(task) => Some(&**task),
            None => None,
        }
    }

    fn enqueue(&self, how: &mut dyn FnMut(&mut dyn Call) -> Result<()>) -> Result<()> {
        let mut locked = self.op.lock(); // no other thread takes it
        let (op, spans) = &mut *locked;
        let mut call = Typed::new(op, spans);
        let outcome = carried(how, &mut call);
        if outcome.is_ok()
            && let Ok(task) = call.task()
        {
            let _ = self.inner.set(task);
        }
        *op = Contained::new(None); // dropped before the dispatch is bound
        outcome
    }
}

impl<O: Op> Runnable for LateTask<O> {
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

impl<O: Op> Task<HostOf<O>> for LateTask<O> {
    fn take(&self, made: &mut Made) -> Result<HostOf<O>> {
        self.job().wait_enqueued(Wait::Adaptive, None);
        match self.inner.get() {
            Some(task) => {
                self.frame.take_made(made);
                task.take(made)
            }
            None => Err(self.frame.error()),
        }
    }
}

impl<O: Op> Ongoing for LateTask<O> {
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
