//! Device memory, and pinned host memory.
//!
//! ```text
//! pool.rs              the stream-ordered pool; live.rs: which addresses are allocated; peer.rs: access of other GPUs
//! reclaim.rs           device memory on its way back to the pool; frees.rs: the part of it that waits on a slot
//! pinned.rs            pinned host memory: blocks for staging, slots for small results
//!  ├─ handed_on.rs     its reuse by later epochs
//!  └─ in_use.rs        how many threads hold blocks
//! staging.rs           host data on its way; registered.rs: the same in memory shared with a parent process
//! tables.rs            tables of addresses for the batches of libraries; table_staging.rs: long ones
//! ```
//!
//! Device memory is given back only behind the completions of all its uses. Its regions know these completions, so work in
//! flight need not hold the memory.

mod frees;
pub(super) mod handed_on;
mod in_use;
mod live;
mod peer;
mod pinned;
mod pool;
mod reclaim;
#[cfg(target_os = "linux")]
mod registered;
mod staging;
pub(super) mod table_staging;
mod tables;

pub(crate) use frees::Frees;
pub(crate) use live::Live;
pub(crate) use peer::Peer;
pub(crate) use pinned::{Block, PinnedPool, SLOT, SmallSlot};
pub(crate) use pool::{FREES_PER_LEASE, MemoryPool};
pub(crate) use reclaim::{Reclaim, free_some};
#[cfg(target_os = "linux")]
pub(crate) use registered::{Progress, Registered};
pub(crate) use staging::{Arriving, Patience, Piece, Reserved, Staged, Staging, ended};
pub(crate) use tables::{KERNELS, Series, Tables};
