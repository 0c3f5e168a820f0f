//! Who has pinned blocks in hand: fills, empties or collects them. Soon they are free, or lie on a slot's ring; so who
//! finds none, and nothing in flight, need not give up.

use crate::sync::{Arc, AtomicU64, Ordering};

/// Those of one pool.
#[derive(Default)]
pub(super) struct InUse(Arc<AtomicU64>);

/// One of them.
pub(crate) struct Used(Arc<AtomicU64>);

impl InUse {
    /// The caller has blocks in hand, or is about to, until what this gives is dropped.
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
