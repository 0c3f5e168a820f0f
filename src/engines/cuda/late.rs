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
//! - The marks are stored before the state changes, so who sees it bound sees them.
//! - Work that ends without having enqueued anything binds to the ends of all it was to follow: it stands in the buffers
//!   in their place.

use super::slot::Mark;
use crate::Error;
use crate::host::Core as Settled;
use crate::sync::Arc;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Where it ends on the device: all of these.
pub(super) type Ends = SmallVec<[Mark; 2]>;

/// The end of a late dispatch.
pub(crate) struct Late {
    /// Settled once bound; whoever waits for that is told.
    pub(super) core: Settled,
    ends: OnceLock<Ends>,
}

impl Late {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Late { core: Settled::new(), ends: OnceLock::new() })
    }

    /// It is enqueued, or failed.
    pub(crate) fn is_bound(&self) -> bool {
        self.core.is_settled()
    }

    /// It failed: what it was to write holds nothing. (A mark cannot say so: its work was enqueued.)
    pub(crate) fn error(&self) -> Option<crate::Error> {
        self.core.error()
    }

    /// As [`error`](Self::error) says with what.
    pub(crate) fn has_failed(&self) -> bool {
        self.core.has_failed()
    }

    /// Where it ends, once it is bound.
    pub(crate) fn bound(&self) -> Option<&[Mark]> {
        self.is_bound().then(|| self.ends.get().map_or(&[][..], |ends| ends))
    }

    /// The same, and nothing while it is coming. Who has to tell that from what is over asks [`bound`](Self::bound), once.
    pub(crate) fn ends(&self) -> &[Mark] {
        self.bound().unwrap_or_default()
    }

    /// Bound, and known to be over.
    pub(crate) fn is_past(&self) -> bool {
        self.is_bound() && self.ends().iter().all(Mark::is_past)
    }

    /// The same, asking the driver if need be.
    pub(crate) fn poll(&self) -> bool {
        self.is_bound() && self.ends().iter().all(Mark::poll)
    }

    /// Once, when the events are recorded; outside any lease or lock, as it may run those who wait.
    pub(super) fn bind(&self, ends: Ends, outcome: Result<(), Error>) {
        let _ = self.ends.set(ends);
        self.core.settle(outcome);
    }
}
