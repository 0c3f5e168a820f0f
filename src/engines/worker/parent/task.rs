//! A dispatch in flight in a worker.

use super::flights::Flight;
use super::untyped_dispatch::UntypedDispatch;
use crate::core::clock::{Deadline, Timing};
use crate::core::dispatch::{Ongoing, Subscribed, Task, Wait};
use crate::core::error::{Error, Result};
use crate::core::op::raw::{Raw, RemoteResult, RemoteTarget};
use crate::core::op::{Contained, Made};
use crate::core::order::Parker;
use crate::core::sync::{Arc, AtomicU32};
use crate::engines::op::{HostOf, Op};
use std::time::Duration;

/// One allocation for each dispatch: the part that is the same for every operation, and the op.
pub(crate) struct WorkerTask<O: Op> {
    dispatch: UntypedDispatch,
    op: Contained<O>,
}

impl<O: Op> WorkerTask<O> {
    pub(crate) fn new(dispatch: UntypedDispatch, op: O) -> Arc<Self> {
        Arc::new(WorkerTask { dispatch, op: Contained::new(op) })
    }
}

impl<O: Op> Flight for WorkerTask<O> {
    fn place(&self) -> &AtomicU32 {
        &self.dispatch.place
    }

    fn retire(&self) -> bool {
        self.dispatch.look()
    }

    fn name(&self) -> &'static str {
        O::NAME
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

impl<O: Op> Task<HostOf<O>> for WorkerTask<O> {
    fn take(&self, _: &mut Made) -> Result<HostOf<O>> {
        let answer = match O::Raw::land(self.dispatch.landing()?) {
            Ok(raw) => self.op.finish(raw),
            Err(error) => Err(error),
        };
        match answer {
            Err(error) => Err(self.dispatch.failed(error)),
            host => host,
        }
    }
}

impl<O: Op> Ongoing for WorkerTask<O> {
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
