//! The CUDA engine as its epoch and its device ask for it.

use super::context::fault;
use super::{CONTEXT_IS_DESTROYED, CudaEngine, Issued};
use crate::core::buffer::Allocation;
use crate::core::device_info::PoolInfo;
use crate::core::epoch::{AnyEngine, Cause, Earlier, EngineKind, Epoch, Executor, OfKind};
use crate::core::error::{Result, Text};
use crate::core::order::AccessHistory;
use crate::core::sync::Arc;
use crate::core::trace::Stats;

// SAFETY: the only type of this kind.
unsafe impl OfKind for CudaEngine {
    const KIND: EngineKind = EngineKind::Cuda;
}

impl AnyEngine {
    /// The CUDA engine, if it is one.
    #[inline]
    pub(crate) fn as_cuda(&self) -> Option<&CudaEngine> {
        self.get()
    }
}

impl Executor for CudaEngine {
    fn makes_room(&self) -> bool {
        true
    }

    /// Other code destroyed the context: this is no device fault, so a new context can be made. Everything else that ends a
    /// context ends CUDA for the process.
    fn recovers_from(&self, cause: &Cause) -> bool {
        cause.code.as_ref().is_some_and(|code| code.0 == CONTEXT_IS_DESTROYED)
    }

    fn remedy(&self) -> &'static str {
        "a device fault ends CUDA for this process on every GPU: restart the process, or open the device isolated, in a \
         worker process (`DeviceBuilder::isolated`)"
    }

    fn in_flight(&self, _: &Epoch) -> u64 {
        CudaEngine::in_flight(self)
    }

    fn is_drained(&self, _: &Epoch) -> bool {
        CudaEngine::is_drained(self)
    }

    fn earlier(&self, _: &Epoch) -> Earlier {
        Earlier::Own(Box::new(self.issued()))
    }

    fn is_over(&self, earlier: &Earlier) -> bool {
        match earlier {
            Earlier::Counted(mark) => mark.is_past(),
            Earlier::Own(issued) => issued.downcast_ref::<Issued>().is_none_or(|issued| self.are_over(issued)),
        }
    }

    fn last_ops(&self) -> Option<Vec<Text>> {
        Some(CudaEngine::last_ops(self))
    }

    fn fill(&self, stats: &mut Stats) {
        CudaEngine::fill(self, stats);
    }

    fn memory(&self, epoch: &Arc<Epoch>) -> Result<Option<(u64, u64, PoolInfo)>> {
        CudaEngine::memory(self, epoch).map(Some)
    }

    fn make(&self, epoch: &Arc<Epoch>, bytes: usize, lead: usize) -> Result<(Arc<Allocation>, AccessHistory)> {
        self.allocate_between(epoch, bytes, lead)
    }

    fn installed(&self, epoch: &Arc<Epoch>) {
        CudaEngine::installed(self, epoch);
    }

    /// A device fault concerns the whole process.
    fn latch(&self, cause: Option<Cause>) {
        fault::latch_all(cause);
    }

    fn retire(&self) {
        CudaEngine::retire(self);
    }

    fn close(&self) {
        CudaEngine::close(self);
    }
}
