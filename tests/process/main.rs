//! What needs a process of its own: a fork, what is loaded and stays, a subscriber for all threads. Each test starts this
//! program again for itself alone (`common::child::alone`).
#![cfg(all(feature = "host", feature = "libraries", target_os = "linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod compile_errors;
#[cfg(all(feature = "nvrtc", target_env = "gnu"))]
mod compiler_exit;
mod device_variable;
mod fork;
mod limits;
#[cfg(feature = "cuda")]
mod loader;
#[cfg(feature = "cuda")]
mod loader_path;
mod memory;
mod tracing_events;
mod worker_guard;
