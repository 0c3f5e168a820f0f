//! The engine of an isolated device as its epoch and its device ask for it.

use crate::core::buffer::Allocation;
use crate::core::device_info::PoolInfo;
use crate::core::epoch::{AnyEngine, Cause, Earlier, EngineKind, Epoch, Executor, OfKind};
use crate::core::error::{Error, Result};
use crate::core::order::AccessHistory;
use crate::core::sync::Arc;
use crate::core::trace::Stats;
use crate::engines::worker::WorkerEngine;
use std::time::Duration;

// SAFETY: the only type of this kind.
unsafe impl OfKind for WorkerEngine {
    const KIND: EngineKind = EngineKind::Worker;
}

impl AnyEngine {
    /// The worker engine, if it is one.
    #[inline]
    pub(crate) fn as_worker(&self) -> Option<&WorkerEngine> {
        self.get()
    }
}

impl Executor for WorkerEngine {
    #[cfg(feature = "host")]
    fn allocation_is_to_fail(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.next_allocation_fails())
    }

    /// Whatever the cause was, it ended a child process, and another one can be started.
    fn recovers_from(&self, _: &Cause) -> bool {
        true
    }

    fn remedy(&self) -> &'static str {
        "open the device again; if workers are expected to fail, use a restart policy that allows more restarts"
    }

    fn in_flight(&self, _: &Epoch) -> u64 {
        WorkerEngine::in_flight(self)
    }

    fn is_idle(&self, _: &Epoch) -> bool {
        WorkerEngine::is_idle(self)
    }

    fn unfinished(&self, _: &Epoch) -> u64 {
        WorkerEngine::unfinished(self)
    }

    fn is_over(&self, earlier: &Earlier) -> bool {
        match earlier {
            Earlier::Counted(mark) => {
                self.settle();
                mark.is_past()
            }
            Earlier::Own(_) => true, // of another engine
        }
    }

    fn look(&self) {
        WorkerEngine::look(self);
    }

    fn fill(&self, stats: &mut Stats) {
        WorkerEngine::fill(self, stats);
    }

    fn memory(&self, epoch: &Arc<Epoch>) -> Result<Option<(u64, u64, PoolInfo)>> {
        WorkerEngine::memory(self, epoch)
    }

    fn make(&self, _: &Arc<Epoch>, _: usize, _: usize) -> Result<(Arc<Allocation>, AccessHistory)> {
        Err(Error::unsupported("an isolated device makes buffers in its worker process, not in the client process"))
    }

    fn installed(&self, epoch: &Arc<Epoch>) {
        WorkerEngine::installed(self, epoch);
    }

    fn retire(&self) {
        WorkerEngine::retire(self);
    }

    fn await_gone(&self, limit: Duration) {
        WorkerEngine::await_gone(self, limit);
    }

    fn close(&self) {
        WorkerEngine::close(self);
    }
}
