//! Devices in a child process: what is left when the child is lost, and what the program sees of it.
//!
//! The tests run one after the other: some count the process's descriptors, mappings and children.
//! `WINDLASS_TEST_KILLS` sets the number of kills under load, 500 otherwise.
#![cfg(all(feature = "host", target_os = "linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

#[path = "worker/arrivals.rs"]
mod arrivals;
#[path = "worker/bounds.rs"]
mod bounds;
#[path = "worker/callers.rs"]
mod callers;
#[path = "worker/closing.rs"]
mod closing;
#[path = "worker/ends.rs"]
mod ends;
#[path = "worker/gate.rs"]
mod gate;
#[path = "worker/hooks.rs"]
mod hooks;
#[path = "worker/kernels.rs"]
mod kernels;
#[path = "worker/lanes.rs"]
mod lanes;
#[path = "worker/load.rs"]
mod load;
#[path = "worker/loss.rs"]
mod loss;
#[path = "worker/mirrors.rs"]
mod mirrors;
#[path = "worker/ops.rs"]
mod ops;
#[path = "worker/programs.rs"]
mod programs;
#[path = "worker/settings.rs"]
mod settings;
#[path = "worker/system.rs"]
mod system;
#[path = "worker/torn.rs"]
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
