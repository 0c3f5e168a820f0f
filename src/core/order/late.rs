//! The end of a dispatch that is not enqueued yet.
//!
//! Most work is enqueued by the thread that submits it; from then on its buffers hold a `Mark`. A helper thread of the
//! engine enqueues work whose calls block, work that needs a plan that is still being built, and work that follows other
//! such work (`engines/cuda/late/submit.rs`). From their submission on, the buffers of such work hold a `Late` instead, which
//! is a [`Binding`] of marks:
//!
//! ```text
//!   coming ──bind(marks, outcome), once──> bound
//! ```
//!
//! It is bound when its events are recorded, or when it failed. Work that must follow something that is still coming
//! becomes late itself, and is notified when that is bound. So when late work is enqueued, the events of all that it
//! follows are recorded, and `cuStreamWaitEvent` waits for the right records. A dispatch over several devices has one
//! such end for each of them.
//!
//! - **Race "register against bind"**: there is one lock in [`Settle`]. If its `subscribe` returns false (too late), the
//!   work is bound. The nodes of the host engine use the same state machine, so its models (`tests/loom/settle.rs`,
//!   `graph.rs`) cover this one too.
//! - **Race "follow against bind"**: the ends are stored before the state changes, so a thread that sees the state *bound*
//!   also sees the ends. A reader loads the state only **once**, because it may change at any moment: work that has no
//!   ends at a first load and is bound at a second one would be taken for completed work.
//! - Work that ends without having enqueued anything is bound to the ends of all that it was to follow, because in the
//!   buffers it has replaced them.
//!
//! The types of the marks, the error and the waiter are generic, so that the model checker runs this very file
//! (`tests/loom/late.rs`).

use crate::core::order::settle::{Settle, Waiter};
use crate::core::sync::OnceLock;
use smallvec::SmallVec;

/// The marks where work ends on the device. It has completed when all of them have.
pub(crate) type Ends<M> = SmallVec<[M; 2]>;

/// The end of work that another thread enqueues.
pub(crate) struct Binding<M, E, W> {
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
    /// The end of work that is coming.
    pub(crate) fn new() -> Self {
        Binding { core: Settle::new(), ends: OnceLock::new() }
    }

    /// Settled when the work is bound; its waiters are notified then.
    pub(crate) fn core(&self) -> &Settle<E, W> {
        &self.core
    }

    /// Whether the work is enqueued or has failed.
    pub(crate) fn is_bound(&self) -> bool {
        self.core.is_settled()
    }

    /// Its error, if it failed: what it was to write holds no valid data. (A mark has no error: its work was enqueued.)
    pub(crate) fn error(&self) -> Option<E> {
        self.core.error()
    }

    /// Whether it failed. [`error`](Self::error) says why.
    pub(crate) fn has_failed(&self) -> bool {
        self.core.has_failed()
    }

    fn bound(&self) -> Option<&[M]> {
        self.core.is_settled().then(|| self.ends.get().map_or(&[][..], |ends| ends))
    }

    /// The marks where the work ends; empty while it is coming. To tell that from work that has completed, use
    /// [`follow`](Self::follow).
    pub(crate) fn ends(&self) -> &[M] {
        self.bound().unwrap_or_default()
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
