//! Which slot a dispatch goes to.
//!
//! The slot of an unfinished predecessor, if nothing was enqueued behind it: then no wait is needed at all. Else the
//! thread's own slot, or another, if nothing is in flight on it. Else the slot of any predecessor, else the least loaded,
//! else whichever is given back first.
//! Each thread has a slot of its own to begin with, so threads that work on unrelated buffers neither share a stream nor
//! search for one.

use super::Core;
use super::follow::Follow;
use super::slot::{Slot, State};
use crate::sync::{AtomicUsize, Ordering};
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

impl Core {
    /// Leases a slot for work that follows `follows`.
    pub(super) fn lease(&self, follows: &[Follow]) -> Lease<'_> {
        // Those that are held across calls that block are nobody else's.
        let slot_of = |follow: &Follow| follow.slot(self).filter(|slot| slot.shared.index < self.slots.len());
        // Free: nothing was enqueued behind the predecessor. Else its stream would make this wait for more than it must.
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
        // No idle one: then at least no wait across streams.
        if let Some(lease) = follows.iter().filter_map(slot_of).find_map(try_lease) {
            return lease;
        }
        let least = order.clone().min_by_key(|slot| slot.shared.sequence.in_flight());
        least.and_then(try_lease).or_else(|| order.find_map(try_lease)).unwrap_or_else(|| self.whichever(home))
    }

    /// Waits for the first that is given back. Most are within microseconds; but a first use of a library, a module that
    /// is loaded, or an operation of the user's may hold one for long, and must not keep the others from this caller.
    #[cold]
    #[expect(clippy::indexing_slicing, reason = "an engine without slots cannot be made")]
    fn whichever(&self, home: usize) -> Lease<'_> {
        let mut turn = home;
        loop {
            // There is at least one: the builder refuses zero, and `open` makes as many as it was asked for.
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
