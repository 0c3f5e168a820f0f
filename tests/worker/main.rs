//! Devices in a child process: what is left when the child is lost, and what the program sees of it.
//!
//! The tests run one after the other: some count the process's descriptors, mappings and children.
//! `WINDLASS_TEST_KILLS` sets the number of kills under load, 50 otherwise.
#![cfg(all(feature = "host", feature = "libraries", target_os = "linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod arrivals;
mod bounds;
mod callers;
mod closing;
mod ends;
mod gate;
mod hooks;
mod kernels;
mod lanes;
mod load;
mod loss;
mod mirrors;
mod ops;
mod program;
mod programs;
mod replays;
mod settings;
mod system;
mod timeline;
mod torn;

use common::{LONG, host};
use std::sync::{Mutex, MutexGuard, PoisonError};
use windlass::{Device, DeviceBuilder, RestartPolicy};

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An isolated host device that may lose any number of workers.
fn isolated() -> DeviceBuilder {
    host(2).isolated().restart_policy(RestartPolicy::unlimited())
}

/// Kills the device's worker.
fn kill(device: &Device) {
    system::signal(device.worker_pid().expect("a worker"), libc::SIGKILL);
}

/// A loss tells how the worker ended, or that this was not known in time: the settling of what is in flight does not wait
/// for long, and on a machine that has others to run a process may be long on its way out.
fn tells(cause: &str, how: &str) -> bool {
    cause.contains(how) || cause.contains("not reaped yet")
}
