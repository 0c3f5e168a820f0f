//! The synchronisation primitives that the concurrent core is written against, in one place.
//!
//! The small state machines (`core/order/` has most of them, `core/buffer/handles.rs`, `core/epoch/life.rs`; of the
//! engines `host/runners.rs`, `cuda/last_event.rs`, `cuda/ring.rs`, `cuda/late.rs`, `cuda/turns.rs`, `cuda/quiet.rs`, `worker/frees.rs`, and
//! with a stand-in for the shared memory segment `worker/ring.rs` and `worker/answers.rs`; and `device/worker/post.rs`) name
//! only this module, so that the model checker in `tests/loom/` can include the very same files over loom's types.

#[cfg(target_os = "linux")]
pub(crate) use crossbeam_queue::SegQueue;
pub(crate) use parking_lot::{Condvar, Mutex, RwLock};
#[cfg(feature = "cuda")]
pub(crate) use std::sync::OnceLock;
#[cfg(any(feature = "cuda", target_os = "linux"))]
pub(crate) use std::sync::atomic::fence;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, Weak};
