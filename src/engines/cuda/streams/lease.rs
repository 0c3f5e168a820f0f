//! The choice of a slot for a dispatch. It is the first of these whose lease is free:
//!
//! 1. the slot of an unfinished predecessor, if nothing was enqueued after it: then the device need not wait at all;
//! 2. the thread's own slot, or another one, if nothing is in flight on it;
//! 3. the slot of any predecessor;
//! 4. the least loaded slot, else any;
//! 5. the slot that is given back first.
//!
//! The search begins at the thread's own slot. So threads that work on unrelated buffers neither share a stream nor
//! search for one (unless there are more threads than slots).

use super::Streams;
use super::follow::{Follow, Follows};
use super::slot::{Slot, State};
use crate::core::epoch::Epoch;
use crate::core::error::Result;
use crate::core::sync::{Arc, AtomicUsize, Ordering};
use crate::engines::cuda::Core;
use crate::engines::cuda::dispatch::DeviceOperands;
use parking_lot::MutexGuard;

thread_local! {
    static HOME: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

/// A slot and its lease.
pub(crate) struct Lease<'c> {
    pub(crate) slot: &'c Slot,
    pub(crate) state: MutexGuard<'c, State>,
}

/// A device of a dispatch, before its slot is leased.
pub(crate) struct Place<'p, 'x> {
    pub(crate) core: &'p Arc<Core>,
    /// With the operands that are on this device alone.
    pub(crate) operands: DeviceOperands<'p, 'x>,
    pub(crate) slot: Choice<'p>,
    /// All that the dispatch must follow on this device.
    pub(crate) follows: Follows,
}

/// Which slot a dispatch uses.
#[derive(Clone, Copy)]
pub(crate) enum Choice<'p> {
    Any,
    /// Its own: see [`Options::seat`](crate::core::dispatch::Options).
    Seat(u8),
    /// One that is held for it (`members.rs`).
    Held(&'p Slot),
}

impl<'p, 'x> Place<'p, 'x> {
    #[inline(always)]
    pub(crate) fn new(core: &'p Arc<Core>, operands: DeviceOperands<'p, 'x>, slot: Choice<'p>) -> Self {
        Place { core, operands, slot, follows: Follows::new() }
    }

    /// Leases the slot. On return, each predecessor on another slot has an event.
    #[inline(always)]
    pub(crate) fn lease(&mut self) -> Result<Lease<'p>> {
        match self.slot {
            Choice::Any => self.core.streams.hold(self.operands.epoch, &mut self.follows),
            Choice::Seat(seat) => self.core.streams.hold_seat(seat, self.operands.epoch, &mut self.follows),
            Choice::Held(slot) => self.core.streams.hold_slot(slot, self.operands.epoch, &mut self.follows),
        }
    }
}

impl Streams {
    /// Leases a slot for work that follows `follows`. On return, each predecessor on another slot has an event.
    #[inline(always)]
    fn hold(&self, epoch: &Arc<Epoch>, follows: &mut Follows) -> Result<Lease<'_>> {
        let lease = self.lease(follows);
        if !follows.iter().any(|f| f.must_be_closed(lease.slot.shared.index)) {
            return Ok(lease);
        }
        // A thread waits for one lease of a device at a time, so that two threads cannot wait for each other's.
        drop(lease);
        self.close_open(epoch, follows)?;
        Ok(self.lease(follows))
    }

    /// Leases this very slot. On return, each predecessor on another slot has an event.
    pub(crate) fn hold_slot<'p>(&self, slot: &'p Slot, epoch: &Arc<Epoch>, follows: &mut Follows) -> Result<Lease<'p>> {
        if follows.iter().any(|follow| follow.must_be_closed(slot.shared.index)) {
            self.close_open(epoch, follows)?;
        }
        Ok(Lease { slot, state: slot.lease.lock() })
    }

    /// Leases a slot for work that follows `follows`.
    pub(crate) fn lease(&self, follows: &[Follow]) -> Lease<'_> {
        // Not the members of pools (`members.rs`), which are held across calls that block.
        let slot_of = |follow: &Follow| follow.slot(self).filter(|slot| slot.shared.index < self.slots.len());
        // Free: nothing was enqueued after the predecessor. Otherwise its stream would make this work wait for more
        // than it must follow.
        let free = |follow: &&Follow| follow.is_last(self);
        if let Some(lease) = follows.iter().filter(free).filter_map(slot_of).find_map(try_lease) {
            return lease;
        }
        let count = self.slots.len();
        let home = HOME.with(|h| *h) % count;
        let (after, before) = (self.slots.iter().skip(home), self.slots.iter().take(home));
        let mut order = after.chain(before);
        if let Some(lease) = order.clone().filter(|slot| slot.is_idle()).find_map(try_lease) {
            return lease;
        }
        // No slot is idle: at least avoid a wait across streams.
        if let Some(lease) = follows.iter().filter_map(slot_of).find_map(try_lease) {
            return lease;
        }
        let least = order.clone().min_by_key(|slot| slot.stream.sequence.in_flight());
        least.and_then(try_lease).or_else(|| order.find_map(try_lease)).unwrap_or_else(|| self.whichever(home))
    }

    /// Waits for the first slot that is given back. Most are held for microseconds. But the first use of a library, the
    /// loading of a module, or a user's operation may hold one for long; then the caller must get another one.
    #[cold]
    #[expect(clippy::indexing_slicing, reason = "an engine without slots cannot be made")]
    fn whichever(&self, home: usize) -> Lease<'_> {
        let mut turn = home;
        loop {
            // There is at least one slot: the builder refuses zero, and `open` makes as many as were asked for.
            let slot = &self.slots[turn % self.slots.len()];
            if let Some(state) = slot.lease.try_lock_for(self.timing.staging.one_wait) {
                return Lease { slot, state };
            }
            if let Some(lease) = self.slots.iter().find_map(try_lease) {
                return lease;
            }
            turn = turn.wrapping_add(1);
        }
    }
}

fn try_lease(slot: &Slot) -> Option<Lease<'_>> {
    slot.lease.try_lock().map(|state| Lease { slot, state })
}
