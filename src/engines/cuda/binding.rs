//! How work that is coming gets its ends on the device, once, and what who follows it is told.
//!
//! ```text
//!   coming ──bind(ends, outcome), once──> bound
//! ```
//!
//! The ends are stored before the state changes, so who sees it bound sees them. The state is asked for **once**: it may
//! change at any moment, and what has no ends at the first look and is bound at a second one would be taken for something
//! that is over. Generic over the marks, the error and the waiter so that the model checker runs this very file
//! (`tests/loom/binding.rs`).

use crate::dispatch::{Settle, Waiter};
use crate::sync::OnceLock;
use smallvec::SmallVec;

/// Where it ends on the device: all of these.
pub(crate) type Ends<M> = SmallVec<[M; 2]>;

/// The end of work that somebody else enqueues.
pub(crate) struct Binding<M, E, W> {
    /// Settled once bound; whoever waits for that is told.
    core: Settle<E, W>,
    ends: OnceLock<Ends<M>>,
}

/// What became of an end that work is to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is among what is followed, or over.
    Followed,
    /// The same, and what it was to write holds nothing.
    Failed,
    /// It is not enqueued yet: no stream can be made to wait for it.
    Coming,
}

impl<M, E: Clone, W: Waiter<E>> Binding<M, E, W> {
    pub(crate) fn new() -> Self {
        Binding { core: Settle::new(), ends: OnceLock::new() }
    }

    pub(crate) fn core(&self) -> &Settle<E, W> {
        &self.core
    }

    /// Where it ends, once it is bound.
    pub(crate) fn bound(&self) -> Option<&[M]> {
        self.core.is_settled().then(|| self.ends.get().map_or(&[][..], |ends| ends))
    }

    /// Gives where it ends to who follows it, one by one.
    pub(crate) fn follow(&self, each: impl FnMut(&M)) -> Added {
        let Some(ends) = self.bound() else { return Added::Coming };
        ends.iter().for_each(each);
        if self.core.has_failed() { Added::Failed } else { Added::Followed }
    }

    /// Bound, and that is so of all its ends.
    pub(crate) fn all(&self, is_so: impl FnMut(&M) -> bool) -> bool {
        self.bound().is_some_and(|ends| ends.iter().all(is_so))
    }

    /// Once, when the events are recorded; outside any lease or lock, as it may run those who wait.
    pub(crate) fn bind(&self, ends: Ends<M>, outcome: Result<(), E>) {
        let _ = self.ends.set(ends);
        self.core.settle(outcome);
    }
}
