//! How many threads drain the queue of ready work, and why no ready item is forgotten.
//!
//! ```text
//!   pusher   push ── hire ──── true: it must see to a runner ── runner   pop, run, ... , empty
//!                      └─ false: all runners are busy,                   resign ── look ── empty: leave
//!                         and each of them looks after it resigned         hire <────┘ something left
//! ```
//!
//! **Race "last look"**: a push that finds all runners busy relies on one of them to look again. So a runner that found
//! the queue empty first resigns and then looks once more; if there is an item, it hires itself again.
//!
//! Both sides use one counter, and both *write* it, even a pusher that hires no runner: the writes of one atomic have
//! one order, and each sees the one before it. If the resignation comes first, the pusher sees it and hires. If the
//! pusher's write comes first, the resignation acquires it, and the push with it. So the queue need only be a correct
//! queue: no memory ordering of its own is relied on. The model checker runs this very file (`tests/loom/`).

use crate::core::sync::{AtomicUsize, Ordering};

/// The queue of ready items, as the runners see it.
pub(crate) trait Ready {
    type Item;
    fn pop(&self) -> Option<Self::Item>;
    fn is_empty(&self) -> bool;
}

/// Counts the runners at work.
pub(crate) struct Runners {
    busy: AtomicUsize,
    max: usize,
}

impl Runners {
    /// At most `max` runners at a time.
    pub(crate) fn new(max: usize) -> Self {
        Runners { busy: AtomicUsize::new(0), max }
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// The number of runners at work now.
    pub(crate) fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    /// Call after a push. True if one more runner is needed: the caller must make sure that a thread calls
    /// [`drain`](Self::drain).
    pub(crate) fn hire(&self) -> bool {
        // This writes in any case, see "last look"; if all runners are busy, the new value equals the old one.
        let before = self.busy.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| Some((n + 1).min(self.max)));
        before.is_ok_and(|n| n < self.max)
    }

    /// Called by a hired runner that ran one item and stops: if an item is left, calls `send` for another runner.
    pub(crate) fn leave<R: Ready>(&self, ready: &R, send: impl FnOnce()) {
        self.busy.fetch_sub(1, Ordering::AcqRel);
        if !ready.is_empty() && self.hire() {
            send(); // race "last look"
        }
    }

    /// Called by a hired runner: runs items until none is ready, and then leaves.
    pub(crate) fn drain<R: Ready>(&self, ready: &R, run: impl Fn(R::Item)) {
        loop {
            while let Some(item) = ready.pop() {
                run(item);
            }
            self.busy.fetch_sub(1, Ordering::AcqRel);
            if ready.is_empty() || !self.hire() {
                return; // race "last look"
            }
        }
    }
}
