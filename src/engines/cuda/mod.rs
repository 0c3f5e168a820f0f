//! The CUDA engine, in this process.
//!
//! ```text
//! Core ─┬─ context.rs       the primary context; every entry makes it current, and restores the previous one
//!       ├─ slot.rs          stream slots, each leased while work is enqueued; what the marks of a slot share
//!       │   ├─ ring.rs      what is kept alive until its ticket has completed
//!       │   ├─ tables.rs    tables of addresses for the batches of libraries
//!       │   │   └─ table_staging.rs  pinned memory to copy long tables through
//!       │   └─ ../library/  the slot's handles of libraries, and the workspace that they share
//!       ├─ reclaim.rs       device memory on its way back to the pool
//!       │   └─ frees.rs     the part of it that waits on a slot
//!       ├─ pinned.rs        pinned host memory: blocks for staging, slots for small results
//!       │   └─ handed_on.rs its reuse by later epochs
//!       ├─ blocking_wait.rs blocking waits
//!       ├─ module.rs        modules, the code of kernels; function.rs: a kernel; ptx.rs: kernels that ops bring
//!       ├─ plans.rs         plans, each built once and used by many operations
//!       ├─ helpers.rs       threads that build plans, and enqueue work that its submitter could not enqueue
//!       │   └─ members.rs   streams that are held while a call blocks
//!       └─ housekeeping.rs  a thread that does the necessary work when no other thread calls; sweep.rs: how
//! submit.rs: a dispatch    follow.rs: what it waits for on the device
//! lease.rs: the choice of its slot    under_lease.rs, turn.rs: the steps while the slot is leased
//! late_submit.rs: a dispatch that is enqueued after its submission; late_job.rs: its enqueue; core/order/late.rs: its end
//! across.rs, together.rs: a dispatch over several devices
//! graph.rs: programs as CUDA graphs; quiet.rs, inside.rs: no other thread is in the driver during a capture
//! queue.rs: the leased stream of an op's CUDA half; enqueue.rs: as the op sees it; copies.rs: its copies
//! launch.rs, limits.rs: kernel launches    task.rs, task_core.rs: a dispatch in flight    timer.rs: its time
//! staging.rs: host data on its way    registered.rs: host data in memory shared with a parent process
//! peer.rs: copies to another GPU
//! memory.rs: the pool    live.rs: which addresses are allocated    last_event.rs: the newest mark
//! executor.rs: what any engine can be asked    open.rs: opening a GPU    fault.rs: what a status code means
//! ```
//!
//! The raw handles are our own, over functions that return integers (`api/`): nothing panics or blocks in a `Drop`, and
//! a status code that the bindings do not know is harmless. **A `Drop` makes no driver call**; it only queues.
//!
//! How things are kept alive: device memory is given back only behind the completions of all its uses. Its regions know
//! these completions (`reclaim.rs`), so work in flight need not hold the memory. Everything else that the device may
//! still use (staging, pinned results, the op's own data) belongs to the task, which the slot's ring holds until its
//! ticket has completed.

mod across;
pub(crate) mod api;
mod blocking_wait;
mod context;
mod copies;
mod enqueue;
mod executor;
mod fault;
mod follow;
mod frees;
mod function;
mod graph;
mod handed_on;
mod helpers;
mod housekeeping;
mod in_use;
mod inside;
mod last_event;
mod late_job;
mod late_submit;
mod launch;
mod lease;
mod limits;
mod live;
mod members;
mod memory;
mod module;
pub(crate) mod open;
mod peer;
mod pinned;
mod plans;
mod ptx;
#[cfg(debug_assertions)]
mod ptx_params;
mod queue;
mod quiet;
mod recent;
mod reclaim;
#[cfg(target_os = "linux")]
mod registered;
mod ring;
mod slot;
mod staging;
mod submit;
mod sweep;
mod table_staging;
mod tables;
mod task;
mod task_core;
mod timer;
mod together;
mod turn;
mod turns;
mod under_lease;

pub use enqueue::{Enqueue, StreamPtr};
pub(crate) use fault::{CONTEXT_IS_DESTROYED, classify, report};
pub(crate) use function::Function;
pub(crate) use graph::Graphs;
pub(crate) use housekeeping::Nudge;
pub(crate) use late_submit::{Frame as LateFrame, LateJob};
pub(crate) use module::LoadedModule;
#[cfg(target_os = "linux")]
pub(crate) use open::uuid_of;
pub(crate) use open::{device_count, installed, known_count, open};
pub(crate) use peer::Peer;
pub(crate) use pinned::SLOT;
pub use plans::PlanBuilder;
pub use ptx::{KernelArg, Ptx};
pub use queue::EnqueueOn;
pub(crate) use queue::Queue;
pub(crate) use slot::State as SlotState;
pub(crate) use staging::{Reserved, Staging};
pub(crate) use tables::Series;
pub(crate) use task::{CudaTask, LateTask, Leg};
pub(crate) use task_core::TaskCore;

use crate::core::clock::Timing;
use crate::core::epoch::Epoch;
use crate::core::error::Text;
use crate::core::order::flow::{Flow, Mark as LateMark};
use crate::core::sync::{Arc, Mutex, Ordering};
use crate::core::trace::{Counters, Stats};
use crate::engines::library::Entry;
use context::Context;
use cudarc::driver::sys::{CUcontext, CUevent, CUfunction, CUgraphExec, CUmemoryPool, CUmodule, CUstream};
use std::sync::OnceLock;
use std::sync::Weak;

/// The engine of one epoch of a CUDA device.
pub(crate) struct CudaEngine {
    pub(crate) core: Arc<Core>,
}

/// What the engine, its parts and its housekeeping thread share.
pub(crate) struct Core {
    pub(crate) context: Arc<Context>,
    pub(crate) slots: Box<[slot::Slot]>,
    pub(crate) pool: memory::Pool,
    pub(crate) reclaim: Arc<reclaim::Reclaim>,
    pub(crate) pinned: Arc<pinned::PinnedPool>,
    /// In a worker: which parts of the parent's memory are registered with the driver.
    #[cfg(target_os = "linux")]
    pub(crate) registered: registered::Registered,
    pub(crate) blocking_waits: blocking_wait::BlockingWaits,
    pub(crate) timers: timer::Timers,
    pub(crate) modules: Arc<module::Modules>,
    /// The libraries that can be used, and (`shared`) what the slots share of each.
    pub(crate) libraries: &'static [Entry],
    pub(crate) shared: crate::engines::library::Shared,
    pub(crate) objects: Arc<crate::engines::library::Objects>,
    /// Whether the native objects were torn down.
    pub(crate) torn: crate::core::sync::AtomicBool,
    /// GPUs that have access to our pool.
    pub(crate) peers: Mutex<Vec<i32>>,
    pub(crate) housekeeper: housekeeping::Housekeeper,
    /// Dispatches that were submitted but are not enqueued yet.
    pub(crate) late: Arc<Flow>,
    pub(crate) helpers: Arc<helpers::Helpers>,
    pub(crate) pools: Box<[members::Pool]>,
    pub(crate) plans: plans::Plans,
    /// Whether nothing of this epoch is left on the context, or it was given up.
    pub(crate) left: crate::core::sync::AtomicBool,
    pub(crate) counters: Arc<Counters>,
    pub(crate) timing: &'static Timing,
    pub(crate) epoch: Arc<OnceLock<Weak<Epoch>>>,
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
        let names = self.core.all_slots().map(|s| s.shared.recent.names());
        names.flatten().collect()
    }

    /// Tells the slots which epoch was made around this engine.
    pub(crate) fn installed(&self, epoch: &Arc<Epoch>) {
        let _ = self.core.epoch.set(Arc::downgrade(epoch));
    }

    /// The number of dispatches not known to be complete, after polling the device.
    pub(crate) fn in_flight(&self) -> u64 {
        self.core.sweep();
        let in_flight = |slot: &slot::Slot| {
            if slot.lease.is_locked() {
                slot.shared.poll_last(); // the sweep skipped it
            }
            slot.stream.sequence.in_flight()
        };
        self.core.late.in_flight() + self.core.all_slots().map(in_flight).sum::<u64>()
    }

    /// Whether nothing is in flight, and no admitted thread holds a lease or is inside the driver without one.
    pub(crate) fn is_drained(&self) -> bool {
        self.core.sweep();
        let is_drained = |slot: &slot::Slot| {
            let state = slot.lease.try_lock();
            state.is_some() && slot.stream.sequence.in_flight() == 0
        };
        // Late dispatches are checked before the slots, because they end there. Blocking waits are checked after the
        // slots: no new one is admitted meanwhile.
        self.core.late.in_flight() == 0
            && self.core.all_slots().all(is_drained)
            && self.core.blocking_waits.inside() == 0
    }

    /// All work that has been submitted by now.
    pub(crate) fn issued(&self) -> Issued {
        // Read the late dispatches first: one that is enqueued between the two reads is then in at least one of them.
        let late = Mutex::new(Some(LateMark::of(&self.core.late)));
        Issued { late, tickets: Mutex::new(self.tickets()) }
    }

    fn tickets(&self) -> Tickets {
        let last = |slot: &slot::Slot| (slot.shared.index, slot.shared.last());
        self.core.all_slots().map(last).collect()
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
            let Some(slot) = self.core.slot(index) else { return true };
            // The sweep has polled the last ticket of each slot, except the slots that another thread holds.
            let sequence = &slot.stream.sequence;
            let asked = sequence.issued() == ticket && !slot.lease.is_locked();
            sequence.reached(ticket) || (!asked && slot.shared.poll(ticket, event))
        })
    }

    /// Fills in what this engine counts.
    pub(crate) fn fill(&self, stats: &mut Stats) {
        let core = &self.core;
        stats.slots = core.slots.len();
        for slot in core.all_slots() {
            let in_flight = slot.stream.sequence.in_flight();
            stats.in_flight += in_flight;
            stats.slots_busy += usize::from(in_flight > 0);
            stats.dispatches += slot.shared.dispatches.load(Ordering::Relaxed);
            if let Some(state) = slot.lease.try_lock() {
                stats.events += state.ring.events() as u64;
                stats.library_handles += state.handles.count();
            }
            stats.plan_hits += slot.shared.plans.hits.load(Ordering::Relaxed);
            stats.plan_misses += slot.shared.plans.misses.load(Ordering::Relaxed);
            stats.pool_hits += slot.shared.memory.hits.load(Ordering::Relaxed);
            stats.pool_misses += slot.shared.memory.misses.load(Ordering::Relaxed);
        }
        stats.streams = core.all_slots().count() as u64 + core.blocking_waits.made();
        let (hits, misses) = core.plans.counts();
        stats.plan_hits += hits;
        stats.plan_misses += misses;
        (stats.plans, stats.plan_bytes) = core.plans.held();
        stats.in_flight += core.late.in_flight();
        stats.parked = core.reclaim.parked();
        stats.pinned_bytes = core.pinned.bytes();
        stats.staging_hits = core.pinned.hits();
        stats.library_objects = core.objects.held() as u64;
        core.shared.fill(core.libraries, stats);
    }
}
