//! Work that a helper enqueues, and its pending: see `late_submit.rs`.

use super::late_frame::{Frame, LateJob, carried, dep_done, run};
use super::task::CudaTask;
use crate::clock::{Deadline, Timing};
#[cfg(target_os = "linux")]
use crate::dispatch::raw::{Leaving, Left};
use crate::dispatch::{Call, Ongoing, Parker, SpansOf, Subscribed, Task, Typed, Wait};
use crate::host::{Core as Settled, Runnable};
use crate::op::{Contained, HostOf, Op};
use crate::sync::{Arc, Mutex};
use crate::{Error, Result};
use std::sync::OnceLock;
use std::time::Duration;

/// One that is coming, or came.
pub(crate) struct LateTask<O: Op> {
    frame: Frame,
    /// Until somebody enqueues it.
    cargo: Mutex<Cargo<O>>,
    /// Once it is enqueued; set before it is bound.
    inner: OnceLock<Arc<CudaTask<O>>>,
}

/// The op, and where its operands lie.
type Cargo<O> = (Contained<Option<O>>, Option<SpansOf<O>>);

impl<O: Op> LateTask<O> {
    pub(crate) fn new(frame: Frame, op: O, spans: SpansOf<O>) -> Self {
        LateTask { frame, cargo: Mutex::new((Contained::new(Some(op)), Some(spans))), inner: OnceLock::new() }
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
        let (mut op, mut spans) = std::mem::replace(&mut *self.cargo.lock(), (Contained::new(None), None));
        let mut call = Typed::new(&mut op, &mut spans);
        carried(how, &mut call)?;
        if let Some(task) = call.enqueued.take() {
            let _ = self.inner.set(task);
        }
        Ok(())
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
    fn take(&self) -> Result<HostOf<O>> {
        self.job().await_enqueued()?;
        let mut made = std::mem::take(&mut *self.frame.made.lock());
        match self.inner.get() {
            Some(task) => task.take_with(&mut made),
            None => Err(Error::library("work that was enqueued by nobody")),
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
    fn leave(&self, to: Leaving) -> Result<Left> {
        self.job().await_enqueued()?.leave(to)
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
