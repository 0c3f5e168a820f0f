//! Stream slots: in-order queues that are leased only while work is enqueued.
//!
//! ```text
//! slot.rs              a slot: the state under the lease, and what its marks share
//!  ├─ ring.rs          what is kept alive until its ticket has completed
//!  ├─ last_event.rs    the newest mark        recent.rs: the last operations
//! lease.rs             the choice of a slot for a dispatch
//! follow.rs            what a dispatch waits for on the device
//! members.rs           streams that are held while a call blocks; turns.rs: who gets one
//! ```

mod follow;
mod last_event;
mod lease;
mod members;
mod recent;
mod ring;
mod slot;
mod turns;

pub(crate) use follow::Follows;
pub(crate) use lease::{Choice, Lease, Place};
pub(crate) use members::{Member, Pool};
pub(crate) use ring::Retired;
pub(crate) use slot::{Shared, Slot, SlotMark, State};

use crate::core::clock::Timing;
use crate::core::epoch::Epoch;
use crate::core::error::Result;
use crate::core::sync::{Arc, AtomicU64, Ordering};
use crate::core::trace::{Counters, Stats};
use crate::engines::cuda::context::{Bound, Context};
use crate::engines::cuda::late::Helpers;
use crate::engines::cuda::wait::{BlockingWaits, Timers};

/// The streams of one epoch: its slots, the members of its pools, and those that only wait.
pub(crate) struct Streams {
    /// The ordinary slots: those that any dispatch may lease.
    slots: Box<[Slot]>,
    pools: Box<[Pool]>,
    waits: Arc<BlockingWaits>,
    timers: Timers,
    /// They get a job whose stream is free.
    helpers: Arc<Helpers>,
    context: Arc<Context>,
    counters: Arc<Counters>,
    timing: &'static Timing,
}

impl Streams {
    pub(crate) fn new(
        slots: Vec<Slot>,
        pools: Box<[Pool]>,
        waits: Arc<BlockingWaits>,
        helpers: Arc<Helpers>,
        (context, counters, timing): (Arc<Context>, Arc<Counters>, &'static Timing),
    ) -> Self {
        Streams {
            slots: slots.into_boxed_slice(),
            pools,
            waits,
            timers: Timers::new(),
            helpers,
            context,
            counters,
            timing,
        }
    }

    /// The number of ordinary slots.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The first slot. There is at least one: the builder refuses zero.
    pub(crate) fn first(&self) -> Option<&Slot> {
        self.slots.first()
    }

    pub(crate) fn waits(&self) -> &BlockingWaits {
        &self.waits
    }

    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    /// Makes the context current.
    fn bind(&self, epoch: &Arc<Epoch>) -> Result<Bound<'_>> {
        self.context.bind_for(epoch)
    }

    /// Whether the epoch has ended: no thread may call the driver for it any more.
    pub(crate) fn have_ended(&self) -> bool {
        self.slots.first().is_none_or(|slot| slot.shared.over())
    }

    /// Whether nothing is in flight, as far as is known.
    pub(crate) fn are_idle(&self) -> bool {
        self.all().all(Slot::is_idle)
    }

    /// Fills in what is counted here.
    pub(crate) fn fill(&self, stats: &mut Stats) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        stats.slots = self.slots.len();
        for slot in self.all() {
            let (shared, in_flight) = (&slot.shared, slot.stream.sequence.in_flight());
            stats.in_flight += in_flight;
            stats.slots_busy += usize::from(in_flight > 0);
            stats.dispatches += count(&shared.dispatches);
            if let Some(state) = slot.lease.try_lock() {
                stats.events += state.ring.events() as u64;
                stats.library_handles += state.handles.count();
            }
            stats.plan_hits += count(&shared.plans.hits);
            stats.plan_misses += count(&shared.plans.misses);
            stats.pool_hits += count(&shared.memory.hits);
            stats.pool_misses += count(&shared.memory.misses);
        }
        stats.streams = self.all().count() as u64 + self.waits.made();
    }

    /// How many objects of the driver they hold.
    pub(crate) fn natives(&self) -> usize {
        let of_slot = |slot: &Slot| {
            let held = slot
                .lease
                .try_lock()
                .map_or(0, |state| state.ring.events() + state.memory() + state.handles.count() as usize);
            1 + slot.shared.live.count() + held
        };
        self.all().map(of_slot).sum::<usize>() + self.timers.held() + 2 * self.waits.made() as usize
    }
}
