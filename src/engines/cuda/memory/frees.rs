//! Device memory that waits on a slot to be freed after its uses, or to be reused.
//!
//! Memory is queued here when all its uses have completed or are on the slot's stream. So all later work on the stream
//! follows them: a free, or the first use by a new allocation of the same size. The driver's pool would reuse the
//! memory in the same way on that stream, but that takes two driver calls.

use crate::core::buffer::Allocation;
use crate::core::sync::{Arc, AtomicUsize, Mutex, Ordering};
use std::collections::VecDeque;

/// The allocations that wait, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Frees {
    waiting: Mutex<VecDeque<Arc<Allocation>>>,
    /// How many there are, to check without the lock whether there are any.
    count: AtomicUsize,
}

/// How many of the waiting allocations [`Frees::again`] checks for the right size, newest first.
const LOOKED_AT: usize = 8;

impl Frees {
    /// Adds an allocation. All its uses have completed or are on this slot's stream.
    pub(crate) fn push(&self, allocation: Arc<Allocation>) {
        let mut waiting = self.waiting.lock();
        waiting.push_back(allocation);
        self.count.store(waiting.len(), Ordering::Relaxed);
    }

    /// Whether none waits. May miss an allocation that another thread has just added.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Whether none waits. Takes the lock, so it sees every allocation whose addition happened before this call.
    pub(crate) fn is_surely_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    /// Removes and returns the oldest.
    pub(crate) fn pop(&self) -> Option<Arc<Allocation>> {
        let mut waiting = self.waiting.lock();
        let oldest = waiting.pop_front();
        self.count.store(waiting.len(), Ordering::Relaxed);
        oldest
    }

    /// Drops all of them, when they can no longer be freed. They are dropped with no lock held.
    pub(crate) fn clear(&self) {
        let all = {
            let mut waiting = self.waiting.lock();
            self.count.store(0, Ordering::Relaxed);
            std::mem::take(&mut *waiting)
        };
        drop(all);
    }

    /// Removes and returns one of exactly `bytes` bytes behind `lead` bytes, to be reused on this slot's stream. Call under the
    /// slot's lease.
    pub(crate) fn again(&self, bytes: u64, lead: usize) -> Option<Arc<Allocation>> {
        if self.is_empty() {
            return None;
        }
        let mut waiting = self.waiting.lock();
        let newest_first = waiting.iter().rev().take(LOOKED_AT);
        let back = newest_first.map(|one| (one.bytes, one.lead as usize)).position(|of_it| of_it == (bytes, lead))?;
        let place = waiting.len() - 1 - back;
        let found = waiting.remove(place);
        self.count.store(waiting.len(), Ordering::Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::buffer::{Home, Meter};

    #[test]
    fn what_is_had_again_is_the_newest_of_that_size_and_the_oldest_is_freed_first() {
        let meter = Arc::new(Meter::new(u64::MAX, u64::MAX));
        let frees = Frees::default();
        for (address, bytes) in [(1, 8), (2, 16), (3, 8), (4, 32)] {
            meter.take(bytes).unwrap();
            frees.push(Arc::new(Allocation::new(address, bytes, Home::Empty, meter.clone())));
        }
        let address = |found: Option<Arc<Allocation>>| found.map(|allocation| allocation.address);
        assert_eq!(address(frees.again(64, 0)), None);
        assert_eq!(address(frees.again(8, 0)), Some(3));
        assert_eq!(address(frees.pop()), Some(1));
        assert_eq!(address(frees.again(8, 0)), None);
        assert_eq!((address(frees.again(16, 0)), address(frees.pop())), (Some(2), Some(4)));
        assert!(frees.is_empty() && frees.is_surely_empty() && frees.pop().is_none());
        assert_eq!(meter.used(), 0);
    }
}
