//! The synchronisation primitives that the concurrent core is written against, in one place.
//!
//! The small state machines (`dispatch/settle.rs`, `dispatch/parker.rs`, `buffer/handles.rs`, `engine/life.rs`,
//! `engine/flow.rs`, `host/runners.rs`, `cuda/sequence.rs`, `cuda/last_event.rs`, `cuda/ring.rs`, `cuda/turns.rs`,
//! `cuda/late.rs`, `cuda/quiet.rs`, `worker/post.rs`, `worker/frees.rs`, and with a stand-in for the shared memory
//! segment `worker/ring.rs` and `worker/answers.rs`) name only this module, so that the model checker in `tests/loom/`
//! can include the very same files over loom's types.

#[cfg(target_os = "linux")]
pub(crate) use crossbeam_queue::SegQueue;
pub(crate) use parking_lot::{Condvar, Mutex, RwLock};
#[cfg(feature = "cuda")]
pub(crate) use std::sync::OnceLock;
#[cfg(any(feature = "cuda", target_os = "linux"))]
pub(crate) use std::sync::atomic::fence;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, Weak};
