//! The end of a dispatch that is not enqueued yet.
//!
//! Most work is enqueued by the thread that submits it; from then on its buffers hold a [`Mark`]. A helper thread
//! (`late_submit.rs`) enqueues work whose calls block, work that needs a plan that is still being built, and work that
//! follows other such work. The buffers of such work hold a `Late` instead, from its submission on:
//!
//! ```text
//!   coming ──bind(marks, outcome), once──> bound
//! ```
//!
//! It is bound when its events are recorded, or when it failed. Work that must follow something that is still coming
//! becomes late itself, and is notified when that is bound. So when late work is enqueued, the events of all that it
//! follows are recorded, and `cuStreamWaitEvent` waits for the right records.
//!
//! - **Race "register against bind"**: there is one lock in [`Settle`](crate::dispatch::Settle). If its `subscribe`
//!   returns false (too late), the work is bound. The nodes of the host engine use the same state machine, so its
//!   models (`tests/loom/settle.rs`, `graph.rs`) cover this one too.
//! - **Race "follow against bind"**: see `binding.rs`; its model is `tests/loom/binding.rs`.
//! - Work that ends without having enqueued anything is bound to the ends of all that it was to follow, because in the
//!   buffers it has replaced them.

use super::slot::Mark;
use crate::core::error::Error;
use crate::core::order::binding::{Added, Binding};
use crate::core::order::{Core as Settled, Follower};
use crate::core::sync::Arc;

/// The marks where late work ends on the device. It has completed when all of them have.
pub(super) type Ends = crate::core::order::binding::Ends<Mark>;

/// The end of a late dispatch.
pub(crate) struct Late(Binding<Mark, Error, Follower>);

impl Late {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Late(Binding::new()))
    }

    /// Settled when the dispatch is bound; its waiters are notified then.
    pub(super) fn core(&self) -> &Settled {
        self.0.core()
    }

    /// Whether it is enqueued or has failed.
    pub(crate) fn is_bound(&self) -> bool {
        self.0.core().is_settled()
    }

    /// Its error, if it failed: what it was to write holds no valid data. (A [`Mark`] has no error: its work was
    /// enqueued.)
    pub(crate) fn error(&self) -> Option<Error> {
        self.0.core().error()
    }

    /// Whether it failed. [`error`](Self::error) says why.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.core().has_failed()
    }

    /// Passes each mark where it ends to `each`, if it is bound.
    pub(super) fn follow(&self, each: impl FnMut(&Mark)) -> Added {
        self.0.follow(each)
    }

    /// True if it is bound and `is_so` holds for each of its ends.
    pub(super) fn all(&self, is_so: impl FnMut(&Mark) -> bool) -> bool {
        self.0.all(is_so)
    }

    /// The marks where it ends; empty while it is coming. To tell that from work that has completed, use
    /// [`follow`](Self::follow).
    pub(crate) fn ends(&self) -> &[Mark] {
        self.0.bound().unwrap_or_default()
    }

    /// Whether it is bound and known to have completed.
    pub(crate) fn is_past(&self) -> bool {
        self.all(Mark::is_past)
    }

    /// The same, but queries the driver if needed.
    pub(crate) fn poll(&self) -> bool {
        self.all(Mark::poll)
    }

    /// Call once, when the events are recorded, without holding a lease or lock: it notifies the waiters, which may run
    /// their work on this thread.
    pub(super) fn bind(&self, ends: Ends, outcome: Result<(), Error>) {
        self.0.bind(ends, outcome);
    }
}
