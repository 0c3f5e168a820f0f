//! The sweep over all slots: reaps what has completed, and frees the memory that waits.

use super::Core;
use super::housekeeping::Housekeeper;
use super::memory::free_some;
use super::streams::Retired;
use crate::core::sync::{AtomicUsize, Ordering};
use std::cell::Cell;

thread_local! {
    /// How many sweeps this thread is inside. More than one is possible: a hook or a drop that a sweep calls may need
    /// memory.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread is inside a sweep, which called the code that runs now.
pub(crate) fn is_under_way_here() -> bool {
    DEPTH.get() > 0
}

/// While this exists, its thread may hold keep-alives that it has taken out and not dropped yet.
struct Sweeping<'a>(&'a AtomicUsize);

impl<'a> Sweeping<'a> {
    fn begin(housekeeper: &'a Housekeeper) -> Self {
        housekeeper.sweeping.fetch_add(1, Ordering::Relaxed); // the leases make it visible to other threads
        DEPTH.set(DEPTH.get() + 1);
        Sweeping(&housekeeper.sweeping)
    }

    fn is_not_alone(&self) -> bool {
        self.0.load(Ordering::Acquire) > DEPTH.get()
    }
}

impl Drop for Sweeping<'_> {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Core {
    /// Whether another thread is inside a sweep: it may hold keep-alives that it has not dropped yet.
    pub(crate) fn is_swept_by_others(&self) -> bool {
        self.housekeeper.sweeping.load(Ordering::Acquire) > DEPTH.get()
    }

    /// Looks at every slot that is not leased: reaps what has completed, and frees the memory that waits. True if
    /// something is left, or may be in the hands of another sweep.
    pub(crate) fn sweep(&self) -> bool {
        let sweeping = Sweeping::begin(&self.housekeeper);
        let mut left = false;
        let mut out = Retired::new();
        for slot in self.streams.all() {
            let shared = &slot.shared;
            let idle = shared.stream.sequence.in_flight() == 0 && shared.frees.is_empty();
            let Some(mut state) = slot.lease.try_lock() else {
                left = true;
                continue;
            };
            if shared.over() {
                return false;
            }
            if idle && state.ring.is_empty() {
                continue;
            }
            let looks = [state.ring.last_event(), state.ring.first_event()];
            for (ticket, event) in looks.into_iter().flatten() {
                if shared.poll(ticket, Some(event)) {
                    break;
                }
            }
            let before = out.len();
            state.ring.reap(&shared.stream.sequence, usize::MAX, &mut out);
            if !state.ring.is_empty() && state.ring.last_event().is_none() {
                // Only open tickets are left: record an event that answers for them.
                if let Ok(_bound) = self.context.bind() {
                    let (ticket, event, _) = state.record(shared);
                    state.ring.push(ticket, event, None);
                }
            }
            if !shared.frees.is_empty()
                && let Ok(_bound) = self.context.bind()
            {
                left |= free_some(shared, &mut state, 256);
            }
            left |= !state.ring.is_empty();
            drop(state);
            for cargo in out.drain(before..) {
                cargo.retire();
            }
        }
        left |= self.code.unload_some(&self.streams);
        left |= self.memory.unpark(&self.streams);
        // Memory that was unparked just now waits on a slot. And other sweeps may not have dropped yet what they took
        // out.
        left || self.streams.all().any(|slot| !slot.shared.frees.is_empty()) || sweeping.is_not_alone()
    }
}
