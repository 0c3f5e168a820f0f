//! The engine that executes work: an enum, one layer of dispatch.

use crate::core::device_info::PoolInfo;
use crate::core::epoch::{Cause, Epoch};
use crate::core::error::{Result, Text};
use crate::core::order::flow::Mark;
use crate::core::sync::Arc;
use crate::core::trace::Stats;

/// The engine of an epoch.
pub(crate) enum Engine {
    /// The CPU, with a thread pool of its own.
    #[cfg(feature = "host")]
    Host(Arc<crate::engines::host::HostEngine>),
    /// A GPU, in this process.
    #[cfg(feature = "cuda")]
    Cuda(crate::engines::cuda::CudaEngine),
    /// Either of them, in a child process.
    #[cfg(target_os = "linux")]
    Worker(crate::engines::worker::WorkerEngine),
    /// None: submitted work is recorded.
    Tape(Arc<crate::device::program::Tape>),
}

/// All work that was submitted to an epoch before some moment.
pub(crate) enum Earlier {
    /// Counted by the epoch itself.
    Counted(Mark),
    /// The last tickets of the slots.
    #[cfg(feature = "cuda")]
    Tickets(crate::engines::cuda::Issued),
}

impl Engine {
    /// Waiters are not woken when work ends; they must poll.
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
    pub(crate) fn as_cuda(&self) -> Option<&crate::engines::cuda::CudaEngine> {
        match self {
            Engine::Cuda(engine) => Some(engine),
            _ => None,
        }
    }

    /// Whether it records what is submitted.
    #[inline]
    pub(crate) fn is_tape(&self) -> bool {
        matches!(self, Engine::Tape(_))
    }

    /// Whether its memory is ordinary memory of this process.
    pub(crate) fn is_host(&self) -> bool {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => true,
            _ => false,
        }
    }

    /// The worker engine, if it is one.
    #[cfg(target_os = "linux")]
    pub(crate) fn as_worker(&self) -> Option<&crate::engines::worker::WorkerEngine> {
        match self {
            Engine::Worker(engine) => Some(engine),
            _ => None,
        }
    }

    /// Whether the device need not retry an allocation that found no memory: the engine does so itself, or it only
    /// records.
    pub(crate) fn makes_room(&self) -> bool {
        #[cfg(feature = "cuda")]
        return self.as_cuda().is_some() || self.is_tape();
        #[cfg(not(feature = "cuda"))]
        self.is_tape()
    }

    /// Whether the fault plan makes the next allocation fail.
    pub(crate) fn allocation_is_to_fail(&self) -> bool {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(engine) => engine.plan().is_some_and(|plan| plan.next_allocation_fails()),
            #[cfg(all(feature = "host", target_os = "linux"))]
            Engine::Worker(engine) => engine.plan.as_ref().is_some_and(|plan| plan.next_allocation_fails()),
            _ => false,
        }
    }

    /// Whether its memory is in another process.
    pub(crate) fn is_isolated(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.as_worker().is_some();
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Whether this process can recover from a fault of this cause.
    pub(crate) fn recovers_from(&self, cause: &Cause) -> bool {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => true,
            // Other code destroyed the context. This is no device fault, so a new context can be made. Everything else
            // that ends a context ends CUDA for the process.
            #[cfg(feature = "cuda")]
            Engine::Cuda(_) => cause.code.as_ref().is_some_and(|c| c.0 == crate::engines::cuda::CONTEXT_IS_DESTROYED),
            // Whatever the cause was, it ended a child process, and another one can be started.
            #[cfg(target_os = "linux")]
            Engine::Worker(_) => true,
            Engine::Tape(_) => false,
        }
    }

    /// What the user can do when the device is lost.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => {
                "open the device again; if the faults are expected, use a restart policy that allows more restarts"
            }
            #[cfg(feature = "cuda")]
            Engine::Cuda(_) => {
                "a device fault ends CUDA for this process on every GPU: restart the process, or open the device \
                 isolated, in a worker process (`DeviceBuilder::isolated`)"
            }
            #[cfg(target_os = "linux")]
            Engine::Worker(_) => {
                "open the device again; if workers are expected to fail, use a restart policy that allows more restarts"
            }
            Engine::Tape(_) => "record again",
        }
    }

    /// How many dispatches are not known to be complete.
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

    /// Whether nothing is in flight, and no admitted thread may still submit work or call the driver. Call only after
    /// admission was closed.
    pub(crate) fn is_drained(&self, epoch: &Epoch) -> bool {
        match self {
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.is_drained(),
            _ => self.in_flight(epoch) == 0,
        }
    }

    /// Whether nothing is in flight, and no thread is about to release what settled work held, as far as is known.
    pub(crate) fn is_idle(&self, epoch: &Epoch) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.is_idle(),
            _ => self.in_flight(epoch) == 0,
        }
    }

    /// How many dispatches the device has not finished, as far as is known. Less than the number in flight while a
    /// thread is about to settle one. That thread may be the caller, in a trace's hook.
    pub(crate) fn unfinished(&self, epoch: &Epoch) -> u64 {
        match self {
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.unfinished(),
            _ => self.in_flight(epoch),
        }
    }

    /// All work submitted so far.
    pub(crate) fn earlier(&self, epoch: &Epoch) -> Earlier {
        match self {
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => Earlier::Tickets(engine.issued()),
            _ => Earlier::Counted(Mark::of(&epoch.flow)),
        }
    }

    /// Whether that work is complete; polls the device.
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
            // Tickets of another engine.
            #[cfg(feature = "cuda")]
            (_, Earlier::Tickets(_)) => true,
        }
    }

    /// The names of the last operations, if the engine keeps them itself.
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

    /// Settles what is complete, for an engine that does not do so by itself.
    pub(crate) fn look(&self) {
        #[cfg(target_os = "linux")]
        if let Engine::Worker(engine) = self {
            engine.look();
        }
    }

    /// Fills in the counts that the engine keeps.
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

    /// Free and total bytes and the state of the pool, if the engine asks a device for them.
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

    /// Connects the engine to the epoch that was made around it.
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

    /// Destroys the native objects now. The epoch was drained and closed for a rebuild.
    pub(crate) fn retire(&self) {
        match self {
            #[cfg(feature = "host")]
            Engine::Host(_) => {} // its pool survives every rebuild
            #[cfg(feature = "cuda")]
            Engine::Cuda(engine) => engine.retire(),
            #[cfg(target_os = "linux")]
            Engine::Worker(engine) => engine.retire(),
            Engine::Tape(_) => {}
        }
    }

    /// Waits until the engine holds nothing that the next generation could need, if another process holds it.
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

    /// The epoch will not be used any more. Makes no driver call here.
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
