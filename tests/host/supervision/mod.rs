//! Faults, rebuilds and what survives them, on the host engine, whose faults can be ordered.

use crate::common;

mod faults;
mod hooks;
mod rebuilds;

use std::time::Duration;
use windlass::{Device, DeviceBuilder, Error, FaultPlan, RestartPolicy};

const LONG: Duration = Duration::from_secs(60);

/// The self-test of a rebuild is an upload, a fill and a download: they count as operations of the device.
const SELF_TEST: u64 = 3;

/// A device on two threads that suffers `plan` and may be rebuilt any number of times, at once.
fn suffering(plan: FaultPlan) -> DeviceBuilder {
    common::host(2).fault_plan(plan).restart_policy(RestartPolicy::unlimited())
}

/// Brings about the fault that the plan has for the next operation, and gives what the operation answered.
#[track_caller]
fn suffer(device: &Device) -> Error {
    device.upload([0u8]).unwrap().await_result().expect_err("a fault was ordered").error
}

/// [`suffer`], and waits for the rebuild.
#[track_caller]
fn suffer_and_recover(device: &Device) {
    let generation = device.generation();
    assert!(suffer(device).is_poisoning());
    assert_eq!(device.wait_healthy(LONG).unwrap().generation, generation + 1);
}
