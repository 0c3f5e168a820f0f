//! The ends on the device of work that is not enqueued yet (*coming*). They are set once, when it has been enqueued.
//!
//! ```text
//!   coming ──bind(ends, outcome), once──> bound
//! ```
//!
//! The ends are stored before the state changes, so a thread that sees the state *bound* also sees the ends. A reader
//! loads the state only **once**, because it may change at any moment: work that has no ends at a first load and is
//! bound at a second one would be taken for completed work. The types of the marks, the error and the waiter are
//! generic, so that the model checker runs this very file (`tests/loom/binding.rs`).

use crate::core::order::{Settle, Waiter};
use crate::core::sync::OnceLock;
use smallvec::SmallVec;

/// The marks where work ends on the device. It has completed when all of them have.
pub(crate) type Ends<M> = SmallVec<[M; 2]>;

/// The end of work that another thread enqueues.
pub(crate) struct Binding<M, E, W> {
    /// Settled when the work is bound; its waiters are notified then.
    core: Settle<E, W>,
    ends: OnceLock<Ends<M>>,
}

/// The result of adding an end to what a dispatch follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It was added to what is followed, or it has completed.
    Followed,
    /// The same, but the work failed: what it was to write holds no valid data.
    Failed,
    /// The work is not enqueued yet, so no stream can be made to wait for it.
    Coming,
}

impl<M, E: Clone, W: Waiter<E>> Binding<M, E, W> {
    pub(crate) fn new() -> Self {
        Binding { core: Settle::new(), ends: OnceLock::new() }
    }

    pub(crate) fn core(&self) -> &Settle<E, W> {
        &self.core
    }

    /// Where the work ends; `None` until it is bound.
    pub(crate) fn bound(&self) -> Option<&[M]> {
        self.core.is_settled().then(|| self.ends.get().map_or(&[][..], |ends| ends))
    }

    /// Passes each mark where the work ends to `each`, if it is bound.
    pub(crate) fn follow(&self, each: impl FnMut(&M)) -> Added {
        let Some(ends) = self.bound() else { return Added::Coming };
        ends.iter().for_each(each);
        if self.core.has_failed() { Added::Failed } else { Added::Followed }
    }

    /// True if the work is bound and `is_so` holds for each of its ends.
    pub(crate) fn all(&self, is_so: impl FnMut(&M) -> bool) -> bool {
        self.bound().is_some_and(|ends| ends.iter().all(is_so))
    }

    /// Call once, when the events are recorded, without holding a lease or lock: it notifies the waiters, which may run
    /// their work on this thread.
    pub(crate) fn bind(&self, ends: Ends<M>, outcome: Result<(), E>) {
        let _ = self.ends.set(ends);
        self.core.settle(outcome);
    }
}
