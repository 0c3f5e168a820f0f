//! The host engine as its epoch and its device ask for it.

use super::HostEngine;
use crate::core::buffer::Allocation;
use crate::core::epoch::{AnyEngine, Cause, EngineKind, Epoch, Executor, OfKind};
use crate::core::error::Result;
use crate::core::order::AccessHistory;
use crate::core::sync::Arc;
use crate::core::trace::Stats;

// SAFETY: the only type of this kind.
unsafe impl OfKind for Arc<HostEngine> {
    const KIND: EngineKind = EngineKind::Host;
}

impl AnyEngine {
    /// The host engine, if it is one.
    #[inline]
    pub(crate) fn as_host(&self) -> Option<&Arc<HostEngine>> {
        self.get()
    }
}

/// Its pool survives every rebuild.
impl Executor for Arc<HostEngine> {
    fn allocation_is_to_fail(&self) -> bool {
        self.plan().is_some_and(|plan| plan.next_allocation_fails())
    }

    fn recovers_from(&self, _: &Cause) -> bool {
        true
    }

    fn remedy(&self) -> &'static str {
        "open the device again; if the faults are expected, use a restart policy that allows more restarts"
    }

    fn fill(&self, stats: &mut Stats) {
        stats.slots = self.threads();
        stats.slots_busy = self.runners();
    }

    fn make(&self, epoch: &Arc<Epoch>, bytes: usize, lead: usize) -> Result<(Arc<Allocation>, AccessHistory)> {
        Ok((Arc::new(Allocation::host(bytes, lead, true, epoch.meter.clone())?), AccessHistory::default()))
    }
}
