//! Where a dispatch ends that is not enqueued yet.
//!
//! Most work is enqueued by the thread that submits it, and its buffers remember a mark from then on. Work whose calls
//! block, that needs a plan which is being built, or that follows other such work, is enqueued by a helper thread
//! (`late_submit.rs`). Its buffers remember a `Late` instead, from its submission on:
//!
//! ```text
//!   coming ──bind(marks, outcome), once──> bound
//! ```
//!
//! It is bound when its events are recorded, or when it failed. Whoever is to follow something that is coming becomes late
//! itself, and is told by the binding. So when late work is enqueued, all that it follows is recorded, and
//! `cuStreamWaitEvent` means what it should.
//!
//! - **Race "register against bind"**: one lock in [`Settle`](crate::dispatch::Settle), whose answer "too late" means bound.
//!   It is the machine of the host's nodes, and its models (`tests/loom/settle.rs`, `graph.rs`) are this one's too.
//! - **Race "follow against bind"**: `binding.rs`, whose model is `tests/loom/binding.rs`.
//! - Work that ends without having enqueued anything binds to the ends of all it was to follow: it stands in the buffers
//!   in their place.

use super::binding::{Added, Binding};
use super::slot::Mark;
use crate::Error;
use crate::host::{Core as Settled, Follower};
use crate::sync::Arc;

/// Where it ends on the device: all of these.
pub(super) type Ends = super::binding::Ends<Mark>;

/// The end of a late dispatch.
pub(crate) struct Late(Binding<Mark, Error, Follower>);

impl Late {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Late(Binding::new()))
    }

    /// Settled once bound; whoever waits for that is told.
    pub(super) fn core(&self) -> &Settled {
        self.0.core()
    }

    /// It is enqueued, or failed.
    pub(crate) fn is_bound(&self) -> bool {
        self.0.core().is_settled()
    }

    /// It failed: what it was to write holds nothing. (A mark cannot say so: its work was enqueued.)
    pub(crate) fn error(&self) -> Option<Error> {
        self.0.core().error()
    }

    /// As [`error`](Self::error) says with what.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.core().has_failed()
    }

    /// Gives where it ends to who follows it.
    pub(super) fn follow(&self, each: impl FnMut(&Mark)) -> Added {
        self.0.follow(each)
    }

    /// Bound, and that is so of all its ends.
    pub(super) fn all(&self, is_so: impl FnMut(&Mark) -> bool) -> bool {
        self.0.all(is_so)
    }

    /// Where it ends; nothing while it is coming. Who has to tell that from what is over asks [`follow`](Self::follow).
    pub(crate) fn ends(&self) -> &[Mark] {
        self.0.bound().unwrap_or_default()
    }

    /// Bound, and known to be over.
    pub(crate) fn is_past(&self) -> bool {
        self.all(Mark::is_past)
    }

    /// The same, asking the driver if need be.
    pub(crate) fn poll(&self) -> bool {
        self.all(Mark::poll)
    }

    /// Once, when the events are recorded; outside any lease or lock, as it may run those who wait.
    pub(super) fn bind(&self, ends: Ends, outcome: Result<(), Error>) {
        self.0.bind(ends, outcome);
    }
}
