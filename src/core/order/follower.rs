//! What waits for a node, and how nodes refer to each other: without the types of their ops.

use crate::core::error::Error;
use crate::core::order::{Parker, Waiter, settle};
use crate::core::sync::{Arc, Mutex};

/// The state of a node, without the types of its op.
pub(crate) type Settle = settle::Settle<Error, Follower>;

/// Called when work settles.
pub(crate) type Then = Box<dyn FnOnce() + Send>;

/// A node without the types of its op: what completions hold.
pub(crate) trait Runnable: Send + Sync {
    fn core(&self) -> &Settle;
    /// Its place in the order of all nodes of the process: it follows no node with a later place.
    fn place(&self) -> u64;
    /// Runs the op and settles. Called once.
    fn run(self: Arc<Self>);
    /// A dependency is done; the last call starts the work.
    fn dep_done(self: Arc<Self>);
}

/// What is notified when a node settles.
pub(crate) enum Follower {
    /// A later op. A failure propagates only along data edges.
    Node { node: Arc<dyn Runnable>, data: bool },
    /// A sleeping thread.
    Thread(Arc<Parker>),
    /// A function to call, unless it was taken back.
    #[cfg_attr(not(feature = "host"), expect(dead_code, reason = "made by the host engine only"))]
    Call(Arc<Mutex<Option<Then>>>),
}

impl Waiter<Error> for Follower {
    fn settled(self, failure: Option<&Error>) {
        match self {
            Follower::Thread(parker) => parker.wake(),
            Follower::Call(then) => {
                if let Some(then) = { then.lock().take() } {
                    then();
                }
            }
            Follower::Node { node, data } => {
                if failure.is_some() && data {
                    node.core().taint(failure.cloned());
                }
                node.dep_done();
            }
        }
    }

    fn same(&self, other: &Self) -> bool {
        matches!((self, other), (Follower::Thread(a), Follower::Thread(b)) if Arc::ptr_eq(a, b))
    }
}
