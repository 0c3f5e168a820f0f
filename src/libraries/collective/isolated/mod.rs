//! Ranks on isolated devices: each worker process is a rank of its own, as a process of a job is. This process holds their
//! handles, and starts, feeds and rebuilds them.
//!
//! | file | content |
//! |---|---|
//! | `team` | the ranks of one epoch: their devices, and which of them are lost |
//! | `form` | an epoch is made: this process serves a store, at which the workers find each other; rebuilds |
//! | `submit` | a collective: an order to each worker, checked on all ranks before the first is sent |
//! | `joint` | the dispatches of the ranks, as one pending |
//! | `member` | the worker's side: it joins, leaves, and finds its connections for an order |
//!
//! ```text
//!   this process                         worker 0               worker 1
//!     store  <──────── come ───────────── join ──────────────────── join
//!     order: all_reduce 1 of team 7 ────> mesh or NCCL <──────────> mesh or NCCL
//!     Joint  <──────────────────────────── answer ────────────────── answer
//! ```
//!
//! 1. What the workers do among themselves is what processes of a job do (`mesh/`, `native/joined.rs`): they agree on each
//!    collective, and notice each other's loss. This process sends no data, and is no rank.
//! 2. All collectives on a device of this process have one order, whatever communicator they are of: each writes the
//!    device's *turn*, a byte, and all are submitted under one lock. So two communicators never wait for each other crosswise.
//! 3. A worker that cannot run a collective, because its input has failed, tells the others when it is the collective's
//!    turn (`Mesh::skip`): nobody waits for what will not come.
//! 4. All ranks leave by an order that follows their last collective: the end of a communicator of NCCL waits for those of the
//!    other ranks.
//! 5. A worker that is lost stays lost for its epoch, also if the supervisor has replaced it: the new one holds no data.

mod form;
mod joint;
mod member;
mod submit;
mod team;

pub(super) use form::{Isolated, begin};
#[cfg(feature = "every-operation")]
pub(super) use member::Membership;
pub(super) use member::{decode, encode};
pub(super) use submit::submit;
