//! How many threads drain the queue, and why none of what is ready is forgotten.
//!
//! ```text
//!   pusher   push ── hire ──── true: it must see to a runner ── runner   pop, run, ... , empty
//!                      └─ false: all runners are busy,                   resign ── look ── empty: leave
//!                         and each of them looks after it resigned         hire <────┘ something left
//! ```
//!
//! **Race "last look"**: a push that finds all runners busy relies on one of them to look again. So a runner that found
//! the queue empty resigns first and then looks once more; if there is something it hires itself again.
//!
//! Both sides meet in one counter, and both *write* it, also a pusher that hires nobody: writes of one atomic have one
//! order, and each sees the one before it. Either the resignation comes first, then the pusher sees it and hires; or
//! the pusher's write comes first, then the resignation acquires it, and the push with it. So nothing is asked of the
//! queue but to be one: no order of its own is relied on. The model checker runs this very file (`tests/loom/`).

use crate::sync::{AtomicUsize, Ordering};

/// What is ready, as the runners see it.
pub(crate) trait Ready {
    type Item;
    fn pop(&self) -> Option<Self::Item>;
    fn is_empty(&self) -> bool;
}

/// The count of those at work.
pub(crate) struct Runners {
    busy: AtomicUsize,
    max: usize,
}

impl Runners {
    /// At most `max` at a time.
    pub(crate) fn new(max: usize) -> Self {
        Runners { busy: AtomicUsize::new(0), max }
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// At work now.
    pub(crate) fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    /// After a push. True when one more is needed: the caller sees to it that somebody calls [`drain`](Self::drain).
    pub(crate) fn hire(&self) -> bool {
        // Writes in any case, see "last look"; the new value is the old one when all are busy.
        let before = self.busy.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |n| Some((n + 1).min(self.max)));
        before.is_ok_and(|n| n < self.max)
    }

    /// What a hired runner does that has run one thing and goes: should something be left, another is `sent` for it.
    pub(crate) fn leave<R: Ready>(&self, ready: &R, send: impl FnOnce()) {
        self.busy.fetch_sub(1, Ordering::AcqRel);
        if !ready.is_empty() && self.hire() {
            send(); // race "last look"
        }
    }

    /// What a hired runner does: runs until nothing is ready, and leaves.
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
