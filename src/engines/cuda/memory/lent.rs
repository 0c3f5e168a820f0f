//! Memory that is not the pool's: that of others, managed memory, and what grows.
//!
//! Its owner is dropped when all work that uses it is complete, by the housekeeping thread, if some was in flight when its last
//! buffer was dropped. After a fault nothing proves that, so the owner leaks, and is counted.

use super::Reclaim;
use crate::core::buffer::{Allocation, Home, Owner, Pool};
use crate::core::epoch::life::Stand;
use crate::core::order::{AccessHistory, Completion};
use crate::core::sync::{Arc, Ordering};
use crate::engines::cuda::CudaEngine;
use crate::engines::cuda::streams::Shared;
use std::any::Any;

/// The way back of a piece of such memory.
#[derive(Debug)]
struct Lent {
    #[expect(dead_code, reason = "owned")]
    owner: Owner,
    /// Any slot of the engine: it knows how the epoch stands.
    slot: Arc<Shared>,
}

impl Pool for Lent {
    fn release(&self, allocation: &Arc<Allocation>, uses: AccessHistory) {
        if self.slot.over() {
            return self.slot.reclaim.give_up_lent(allocation.clone(), self.slot.life.stand());
        }
        // Not enqueued work is not past either.
        if uses.all().all(Completion::is_past) {
            return;
        }
        self.slot.reclaim.park(allocation.clone(), uses);
        // The end of the epoch may have emptied the list just before.
        if self.slot.life.dead() {
            return self.slot.reclaim.forget(self.slot.life.stand());
        }
        self.slot.reclaim.nudge.nudge();
    }
}

/// Drops it behind `uses`.
pub(super) fn release(allocation: Arc<Allocation>, uses: AccessHistory) {
    if let Home::Pool { pool, .. } = &allocation.home {
        pool.release(&allocation, uses);
    }
}

/// Whether it is memory of others.
pub(super) fn is_lent(home: &Home) -> bool {
    matches!(home, Home::Pool { pool, .. } if (&**pool as &dyn Any).is::<Lent>())
}

impl Reclaim {
    /// The epoch is over, or this is a forked child.
    pub(super) fn give_up_lent(&self, allocation: Arc<Allocation>, stand: Stand) {
        if stand != Stand::Stale {
            self.counters.leaked.fetch_add(1, Ordering::Relaxed);
            std::mem::forget(allocation);
        }
    }
}

impl CudaEngine {
    /// The home of memory that `owner` frees. `None` without a stream, which no engine is.
    pub(crate) fn lent(&self, owner: Owner) -> Option<Home> {
        let slot = self.core.streams.first()?.shared.clone();
        Some(Home::Pool { pool: Arc::new(Lent { owner, slot }), place: 0 })
    }
}
