//! The engine of an epoch, whose type the floors above know.
//!
//! Each engine implements [`Executor`], which has all that an epoch, its pendings and its device ask of any engine. None of it is
//! on the path of a dispatch: there the floor that knows the engines compares the kind and calls the type
//! ([`AnyEngine::get`]), which is one comparison and one load.

use super::{Cause, Epoch};
use crate::core::buffer::Allocation;
use crate::core::device_info::PoolInfo;
use crate::core::error::{Result, Text};
use crate::core::order::AccessHistory;
use crate::core::order::flow::Mark;
use crate::core::sync::Arc;
use crate::core::trace::Stats;
use std::any::Any;
use std::ops::Deref;
use std::time::Duration;

/// The kinds of engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineKind {
    /// The CPU, with a thread pool of its own.
    #[cfg(feature = "host")]
    Host,
    /// A GPU, in this process.
    #[cfg(feature = "cuda")]
    Cuda,
    /// Either of them, in a child process.
    #[cfg(target_os = "linux")]
    Worker,
    /// None: submitted work is recorded.
    Tape,
}

/// All work that was submitted to an epoch before some moment.
pub(crate) enum Earlier {
    /// Counted by the epoch itself.
    Counted(Mark),
    /// In the engine's own terms.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "made by the CUDA engine only"))]
    Own(Box<dyn Any + Send + Sync>),
}

/// What any engine can be asked.
pub(crate) trait Executor: Send + Sync + 'static {
    /// Whether the device need not retry an allocation that found no memory: the engine does so itself, or it only
    /// records.
    fn makes_room(&self) -> bool {
        false
    }
    /// Whether the fault plan makes the next allocation fail.
    fn allocation_is_to_fail(&self) -> bool {
        false
    }
    /// Whether this process can recover from a fault of this cause.
    fn recovers_from(&self, cause: &Cause) -> bool;
    /// What the user can do when the device is lost.
    fn remedy(&self) -> &'static str;
    /// How many dispatches are not known to be complete.
    fn in_flight(&self, epoch: &Epoch) -> u64 {
        epoch.flow.in_flight()
    }
    /// Whether nothing is in flight, and no admitted thread may still submit work or call the driver. Call only after
    /// admission was closed.
    fn is_drained(&self, epoch: &Epoch) -> bool {
        self.in_flight(epoch) == 0
    }
    /// Whether nothing is in flight, and no thread is about to release what settled work held, as far as is known.
    fn is_idle(&self, epoch: &Epoch) -> bool {
        self.in_flight(epoch) == 0
    }
    /// How many dispatches the device has not finished, as far as is known. Less than the number in flight while a
    /// thread is about to settle one. That thread may be the caller, in a trace's hook.
    fn unfinished(&self, epoch: &Epoch) -> u64 {
        self.in_flight(epoch)
    }
    /// All work submitted so far.
    fn earlier(&self, epoch: &Epoch) -> Earlier {
        Earlier::Counted(Mark::new(&epoch.flow))
    }
    /// Whether that work is complete; polls the device.
    fn is_over(&self, earlier: &Earlier) -> bool {
        match earlier {
            Earlier::Counted(mark) => mark.is_past(),
            Earlier::Own(_) => true, // of another engine
        }
    }
    /// The names of the last operations, if the engine keeps them itself.
    fn last_ops(&self) -> Option<Vec<Text>> {
        None
    }
    /// Settles what is complete, for an engine that does not do so by itself.
    fn look(&self) {}
    /// Fills in the counts that the engine keeps.
    fn fill(&self, stats: &mut Stats) {
        let _ = stats;
    }
    /// Free and total bytes and the state of the pool, if the engine asks a device for them.
    fn memory(&self, epoch: &Arc<Epoch>) -> Result<Option<(u64, u64, PoolInfo)>> {
        let _ = epoch;
        Ok(None)
    }
    /// Memory for a buffer that an operation makes while it runs, behind `lead` bytes (`core/buffer/shift.rs`).
    fn make(&self, epoch: &Arc<Epoch>, bytes: usize, lead: usize) -> Result<(Arc<Allocation>, AccessHistory)>;
    /// Connects the engine to the epoch that was made around it.
    fn installed(&self, epoch: &Arc<Epoch>) {
        let _ = epoch;
    }
    /// A fault has ended it, and this process does not recover from that.
    fn latch(&self, cause: Option<Cause>) {
        let _ = cause;
    }
    /// Destroys the native objects now. The epoch was drained and closed for a rebuild.
    fn retire(&self) {}
    /// Waits until the engine holds nothing that the next generation could need, if another process holds it.
    fn await_gone(&self, limit: Duration) {
        let _ = limit;
    }
    /// The epoch will not be used any more. Makes no driver call here.
    fn close(&self) {}
}

/// An engine that [`AnyEngine`] can hold.
///
/// # Safety
/// No other type has the same kind.
pub(crate) unsafe trait OfKind: Executor {
    const KIND: EngineKind;
}

/// The engine of an epoch.
pub(crate) struct AnyEngine {
    kind: EngineKind,
    engine: Box<dyn Executor>,
}

impl AnyEngine {
    pub(crate) fn new<E: OfKind>(engine: E) -> Self {
        AnyEngine { kind: E::KIND, engine: Box::new(engine) }
    }

    /// The engine, if it is of this type.
    #[inline]
    pub(crate) fn get<E: OfKind>(&self) -> Option<&E> {
        if self.kind != E::KIND {
            return None;
        }
        // SAFETY: compared above.
        Some(unsafe { self.cast() })
    }

    /// The engine as this type.
    ///
    /// # Safety
    /// Its kind is that of the type.
    #[inline]
    pub(crate) unsafe fn cast<E: OfKind>(&self) -> &E {
        debug_assert!(self.kind == E::KIND);
        // SAFETY: `new` took the kind from the engine's own type, and only one type has that kind (`OfKind`).
        unsafe { &*std::ptr::from_ref(&*self.engine).cast::<E>() }
    }

    #[inline]
    pub(crate) fn kind(&self) -> EngineKind {
        self.kind
    }

    /// Waiters are not woken when work ends; they must poll.
    pub(crate) fn is_polled(&self) -> bool {
        match self.kind {
            #[cfg(feature = "cuda")]
            EngineKind::Cuda => true,
            _ => false,
        }
    }

    /// Whether it records what is submitted.
    #[inline]
    pub(crate) fn is_tape(&self) -> bool {
        self.kind == EngineKind::Tape
    }

    /// Whether its memory is ordinary memory of this process.
    pub(crate) fn is_host(&self) -> bool {
        match self.kind {
            #[cfg(feature = "host")]
            EngineKind::Host => true,
            _ => false,
        }
    }

    /// Whether it computes on the CPU, in this process or in another.
    pub(crate) fn is_on_the_cpu(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(worker) = self.as_worker() {
            return !worker.is_gpu();
        }
        self.is_host()
    }

    /// Whether its memory is in another process.
    pub(crate) fn is_isolated(&self) -> bool {
        match self.kind {
            #[cfg(target_os = "linux")]
            EngineKind::Worker => true,
            _ => false,
        }
    }
}

impl Deref for AnyEngine {
    type Target = dyn Executor;
    fn deref(&self) -> &(dyn Executor + 'static) {
        &*self.engine
    }
}
