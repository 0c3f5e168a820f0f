//! Stream slots: in-order queues that are leased only while work is enqueued.
//!
//! ```text
//! slot.rs              a slot: the state under the lease, and what its marks share
//!  ├─ ring.rs          what is kept alive until its ticket has completed
//!  ├─ last_event.rs    the newest mark        recent.rs: the last operations
//! lease.rs             the choice of a slot for a dispatch
//! follow.rs            what a dispatch waits for on the device
//! members.rs           streams that are held while a call blocks; turns.rs: who gets one
//! ```

mod follow;
mod last_event;
mod lease;
mod members;
mod recent;
mod ring;
mod slot;
mod turns;

pub(crate) use follow::Follows;
pub(crate) use lease::{Choice, Lease, Place};
pub(crate) use members::{Member, Pool};
pub(crate) use ring::Retired;
pub(crate) use slot::{Shared, Slot, SlotMark, State};
