//! How one piece of work of the host engine gets from submitted to settled, exactly once.
//!
//! ```text
//!   deps: 1 (guard) ──subscribe to each dependency, +1 each──> guard dropped ──0──> ready ──run──> settled
//!                                                                                └── waiters told, once
//! ```
//!
//! Dependencies count from 1, so the work cannot start while it is still being linked. A dependency that is already
//! settled answers `subscribe` with `false` under its lock, so no wake-up is lost and none comes twice. Generic over the
//! error and the waiter so that the model checker runs this very file (`tests/loom/`).

use crate::sync::{AtomicBool, AtomicU8, AtomicUsize, Mutex, Ordering};
use smallvec::SmallVec;

const PENDING: u8 = 0;
const DONE: u8 = 1;
const FAILED: u8 = 2;

/// Somebody to tell.
pub(crate) trait Waiter<E> {
    /// Called once, with no lock held, and with the error where it failed.
    fn settled(self, failure: Option<&E>);
    /// The same sleeping thread.
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
    /// Of what this depends on for data, the first failure that it was told.
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

    /// Settles. True for the first caller, whose word counts; all who wait are told by it.
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

    /// Tells `waiter` when it settles. False when it already is: then the waiter is dropped untold.
    pub(crate) fn subscribe(&self, waiter: W) -> bool {
        let mut links = self.links.lock();
        if self.state.load(Ordering::Relaxed) != PENDING {
            return false;
        }
        links.waiters.push(waiter);
        true
    }

    /// Takes a waiter back.
    pub(crate) fn unsubscribe(&self, waiter: &W) {
        self.links.lock().waiters.retain(|w| !w.same(waiter));
    }

    /// One more dependency. Only while the guard is up.
    pub(crate) fn add_dep(&self) {
        self.deps.fetch_add(1, Ordering::Relaxed);
    }

    /// A dependency (or the guard) is done. True when it was the last: the caller starts the work.
    pub(crate) fn dep_done(&self) -> bool {
        self.deps.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Something this depends on for data failed. Before the matching [`dep_done`](Self::dep_done), which orders it.
    pub(crate) fn taint(&self, cause: Option<E>) {
        if let Some(cause) = cause {
            self.links.lock().cause.get_or_insert(cause);
        }
        self.upstream.store(true, Ordering::Relaxed);
    }

    /// Whether something this depends on for data failed. After the last `dep_done`.
    pub(crate) fn is_tainted(&self) -> bool {
        self.upstream.load(Ordering::Relaxed)
    }

    /// What it was tainted with.
    pub(crate) fn cause(&self) -> Option<E> {
        self.links.lock().cause.clone()
    }
}
