//! The CUDA engine, in this process.
//!
//! ```text
//! open.rs              opens a GPU          executor.rs: what any engine can be asked
//! api/                 the driver's functions and codes
//! context/             the primary context, and faults
//! streams/             stream slots, their leases, and what a stream waits for
//! memory/              device memory, pinned host memory, tables of addresses
//! code/                modules, kernels, launches, plans
//! dispatch/            a dispatch, from its submission to the record of its end; the queue of an op's CUDA half
//! late/                dispatches that are enqueued after their submission
//! wait/                a dispatch in flight, and the waits for it
//! graph/               programs as CUDA graphs
//! links.rs             by what two GPUs reach each other
//! housekeeping.rs      a thread that does the necessary work when no other thread calls; sweep.rs: how
//! ```
//!
//! The raw handles are our own, over functions that return integers (`api/`): nothing panics or blocks in a `Drop`, and
//! a status code that the bindings do not know is harmless. **A `Drop` makes no driver call**; it only queues.
//!
//! How things are kept alive: device memory is given back only behind the completions of all its uses. Its regions know
//! these completions (`memory/reclaim.rs`), so work in flight need not hold the memory. Everything else that the device may
//! still use (staging, pinned results, the op's own data) belongs to the task, which the slot's ring holds until its
//! ticket has completed.

pub(crate) mod api;
mod code;
mod context;
mod dispatch;
mod executor;
mod graph;
mod housekeeping;
mod late;
mod links;
mod memory;
pub(crate) mod open;
mod streams;
mod sweep;
mod wait;

pub(crate) use crate::engines::op::PlanBuilder;
pub(crate) use code::Function;
pub(crate) use code::LoadedModule;
pub(crate) use code::Object;
pub use code::{KernelArg, Ptx};
pub(crate) use context::{CONTEXT_IS_DESTROYED, classify, report};
pub use dispatch::EnqueueOn;
pub(crate) use dispatch::Queue;
pub use dispatch::StreamPtr;
pub(crate) use graph::Graphs;
pub(crate) use links::Links;
pub(crate) use memory::Peer;
pub(crate) use memory::SLOT;
pub(crate) use memory::Series;
pub(crate) use memory::SliceHold;
pub(crate) use memory::{Reserved, Staging};
#[cfg(target_os = "linux")]
pub(crate) use open::uuid_of;
pub(crate) use open::{all_are_since, device_count, installed, known_count, open};
pub(crate) use streams::State as SlotState;

use crate::core::clock::Timing;
use crate::core::epoch::Epoch;
use crate::core::error::Text;
use crate::core::order::flow::Mark as LateMark;
use crate::core::sync::{Arc, AtomicBool, Mutex};
use crate::core::trace::{Counters, Stats};
use code::LoadedCode;
use context::Context;
use cudarc::driver::sys::{CUcontext, CUevent, CUfunction, CUgraphExec, CUmemoryPool, CUmodule, CUstream};
use late::LateWork;
use memory::Memory;
use std::sync::OnceLock;
use std::sync::Weak;
use streams::{Slot, Streams};

/// The engine of one epoch of a CUDA device.
pub(crate) struct CudaEngine {
    pub(crate) core: Arc<Core>,
}

/// What the engine, its parts and its housekeeping thread share: four objects, each with its own room.
pub(crate) struct Core {
    pub(crate) context: Arc<Context>,
    pub(crate) streams: Streams,
    pub(crate) memory: Memory,
    pub(crate) late: LateWork,
    pub(crate) code: LoadedCode,
    pub(crate) counters: Arc<Counters>,
    pub(crate) timing: &'static Timing,
    housekeeper: housekeeping::Housekeeper,
    /// Whether the native objects were torn down.
    torn: AtomicBool,
    /// Whether nothing of this epoch is left on the context, or it was given up.
    left: AtomicBool,
    epoch: Arc<OnceLock<Weak<Epoch>>>,
}

impl Core {
    /// Wakes the housekeeping thread: there may be something to do.
    fn nudge(&self) {
        self.housekeeper.nudge.nudge();
    }
}

/// The last ticket of each slot at some moment, with the slot's number and the ticket's event.
type Tickets = Vec<(usize, (u64, Option<Native<CUevent>>))>;

/// All work that was submitted up to some moment.
pub(crate) struct Issued {
    /// The dispatches that were not enqueued at that moment; `None` once they are.
    late: Mutex<Option<LateMark>>,
    tickets: Mutex<Tickets>,
}

/// A handle of the driver or of a library, or an address, that is not tied to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Native<T>(pub(crate) T);

/// A handle or address that any thread may hold, and several at once: holding it does nothing. Each use is an `unsafe`
/// call, and the comment there says why no other thread interferes.
///
/// # Safety
/// What it points at may be used from another thread than the one that made it.
pub(crate) unsafe trait AnyThread: Copy {}

/// A type for each untyped handle (`*mut c_void`) of a library, so that [`AnyThread`] is promised for one of them and not
/// for every pointer.
macro_rules! opaque_handles {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name(*mut std::ffi::c_void);

        impl $name {
            /// No handle: for the library to write one.
            #[allow(dead_code, reason = "not every library writes its handles so")]
            pub(crate) const NULL: Self = $name(std::ptr::null_mut());
        }
    )* };
}
pub(crate) use opaque_handles;

// SAFETY: objects of the driver, which locks them itself: any thread may use them, also several at once.
unsafe impl AnyThread for CUcontext {}
// SAFETY: as above.
unsafe impl AnyThread for CUmemoryPool {}
// SAFETY: as above.
unsafe impl AnyThread for CUstream {}
// SAFETY: as above.
unsafe impl AnyThread for CUevent {}
// SAFETY: as above.
unsafe impl AnyThread for CUmodule {}
// SAFETY: as above.
unsafe impl AnyThread for CUfunction {}
// SAFETY: not locked by the driver. Only the holder of one slot's lease uses it, and it is destroyed after its last
// user is gone.
unsafe impl AnyThread for CUgraphExec {}
// SAFETY: pinned memory is memory of the process. Its only user is the block or slot that owns it.
unsafe impl AnyThread for *mut u8 {}

// SAFETY: holding the address does nothing, and the object it names is bound to no thread.
unsafe impl<T: AnyThread> Send for Native<T> {}
// SAFETY: as above.
unsafe impl<T: AnyThread> Sync for Native<T> {}

impl CudaEngine {
    /// The names of the last operations of all slots, oldest first within a slot.
    pub(crate) fn last_ops(&self) -> Vec<Text> {
        let names = self.core.streams.all().map(|s| s.shared.recent.names());
        names.flatten().collect()
    }

    /// Tells the slots which epoch was made around this engine.
    pub(crate) fn installed(&self, epoch: &Arc<Epoch>) {
        let _ = self.core.epoch.set(Arc::downgrade(epoch));
    }

    /// The number of dispatches not known to be complete, after polling the device.
    pub(crate) fn in_flight(&self) -> u64 {
        self.core.sweep();
        let in_flight = |slot: &Slot| {
            if slot.lease.is_locked() {
                slot.shared.poll_last(); // the sweep skipped it
            }
            slot.stream.sequence.in_flight()
        };
        self.core.late.in_flight() + self.core.streams.all().map(in_flight).sum::<u64>()
    }

    /// Whether nothing is in flight, and no admitted thread holds a lease or is inside the driver without one.
    pub(crate) fn is_drained(&self) -> bool {
        self.core.sweep();
        let is_drained = |slot: &Slot| {
            let state = slot.lease.try_lock();
            state.is_some() && slot.stream.sequence.in_flight() == 0
        };
        // Late dispatches are checked before the slots, because they end there. Blocking waits are checked after the
        // slots: no new one is admitted meanwhile.
        self.core.late.in_flight() == 0
            && self.core.streams.all().all(is_drained)
            && self.core.streams.waits().inside() == 0
            && !self.core.memory.managed().has_slices()
    }

    /// All work that has been submitted by now.
    pub(crate) fn issued(&self) -> Issued {
        // Read the late dispatches first: one that is enqueued between the two reads is then in at least one of them.
        let late = Mutex::new(Some(self.core.late.mark()));
        Issued { late, tickets: Mutex::new(self.tickets()) }
    }

    fn tickets(&self) -> Tickets {
        let last = |slot: &Slot| (slot.shared.index, slot.shared.last());
        self.core.streams.all().map(last).collect()
    }

    /// Whether all of `issued` is complete, after polling the device.
    pub(crate) fn are_over(&self, issued: &Issued) -> bool {
        {
            let mut late = issued.late.lock();
            match &*late {
                Some(mark) if !mark.is_past() => return false,
                // What was late is enqueued now, on tickets after those recorded: record the tickets anew.
                Some(_) => *issued.tickets.lock() = self.tickets(),
                None => {}
            }
            *late = None;
        }
        self.have_passed(&issued.tickets.lock())
    }

    fn have_passed(&self, tickets: &Tickets) -> bool {
        self.core.sweep();
        tickets.iter().all(|&(index, (ticket, event))| {
            let Some(slot) = self.core.streams.slot(index) else { return true };
            // The sweep has polled the last ticket of each slot, except the slots that another thread holds.
            let sequence = &slot.stream.sequence;
            let asked = sequence.issued() == ticket && !slot.lease.is_locked();
            sequence.reached(ticket) || (!asked && slot.shared.poll(ticket, event))
        })
    }

    /// Fills in what this engine counts.
    pub(crate) fn fill(&self, stats: &mut Stats) {
        let core = &self.core;
        core.streams.fill(stats);
        core.code.fill(stats);
        core.memory.fill(stats);
        stats.in_flight += core.late.in_flight();
    }
}
