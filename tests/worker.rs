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

use common::host;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use windlass::{Device, DeviceBuilder, RestartPolicy};

const LONG: Duration = Duration::from_secs(30);

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
