//! The tests of `nvrtc_launch` on the simulated GPU, side by side as they run anywhere. What a real driver would not
//! forgive ends the program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![cfg(all(feature = "blas", feature = "host", target_os = "linux"))]

#[path = "common/mod.rs"]
mod anywhere;
mod standin;

/// Set in a process whose devices are to be in workers, which find the simulated GPU as it does.
const ISOLATED: &str = "WINDLASS_TEST_SUITE_ISOLATED";

#[test]
fn the_suite_passes_on_gpus_in_worker_processes() {
    if std::env::var_os(ISOLATED).is_some() {
        return;
    }
    let driver = standin::driver();
    let report = format!("{}/{}-suite.violations", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .envs(driver.environment())
        .env("WINDLASS_STANDIN_MEMORY", "1073741824")
        .env("WINDLASS_STANDIN_REPORT", &report)
        .env(ISOLATED, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let violations = std::fs::read_to_string(&report).unwrap_or_default();
    let _ = std::fs::remove_file(&report);
    assert!(output.status.success() && violations.is_empty(), "{violations}{text}");
    assert!(text.contains("launches::") && text.contains("globals::") && text.contains("0 failed"), "{text}");
}

/// What the tests use, with the simulated GPU for its devices.
mod common {
    pub(crate) use crate::anywhere::{assert_back_at, down, holdings, host, is_host, refused, seeds, up};
    use windlass::{Device, DeviceBuilder};

    pub(crate) fn builders() -> Vec<DeviceBuilder> {
        let driver = crate::standin::driver();
        if std::env::var_os(crate::ISOLATED).is_some() {
            return [16, 2].into_iter().map(|slots| Device::builder().cuda(0).slots(slots).isolated()).collect();
        }
        driver.strict();
        // Sixteen slots, as a device has unless it is asked for others, and two, which tests share.
        [16, 2].into_iter().map(|slots| Device::builder().cuda(0).slots(slots)).collect()
    }

    pub(crate) fn devices() -> Vec<Device> {
        builders().into_iter().map(|builder| builder.open().expect("the stand-in opens")).collect()
    }
}

#[path = "nvrtc_launch/buffers.rs"]
mod buffers;
#[path = "nvrtc_launch/generations.rs"]
mod generations;
#[path = "nvrtc_launch/globals.rs"]
mod globals;
#[path = "nvrtc_launch/kernels.rs"]
mod kernels;
#[path = "nvrtc_launch/launches.rs"]
mod launches;
#[path = "nvrtc_launch/order.rs"]
mod order;
#[path = "nvrtc_launch/refusals.rs"]
mod refusals;
#[path = "nvrtc_launch/signatures.rs"]
mod signatures;
