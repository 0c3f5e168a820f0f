//! What orders dispatches: the ends of work (`completion.rs`), what a buffer remembers of them (`access_history.rs`), and the
//! state machines under them, which loom models (`tests/loom`).
//!
//! `settle.rs`: from submitted to settled, with the dependencies counted; `follower.rs`: what is notified then; `sequence.rs`: the tickets of an in-order queue; `flow.rs`: how many operations
//! entered and left an epoch; `parker.rs`: a sleeping thread; `keep_alive.rs`:
//! what work in flight keeps alive.

mod access_history;
mod completion;
pub(crate) mod flow;
mod follower;
#[cfg(feature = "cuda")]
mod keep_alive;
mod parker;
#[cfg(feature = "cuda")]
pub(crate) mod sequence;
mod settle;

pub(crate) use access_history::AccessHistory;
pub(crate) use completion::Completion;
pub(crate) use follower::{Core, Follower, Runnable};
#[cfg(feature = "cuda")]
pub(crate) use keep_alive::KeepAlive;
pub(crate) use parker::Parker;
pub(crate) use settle::{Settle, Waiter};
