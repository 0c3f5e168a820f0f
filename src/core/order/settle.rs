//! How one dispatch of the host engine gets from submitted to settled, exactly once.
//!
//! ```text
//!   deps: 1 (guard) ──subscribe to each dependency, +1 each──> guard dropped ──0──> ready ──run──> settled
//!                                                                                └── waiters told, once
//! ```
//!
//! Dependencies count from 1, so the work cannot start while it is still being linked. If a dependency is already
//! settled, its `subscribe` returns `false`. This is decided under the dependency's lock, so no wake-up is lost and
//! none comes twice. Generic over the error and the waiter so that the model checker runs this very file
//! (`tests/loom/`).

use crate::core::sync::{AtomicBool, AtomicU8, AtomicUsize, Mutex, Ordering};
use smallvec::SmallVec;

const PENDING: u8 = 0;
const DONE: u8 = 1;
const FAILED: u8 = 2;

/// A waiter, notified when the work settles.
pub(crate) trait Waiter<E> {
    /// Called once, with no lock held. `failure`: the error, if the work failed.
    fn settled(self, failure: Option<&E>);
    /// Whether both are the same sleeping thread.
    fn same(&self, other: &Self) -> bool;
}

/// The state of one piece of work.
pub(crate) struct Settle<E, W> {
    state: AtomicU8,
    deps: AtomicUsize,
    upstream: AtomicBool,
    links: Mutex<Links<E, W>>,
}

struct Links<E, W> {
    waiters: SmallVec<[W; 2]>,
    error: Option<E>,
    /// The first failure that a data dependency reported.
    cause: Option<E>,
}

impl<E: Clone, W: Waiter<E>> Settle<E, W> {
    pub(crate) fn new() -> Self {
        Settle {
            state: AtomicU8::new(PENDING),
            deps: AtomicUsize::new(1),
            upstream: AtomicBool::new(false),
            links: Mutex::new(Links { waiters: SmallVec::new(), error: None, cause: None }),
        }
    }

    /// Settles the work. True for the first caller: its result counts, and it notifies all waiters.
    pub(crate) fn settle(&self, result: Result<(), E>) -> bool {
        let (waiters, failure) = {
            let mut links = self.links.lock();
            if self.state.load(Ordering::Relaxed) != PENDING {
                return false;
            }
            let waiters = std::mem::take(&mut links.waiters);
            let failure = result.err();
            links.error = failure.clone();
            self.state.store(if failure.is_some() { FAILED } else { DONE }, Ordering::Release);
            (waiters, failure)
        };
        for waiter in waiters {
            waiter.settled(failure.as_ref());
        }
        true
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.state.load(Ordering::Acquire) != PENDING
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.state.load(Ordering::Acquire) == FAILED
    }

    /// The error it settled with.
    pub(crate) fn error(&self) -> Option<E> {
        self.links.lock().error.clone()
    }

    /// Registers `waiter`, to be notified when the work settles. False if the work has settled: then the waiter is
    /// dropped and not notified.
    pub(crate) fn subscribe(&self, waiter: W) -> bool {
        let mut links = self.links.lock();
        if self.state.load(Ordering::Relaxed) != PENDING {
            return false;
        }
        links.waiters.push(waiter);
        true
    }

    /// Passes each waiter to `visit`, under the lock.
    #[expect(clippy::allow_attributes, reason = "unused only in builds without the host engine")]
    #[allow(dead_code, reason = "only the host engine asks")]
    pub(crate) fn each_waiter(&self, visit: &mut dyn FnMut(&W)) {
        self.links.lock().waiters.iter().for_each(visit);
    }

    /// Removes a waiter.
    pub(crate) fn unsubscribe(&self, waiter: &W) {
        self.links.lock().waiters.retain(|w| !w.same(waiter));
    }

    /// Adds a dependency. Call only while the guard is held.
    pub(crate) fn add_dep(&self) {
        self.deps.fetch_add(1, Ordering::Relaxed);
    }

    /// A dependency (or the guard) is done. True if it was the last: the caller starts the work.
    pub(crate) fn dep_done(&self) -> bool {
        self.deps.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Records that a data dependency failed. Call before the matching [`dep_done`](Self::dep_done), which orders it.
    pub(crate) fn taint(&self, cause: Option<E>) {
        if let Some(cause) = cause {
            self.links.lock().cause.get_or_insert(cause);
        }
        self.upstream.store(true, Ordering::Relaxed);
    }

    /// Whether a data dependency failed. Call after the last `dep_done`.
    pub(crate) fn is_tainted(&self) -> bool {
        self.upstream.load(Ordering::Relaxed)
    }

    /// The failure recorded by [`taint`](Self::taint).
    pub(crate) fn cause(&self) -> Option<E> {
        self.links.lock().cause.clone()
    }
}
