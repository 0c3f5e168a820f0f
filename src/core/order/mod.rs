//! What orders dispatches: the ends of work (`completion.rs`), what a buffer remembers of them (`access_history.rs`), and the
//! state machines under them, which loom models (`tests/loom`).
//!
//! `settle.rs`: from submitted to settled, with the dependencies counted; `follower.rs`: what is notified then; `sequence.rs`: the
//! tickets of an in-order queue; `mark.rs`: the end of work on a stream; `late.rs`: the end of work that is not enqueued yet;
//! `lane_order.rs`: an order in a worker's lane; `flow.rs`: how many operations entered and left an epoch; `parker.rs`: a sleeping thread;
//! `keep_alive.rs`: what work in flight keeps alive.
//!
//! The engines fill these in: a stream has more in its engine than its marks know.

mod access_history;
mod completion;
pub(crate) mod flow;
mod follower;
mod keep_alive;
#[cfg(target_os = "linux")]
mod lane_order;
#[cfg(feature = "cuda")]
pub(crate) mod late;
#[cfg(feature = "cuda")]
mod mark;
mod parker;
#[cfg(feature = "cuda")]
pub(crate) mod sequence;
pub(crate) mod settle;

pub(crate) use access_history::AccessHistory;
pub(crate) use completion::Completion;
pub(crate) use follower::{Follower, Runnable, Settle, Then};
pub(crate) use keep_alive::KeepAlive;
#[cfg(target_os = "linux")]
pub(crate) use lane_order::{LaneOrder, Progress};
#[cfg(feature = "cuda")]
pub(crate) use mark::{EventHandle, Mark, Stream};
pub(crate) use parker::Parker;
pub(crate) use settle::Waiter;

/// The end of a late dispatch, in the buffers of one device. It has completed when all of its marks have.
#[cfg(feature = "cuda")]
pub(crate) type Late = late::Binding<Mark, crate::core::error::Error, Follower>;
