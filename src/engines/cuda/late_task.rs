//! A late dispatch with its types, and what its pending sees of it: see `late_submit.rs`.

use super::late_frame::{Frame, LateJob, carried, dep_done, run};
use crate::core::clock::{Deadline, Timing};
use crate::core::dispatch::TaskOf;
#[cfg(target_os = "linux")]
use crate::core::dispatch::raw::{RemoteResult, RemoteTarget};
use crate::core::dispatch::{Ongoing, Subscribed, Task, Wait};
use crate::core::error::Result;
use crate::core::op::SpansOf;
use crate::core::op::{Contained, HostOf, Made, Op};
use crate::core::order::{Core as Settled, Parker, Runnable};
use crate::core::sync::{Arc, Mutex};
use crate::engines::dispatch::{Call, Typed};
use std::sync::OnceLock;
use std::time::Duration;

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
    fn core(&self) -> &Settled {
        self.frame.settled()
    }

    fn place(&self) -> u64 {
        self.frame.number
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
        self.frame.epoch.timing
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
