//! The CUDA engine, in this process.
//!
//! ```text
//! Core ─┬─ context.rs       the primary context; every entry binds it and puts back what was current
//!       ├─ slot.rs          stream slots: what is leased while work is enqueued, and what marks share
//!       │   ├─ sequence.rs  which tickets are known to be over; one atomic
//!       │   ├─ ring.rs      what is kept alive until its ticket has passed
//!       │   └─ blas.rs      the slot's library handle and workspace, made lazily
//!       ├─ reclaim.rs       device memory on its way back to the pool
//!       ├─ pinned.rs        pinned host memory: blocks for staging, slots for small results
//!       ├─ blocker.rs       blocking waits
//!       └─ housekeeping.rs  one thread that does all this when nobody else calls
//! submit.rs: a dispatch    task.rs: it in flight    enqueue.rs: what an op's CUDA half works with
//! ```
//!
//! Raw objects are ours, over functions that answer integers (`api/`): nothing panics in a `Drop`, nothing blocks
//! there, and a status code that the bindings do not know is harmless. **A `Drop` makes no driver call**; it queues.
//!
//! How keep-alives work: device memory is given back only behind the completions of all its uses, which its regions
//! know (`reclaim.rs`), so work in flight need not hold it. What else the device may still touch (staging, pinned
//! results, the op's own data) hangs on the task, which the slot's ring holds until its ticket has passed.

mod api;
#[cfg(feature = "blas")]
mod blas;
mod blocker;
mod context;
mod enqueue;
mod fault;
mod follow;
mod housekeeping;
mod lease;
mod live;
mod memory;
mod module;
mod newest;
mod open;
mod parallel;
mod peer;
mod pinned;
mod reclaim;
mod ring;
mod sequence;
mod slot;
mod staging;
mod submit;
mod task;

#[cfg(feature = "blas")]
pub(crate) use blas::{PointerMode, warm as warm_blas};
pub use enqueue::Enqueue;
pub(crate) use fault::{CONTEXT_IS_DESTROYED, latch_all};
pub use module::{KernelArg, LaunchDims, Ptx};
pub(crate) use open::{device_count, installed, open};
pub(crate) use peer::Peer;
pub(crate) use reclaim::PoolBytes;
pub(crate) use slot::Mark;
pub(crate) use staging::{Reserved, Staged, Staging};

use crate::engine::Epoch;
use crate::error::Text;
use crate::sync::{Arc, Ordering};
use crate::trace::{Counters, Stats};
use context::Context;
use std::sync::OnceLock;
use std::sync::Weak;

/// The engine of one epoch of a CUDA device.
pub(crate) struct CudaEngine {
    pub(crate) core: Arc<Core>,
}

/// What the engine's parts and its housekeeping thread share.
pub(crate) struct Core {
    pub(crate) context: Arc<Context>,
    pub(crate) slots: Box<[slot::Slot]>,
    pub(crate) pool: memory::Pool,
    pub(crate) reclaim: Arc<reclaim::Reclaim>,
    pub(crate) pinned: Arc<pinned::PinnedPool>,
    pub(crate) blockers: blocker::Blockers,
    pub(crate) timers: task::Timers,
    pub(crate) modules: module::Modules,
    /// The natives were torn down.
    pub(crate) torn: crate::sync::AtomicBool,
    /// GPUs that may reach our pool.
    pub(crate) peers: crate::sync::Mutex<Vec<i32>>,
    pub(crate) keeper: housekeeping::Keeper,
    /// Nothing of this epoch is left on the context, or it was given up.
    pub(crate) left: crate::sync::AtomicBool,
    pub(crate) counters: Arc<Counters>,
    pub(crate) epoch: Arc<OnceLock<Weak<Epoch>>>,
}

/// Handles of the driver may be used from any thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Native<T>(pub(crate) T);

// SAFETY: CUDA's handles are addresses of objects that the driver locks itself; using one from several threads, also at
// once, is allowed. Who may use which when is the engine's business.
unsafe impl<T> Send for Native<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Native<T> {}

impl CudaEngine {
    /// The names of the last operations of all slots, oldest first within a slot.
    pub(crate) fn last_ops(&self) -> Vec<Text> {
        let names = self.core.slots.iter().map(|s| s.shared.recent.names());
        names.flatten().map(Text::Borrowed).collect()
    }

    /// Binds the slots to the epoch that was made around this engine.
    pub(crate) fn installed(&self, epoch: &Arc<Epoch>) {
        let _ = self.core.epoch.set(Arc::downgrade(epoch));
    }

    /// Dispatches not known to be complete, after a look at the device.
    pub(crate) fn in_flight(&self) -> u64 {
        self.core.sweep();
        self.core.slots.iter().map(|s| s.shared.sequence.in_flight()).sum()
    }

    /// Fills in what this engine counts.
    pub(crate) fn fill(&self, stats: &mut Stats) {
        let core = &self.core;
        stats.slots = core.slots.len();
        for slot in &core.slots {
            let in_flight = slot.shared.sequence.in_flight();
            stats.in_flight += in_flight;
            stats.slots_busy += usize::from(in_flight > 0);
            stats.dispatches += slot.shared.dispatches.load(Ordering::Relaxed);
            if let Some(state) = slot.lease.try_lock() {
                stats.events += state.ring.events() as u64;
                #[cfg(feature = "blas")]
                {
                    stats.library_handles += u64::from(state.blas.is_some());
                }
            }
        }
        stats.streams = core.slots.len() as u64 + core.blockers.made();
        stats.parked = core.reclaim.parked() as u64;
        stats.pinned_bytes = core.pinned.bytes();
        stats.staging_hits = core.pinned.hits();
    }
}
