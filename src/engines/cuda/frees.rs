//! Device memory that waits on a slot to be freed after its uses, or to be reused.
//!
//! Memory is queued here when all its uses are over or are on the slot's stream. So whatever the stream gets next follows
//! them: a free, or the first use by an allocation of the same size. Such reuse is what the driver's pool would do on that
//! stream, without its two calls.

use crate::buffer::Allocation;
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering};
use std::collections::VecDeque;

/// What waits, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Frees {
    waiting: Mutex<VecDeque<Arc<Allocation>>>,
    /// How many, for who only wants to know whether there are any.
    count: AtomicUsize,
}

/// Of those that wait, so many are looked at for one of the right size, newest first.
const LOOKED_AT: usize = 8;

impl Frees {
    /// All uses of `allocation` are over, or lie on this slot's stream.
    pub(crate) fn push(&self, allocation: Arc<Allocation>) {
        let mut waiting = self.waiting.lock();
        waiting.push_back(allocation);
        self.count.store(waiting.len(), Ordering::Relaxed);
    }

    /// None, as far as is known here: what another thread has just brought may not be seen yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// None that was brought before whoever asks learned of it.
    pub(crate) fn is_surely_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    /// The oldest.
    pub(crate) fn pop(&self) -> Option<Arc<Allocation>> {
        let mut waiting = self.waiting.lock();
        let oldest = waiting.pop_front();
        self.count.store(waiting.len(), Ordering::Relaxed);
        oldest
    }

    /// Lets go of all of them, when nobody can free them any more. They are dropped with no lock held.
    pub(crate) fn clear(&self) {
        let all = {
            let mut waiting = self.waiting.lock();
            self.count.store(0, Ordering::Relaxed);
            std::mem::take(&mut *waiting)
        };
        drop(all);
    }

    /// One of just so many bytes, for a use on this slot's stream. Under the slot's lease.
    pub(crate) fn again(&self, bytes: u64) -> Option<Arc<Allocation>> {
        if self.is_empty() {
            return None;
        }
        let mut waiting = self.waiting.lock();
        let newest_first = waiting.iter().rev().take(LOOKED_AT);
        let back = newest_first.map(|allocation| allocation.bytes).position(|of_it| of_it == bytes)?;
        let place = waiting.len() - 1 - back;
        let found = waiting.remove(place);
        self.count.store(waiting.len(), Ordering::Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{Home, Meter};

    #[test]
    fn what_is_had_again_is_the_newest_of_that_size_and_the_oldest_is_freed_first() {
        let meter = Arc::new(Meter::new(u64::MAX, u64::MAX));
        let frees = Frees::default();
        for (address, bytes) in [(1, 8), (2, 16), (3, 8), (4, 32)] {
            meter.take(bytes).unwrap();
            frees.push(Arc::new(Allocation::new(address, bytes, Home::Empty, meter.clone())));
        }
        let address = |found: Option<Arc<Allocation>>| found.map(|allocation| allocation.address);
        assert_eq!(address(frees.again(64)), None);
        assert_eq!(address(frees.again(8)), Some(3));
        assert_eq!(address(frees.pop()), Some(1));
        assert_eq!(address(frees.again(8)), None);
        assert_eq!((address(frees.again(16)), address(frees.pop())), (Some(2), Some(4)));
        assert!(frees.is_empty() && frees.is_surely_empty() && frees.pop().is_none());
        assert_eq!(meter.used(), 0);
    }
}
