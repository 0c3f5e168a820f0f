//! The synchronisation primitives that the concurrent core is written against, in one place.
//!
//! The small state machines (`dispatch/settle.rs`, `buffer/handles.rs`, `engine/life.rs`, `engine/sequence.rs`) name
//! only this module, so that the model checker in `tests/loom.rs` can include the very same files over loom's types.

pub(crate) use parking_lot::{Condvar, Mutex, RwLock};
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
