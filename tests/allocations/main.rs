//! What is counted for the whole process: calls of its allocator, bytes, threads. One test at a time.
#![cfg(all(feature = "host", feature = "libraries", target_os = "linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod counted;
mod endurance;
mod failing;
mod machine;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by each test while it counts.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}
