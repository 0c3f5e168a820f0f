//! Device memory, and pinned host memory.
//!
//! ```text
//! pool.rs              the stream-ordered pool; live.rs: which addresses are allocated; peer.rs: access of other GPUs
//! growth.rs            memory that grows inside a reserve of addresses
//! managed.rs           managed memory, whose pages move between the GPU and the host
//! reclaim.rs           device memory on its way back to the pool; frees.rs: the part of it that waits on a slot;
//!                      lent.rs: memory of others
//! pinned.rs            pinned host memory: blocks for staging, slots for small results
//!  ├─ handed_on.rs     its reuse by later epochs
//!  └─ in_use.rs        how many threads hold blocks
//! staging.rs           host data on its way; registered.rs: the same in memory shared with a parent process
//! tables.rs            tables of addresses for the batches of libraries; table_staging.rs: long ones
//! ```
//!
//! Device memory is given back only behind the completions of all its uses. Its regions know these completions, so work in
//! flight need not hold the memory.

mod frees;
mod growth;
pub(crate) mod handed_on;
mod in_use;
mod lent;
mod live;
mod managed;
mod peer;
mod pinned;
mod pool;
mod reclaim;
#[cfg(target_os = "linux")]
mod registered;
mod staging;
pub(crate) mod table_staging;
mod tables;

pub(crate) use frees::Frees;
use growth::Growth;
pub(crate) use live::Live;
use managed::Managed;
pub(crate) use managed::SliceHold;
pub(crate) use peer::Peer;
pub(crate) use pinned::{Block, PinnedPool, SLOT, SmallSlot};
pub(crate) use pool::{FREES_PER_LEASE, MemoryPool};
pub(crate) use reclaim::{Reclaim, free_some};
#[cfg(target_os = "linux")]
pub(crate) use registered::{Progress, Registered};
pub(crate) use staging::{Arriving, Patience, Piece, Reserved, Staged, Staging, ended};
pub(crate) use tables::{KERNELS, Series, Tables};

use crate::core::epoch::Epoch;
use crate::core::epoch::life::Stand;
use crate::core::error::Result;
use crate::core::sync::{Arc, Mutex};
use crate::core::trace::Stats;
use crate::engines::cuda::api::{Code, Driver};
use crate::engines::cuda::context::{Context, fault};
use crate::engines::cuda::streams::Streams;
use crate::engines::cuda::wait::{BlockingWaits, Landed};
use crate::engines::op::Facts;

/// The memory of one epoch: the device's pool, and pinned host memory.
pub(crate) struct Memory {
    pool: MemoryPool,
    reclaim: Arc<Reclaim>,
    pinned: Arc<PinnedPool>,
    managed: Arc<Managed>,
    growth: Arc<Growth>,
    /// In a worker: which parts of the parent's memory are registered with the driver.
    #[cfg(target_os = "linux")]
    registered: Registered,
    /// GPUs that have access to our pool.
    peers: Mutex<Vec<i32>>,
    waits: Arc<BlockingWaits>,
    context: Arc<Context>,
}

impl Memory {
    pub(crate) fn new(
        pool: MemoryPool,
        reclaim: Arc<Reclaim>,
        pinned: PinnedPool,
        waits: Arc<BlockingWaits>,
        context: Arc<Context>,
    ) -> Self {
        Memory {
            pool,
            reclaim,
            pinned: Arc::new(pinned),
            managed: Arc::default(),
            growth: Arc::default(),
            #[cfg(target_os = "linux")]
            registered: Registered::default(),
            peers: Mutex::default(),
            waits,
            context,
        }
    }

    pub(crate) fn pinned(&self) -> &Arc<PinnedPool> {
        &self.pinned
    }

    pub(crate) fn managed(&self) -> &Managed {
        &self.managed
    }

    pub(crate) fn growth(&self) -> &Growth {
        &self.growth
    }

    /// The number of allocations whose uses are not all known to be complete.
    pub(crate) fn parked(&self) -> u64 {
        self.reclaim.parked()
    }

    /// Hands the parked allocations whose uses are all complete to their slots. True if some are left.
    pub(crate) fn unpark(&self, streams: &Streams) -> bool {
        self.reclaim.unpark(streams)
    }

    /// The epoch ended: forgets all parked allocations, and counts those that nothing proved idle.
    pub(crate) fn forget_parked(&self, stand: Stand) {
        self.reclaim.forget(stand);
    }

    /// How many objects of the driver it holds; the pool is one of them.
    pub(crate) fn natives(&self) -> usize {
        1 + self.pinned.held() + self.managed.count() + self.growth.count()
    }

    /// Destroys the pool.
    ///
    /// # Safety
    /// All of its allocations are freed, or their frees are enqueued: the driver destroys it when these are done. No epoch
    /// uses it any more.
    pub(crate) unsafe fn destroy_pool(&self, api: &Driver) -> Code {
        // SAFETY: the caller's promise.
        unsafe { api.mem_pool_destroy(self.pool.raw.0) }
    }

    /// Fills in what is counted here.
    pub(crate) fn fill(&self, stats: &mut Stats) {
        stats.parked = self.reclaim.parked();
        stats.pinned_bytes = self.pinned.bytes();
        stats.staging_hits = self.pinned.hits();
    }

    /// Returns a small slot for a result. The caller must hold no lease: making pinned memory may wait for everything
    /// that the GPU does.
    fn small_slot(&self, epoch: &Arc<Epoch>) -> Result<SmallSlot> {
        if let Some(slot) = self.pinned.free_slot() {
            return Ok(slot);
        }
        let _inside = self.waits.enter();
        epoch.go_on()?;
        let _bound = self.context.bind_for(epoch)?;
        self.pinned.slot().map_err(|code| fault::classify(epoch, code, "cuMemHostAlloc"))
    }

    /// Makes the place where the op's result will land.
    pub(crate) fn landing(&self, op: &Facts, epoch: &Arc<Epoch>) -> Result<Landed> {
        match op.raw_bytes {
            0 => Ok(Landed::Nothing),
            _ => self.small_slot(epoch).map(Landed::Slot),
        }
    }
}
