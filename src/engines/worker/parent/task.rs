//! A dispatch in flight in a worker.

use super::flights::Flight;
use super::flying::Flying;
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
    flying: Flying,
    op: Contained<O>,
}

impl<O: Op> WorkerTask<O> {
    pub(crate) fn new(flying: Flying, op: O) -> Arc<Self> {
        Arc::new(WorkerTask { flying, op: Contained::new(op) })
    }
}

impl<O: Op> Flight for WorkerTask<O> {
    fn place(&self) -> &AtomicU32 {
        &self.flying.place
    }

    fn retire(&self) -> bool {
        self.flying.look()
    }

    fn name(&self) -> &'static str {
        O::NAME
    }

    fn flying(&self) -> Option<&Flying> {
        Some(&self.flying)
    }

    fn is_traced(&self) -> bool {
        self.flying.traced.is_some()
    }

    fn is_taken_out(&self) -> bool {
        self.flying.arriving.as_ref().is_some_and(|arriving| Arc::strong_count(arriving) > 1)
    }
}

impl<O: Op> Task<HostOf<O>> for WorkerTask<O> {
    fn take(&self, _: &mut Made) -> Result<HostOf<O>> {
        let answer = match O::Raw::land(self.flying.landing()?) {
            Ok(raw) => self.op.finish(raw),
            Err(error) => Err(error),
        };
        match answer {
            Err(error) => Err(self.flying.failed(error)),
            host => host,
        }
    }
}

impl<O: Op> Ongoing for WorkerTask<O> {
    fn failed(&self, error: Error) -> Error {
        self.flying.failed(error)
    }

    fn is_settled(&self) -> bool {
        self.flying.look()
    }

    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.flying.wait(how, until)
    }

    fn timing(&self) -> &'static Timing {
        self.flying.epoch.timing
    }

    fn to_remote(&self, _: RemoteTarget) -> Result<RemoteResult> {
        Err(Error::unsupported("a worker process cannot dispatch to another worker"))
    }

    fn abandon(&self) {
        self.flying.abandon();
    }

    fn device_time(&self) -> Option<Duration> {
        self.flying.time()
    }

    fn subscribe(&self, _: &Arc<Parker>) -> Subscribed {
        if self.flying.look() { Subscribed::Settled } else { Subscribed::Poll }
    }

    fn unsubscribe(&self, _: &Arc<Parker>) {}
}
