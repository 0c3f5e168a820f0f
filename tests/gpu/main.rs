//! What only a real GPU can show. Without one (`WINDLASS_TEST_DEVICE=cuda:0`) each test says that it was skipped.
#![cfg(all(feature = "host", feature = "cuda", feature = "libraries", target_os = "linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/faulty.rs"]
mod faulty;

mod across;
mod context_reset;
mod device_fault;
mod isolated_faults;
#[path = "../standin/peer.rs"]
mod peer;

/// The GPUs of this machine.
mod gpus {
    use windlass::Device;

    /// Runs `f` with two GPUs, if there are two.
    pub(crate) fn with_two_gpus(f: impl Fn(Device, Device)) {
        match (Device::cuda(0), Device::cuda(1)) {
            (Ok(one), Ok(two)) if crate::common::child::gpu().is_some() => f(one, two),
            _ => eprintln!("skipped: WINDLASS_TEST_DEVICE names no GPU, or this machine has no second"),
        }
    }
}
