//! cuTENSOR: its contractions, and nothing else of it.
//!
//! | file | content |
//! |---|---|
//! | `functions` | the functions that are called, and the descriptors of computations, which are data of the library |
//! | `handle` | the library for the core, and its handle, one for an epoch |
//! | `plan` | plans, which the device makes and keeps, and the call |
//!
//! A plan belongs to the handle that it was made with, and is made by a helper thread that has no slot, so the handle is the epoch's:
//! the library's calls may come from several threads, and a plan may be used by several at a time. It lives as long as a plan of
//! its does. The workspace is the slot's, or scratch memory of the dispatch above 32 MiB: no plan owns one.

mod functions;
mod handle;
mod plan;

pub(crate) use handle::Cutensor;
pub(super) use plan::{Key, enqueue};
