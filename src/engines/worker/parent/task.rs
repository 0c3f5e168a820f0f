//! A dispatch in flight in a worker.

use super::flights::Flight;
use super::untyped_dispatch::UntypedDispatch;
use crate::core::clock::{Deadline, Timing};
use crate::core::dispatch::{Ongoing, Subscribed, TaskHold, Wait};
use crate::core::error::{Error, Result};
use crate::core::op::raw::{Landing, RemoteResult, RemoteTarget};
use crate::core::op::{AnyOp, Made};
use crate::core::order::Parker;
use crate::core::sync::{Arc, AtomicU32};
use crate::engines::dispatch::Call;
use crate::engines::op::{Content, OpMemory, Payload, in_class, taken};
use std::time::Duration;

/// One allocation for each dispatch: the part that is the same for every operation, and the op.
struct WorkerTask<const WORDS: usize> {
    dispatch: UntypedDispatch,
    op: Payload<WORDS>,
}

impl Call<'_> {
    /// Becomes work in flight in a worker: the task as it is sent, and as its pending holds it. Fails if the op is not there.
    pub(crate) fn become_flight(&mut self, dispatch: UntypedDispatch) -> Result<Arc<dyn Flight>> {
        let from = &mut self.memory;
        if from.op().is_none() {
            return Err(taken());
        }
        let (flight, task): (Arc<dyn Flight>, Arc<dyn Ongoing>) = in_class!(from.facts(), Content::Op, WORDS => {
            let task = WorkerTask::<WORDS>::new(dispatch, from);
            (task.clone(), task)
        });
        self.task = Some(TaskHold::Shared(task));
        Ok(flight)
    }
}

impl<const WORDS: usize> WorkerTask<WORDS> {
    /// Written in place and not through the stack.
    fn new(dispatch: UntypedDispatch, from: &mut OpMemory<'_>) -> Arc<Self> {
        let place = Arc::<Self>::new_uninit();
        let to = Arc::as_ptr(&place).cast_mut().cast::<Self>();
        // SAFETY: there is memory for a task, which is not shared yet; both fields are written.
        unsafe {
            (&raw mut (*to).dispatch).write(dispatch);
            Payload::fill(&raw mut (*to).op, from, Content::Op);
            place.assume_init()
        }
    }
}

impl<const WORDS: usize> Flight for WorkerTask<WORDS> {
    fn place(&self) -> &AtomicU32 {
        &self.dispatch.place
    }

    fn retire(&self) -> bool {
        self.dispatch.look()
    }

    fn name(&self) -> &'static str {
        self.op.facts().name
    }

    fn dispatch(&self) -> Option<&UntypedDispatch> {
        Some(&self.dispatch)
    }

    fn is_traced(&self) -> bool {
        self.dispatch.traced.is_some()
    }

    fn is_taken_out(&self) -> bool {
        self.dispatch.arriving.as_ref().is_some_and(|arriving| Arc::strong_count(arriving) > 1)
    }
}

impl<const WORDS: usize> Ongoing for WorkerTask<WORDS> {
    fn answer(&self, landing: &mut Landing, _: &mut Made) -> Result<AnyOp<'_>> {
        *landing = self.dispatch.landing()?;
        self.op().ok_or_else(taken)
    }

    fn op(&self) -> Option<AnyOp<'_>> {
        Some(self.op.op()?.any())
    }

    fn failed(&self, error: Error) -> Error {
        self.dispatch.failed(error)
    }

    fn is_settled(&self) -> bool {
        self.dispatch.look()
    }

    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.dispatch.wait(how, until)
    }

    fn timing(&self) -> &'static Timing {
        self.dispatch.epoch.timing
    }

    fn to_remote(&self, _: RemoteTarget) -> Result<RemoteResult> {
        Err(Error::unsupported("a worker process cannot dispatch to another worker"))
    }

    fn abandon(&self) {
        self.dispatch.abandon();
    }

    fn device_time(&self) -> Option<Duration> {
        self.dispatch.time()
    }

    fn subscribe(&self, _: &Arc<Parker>) -> Subscribed {
        if self.dispatch.look() { Subscribed::Settled } else { Subscribed::Poll }
    }

    fn unsubscribe(&self, _: &Arc<Parker>) {}
}
