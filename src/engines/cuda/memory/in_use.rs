//! Counts the threads that are filling, emptying or collecting pinned blocks. Such blocks will soon be free or on a
//! slot's ring. So a thread that finds no free block, and nothing in flight, need not give up while there are such
//! threads.

use crate::core::sync::{Arc, AtomicU64, Ordering};

/// The count for one pool.
#[derive(Default)]
pub(super) struct InUse(Arc<AtomicU64>);

/// Counts its owner until it is dropped.
pub(crate) struct Used(Arc<AtomicU64>);

impl InUse {
    /// Counts the caller, which has blocks or is about to take some, until the returned value is dropped.
    pub(super) fn hold(&self) -> Used {
        self.0.fetch_add(1, Ordering::Relaxed);
        Used(self.0.clone())
    }

    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}
