//! What executes: an enum, one layer of dispatch.

use super::flow::Mark;
use super::{Cause, Epoch};
use crate::Result;
use crate::device::PoolInfo;
use crate::error::Text;
use crate::sync::Arc;
use crate::trace::Stats;

/// The engine of an epoch.
pub(crate) enum Engine {
    /// The CPU, on a pool of its own.
    #[cfg(feature = "host")]
    Host(Arc<crate::host::HostEngine>),
    /// A GPU, in this process.
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::CudaEngine),
    /// Either of them in a child process.
    #[cfg(target_os = "linux")]
    Worker(crate::worker::WorkerEngine),
    /// Nothing: what is submitted is recorded.
    Tape(Arc<crate::program::Tape>),
}

/// What was submitted to an epoch up to some moment.
pub(crate) enum Earlier {
    /// Counted by the epoch itself.
    Counted(Mark),
    /// The slots' last tickets.
    #[cfg(feature = "cuda")]
    Tickets(crate::cuda::Issued),
}

impl Engine {
    /// Nobody is woken when its work ends: who waits looks.
    pub(crate) fn is_polled(&self) -> bool {
        match self {
            #[cfg(feature = "cuda")]
            Engine::Cuda(_) => true,
            #[cfg(any(feature = "host", target_os = "linux"))]
            _ => false,
        }
    }

    /// The CUDA engine, if it is one.
    #[cfg(feature = "cuda")]
    pub(crate) fn as_cuda(&self) -> Option<&crate::cuda::CudaEngine> {
        match self {
            Engine::Cuda(engine) => Some(engine),
            _ => None,
        }
    }

    /// It records what is submitted.
    #[inline]
    pub(crate) fn is_tape(&self) -> bool {
        matches!(self, Engine::Tape(_))
    }

    /// Its memory is this process's.
    pub(crate) fn is_host(&self) -> bool {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => true,
            _ => false,
        }
    }

    /// The worker engine, if it is one.
    #[cfg(target_os = "linux")]
    pub(crate) fn as_worker(&self) -> Option<&crate::worker::WorkerEngine> {
        match self {
            Engine::Worker(engine) => Some(engine),
            _ => None,
        }
    }

    /// When memory is short, it does all that can be done itself.
    pub(crate) fn makes_room(&self) -> bool {
        #[cfg(feature = "cuda")]
        return self.as_cuda().is_some() || self.is_tape();
        #[cfg(not(feature = "cuda"))]
        self.is_tape()
    }

    /// The fault plan says that the next allocation fails.
    pub(crate) fn allocation_is_to_fail(&self) -> bool {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(engine) => engine.plan().is_some_and(|plan| plan.next_allocation_fails()),
            #[cfg(all(feature = "host", target_os = "linux"))]
            Engine::Worker(engine) => engine.plan.as_ref().is_some_and(|plan| plan.next_allocation_fails()),
            _ => false,
        }
    }

    /// Its memory is another process's.
    pub(crate) fn is_isolated(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.as_worker().is_some();
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Whether a fault of this cause can be mended in this process.
    pub(crate) fn recovers_from(&self, cause: &Cause) -> bool {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => true,
            // Somebody else destroyed the context: no device fault, so a new one can be made. Everything else that ends
            // a context ends CUDA for the process.
            #[cfg(feature = "cuda")]
            Engine::Cuda(_) => cause.code.as_ref().is_some_and(|c| c.0 == crate::cuda::CONTEXT_IS_DESTROYED),
            // Whatever it was: it ended a child process, and another can be started.
            #[cfg(target_os = "linux")]
            Engine::Worker(_) => true,
            Engine::Tape(_) => false,
        }
    }

    /// What helps when the device is lost.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => {
                "open the device again, with a restart policy that allows more if the faults are expected"
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(_) => {
                "a device fault ends CUDA for this process on every GPU: restart the process, or open the device \
                 isolated, in a worker process (`DeviceBuilder::isolated`)"
            }
            #[cfg(target_os = "linux")]
            Engine::Worker(_) => {
                "open the device again, with a restart policy that allows more if losing workers is expected"
            }
            Engine::Tape(_) => "record again",
        }
    }

    /// Dispatches not known to be complete.
    pub(crate) fn in_flight(&self, epoch: &Epoch) -> u64 {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => epoch.flow.in_flight(),
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => {
                let _ = epoch;
                engine.in_flight()
            }
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.in_flight(),
            Engine::Tape(_) => 0,
        }
    }

    /// Nothing is in flight, and nobody who was admitted is about to bring something: for who has closed admission.
    pub(crate) fn is_drained(&self, epoch: &Epoch) -> bool {
        match self {
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.is_drained(),
            _ => self.in_flight(epoch) == 0,
        }
    }

    /// Nothing is in flight, and nobody is about to let go of what was, as far as that is known.
    pub(crate) fn is_idle(&self, epoch: &Epoch) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.is_idle(),
            _ => self.in_flight(epoch) == 0,
        }
    }

    /// Dispatches that the device has not finished, as far as that is known: less than those in flight where somebody is
    /// about to settle one. That may be who asks, in a trace's hook.
    pub(crate) fn unfinished(&self, epoch: &Epoch) -> u64 {
        match self {
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.unfinished(),
            _ => self.in_flight(epoch),
        }
    }

    /// All that was submitted before this.
    pub(crate) fn earlier(&self, epoch: &Epoch) -> Earlier {
        match self {
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => Earlier::Tickets(engine.issued()),
            _ => Earlier::Counted(Mark::of(&epoch.flow)),
        }
    }

    /// It is complete, after a look at the device.
    pub(crate) fn is_over(&self, earlier: &Earlier) -> bool {
        match (self, earlier) {
            #[cfg(feature = "cuda")]
            (Engine::Cuda(engine), Earlier::Tickets(tickets)) => engine.are_over(tickets),
            #[cfg(target_os = "linux")]
            (Engine::Worker(engine), Earlier::Counted(mark)) => {
                engine.settle();
                mark.is_past()
            }
            (_, Earlier::Counted(mark)) => mark.is_past(),
            // Of another engine.
            #[cfg(feature = "cuda")]
            (_, Earlier::Tickets(_)) => true,
        }
    }

    /// The names of the last operations, where the engine keeps them itself.
    pub(crate) fn last_ops(&self) -> Option<Vec<Text>> {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => None,
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => Some(engine.last_ops()),
            #[cfg(target_os = "linux")]
            Engine::Worker(_) => None,
            Engine::Tape(_) => None,
        }
    }

    /// Takes note of what is complete, where nobody else does.
    pub(crate) fn look(&self) {
        #[cfg(target_os = "linux")]
        if let Engine::Worker(engine) = self {
            engine.look();
        }
    }

    /// Fills in what this engine counts.
    pub(crate) fn fill(&self, stats: &mut Stats) {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(engine) => {
                stats.slots = engine.threads();
                stats.slots_busy = engine.runners();
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.fill(stats),
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.fill(stats),
            Engine::Tape(_) => {}
        }
    }

    /// Free and total bytes and the pool's, where the engine asks a device.
    pub(crate) fn memory(&self, epoch: &Arc<Epoch>) -> Result<Option<(u64, u64, PoolInfo)>> {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => {
                let _ = epoch;
                Ok(None)
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.memory(epoch).map(Some),
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.memory(epoch),
            Engine::Tape(_) => Ok(None),
        }
    }

    /// Binds the engine to the epoch that was made around it.
    pub(crate) fn installed(&self, epoch: &Arc<Epoch>) {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => {
                let _ = epoch;
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.installed(epoch),
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.installed(epoch),
            Engine::Tape(_) => {}
        }
    }

    /// The epoch was drained and closed for a rebuild: ends its natives now.
    pub(crate) fn retire(&self) {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => {} // its pool lives through every rebuild
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.retire(),
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.retire(),
            Engine::Tape(_) => {}
        }
    }

    /// Waits until nothing of it is left that the next life could want, where that is another process's to say.
    pub(crate) fn await_gone(&self, limit: std::time::Duration) {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => {}
            #[cfg(feature = "cuda")]
            Engine::Cuda(_) => {}
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => {
                engine.await_gone(limit);
            }
            Engine::Tape(_) => {}
        }
        let _ = limit;
    }

    /// Nobody will use the epoch any more. Makes no driver call here.
    pub(crate) fn close(&self) {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => {}
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.close(),
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.close(),
            Engine::Tape(_) => {}
        }
    }
}
