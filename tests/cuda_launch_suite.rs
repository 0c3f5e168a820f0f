//! The tests of `nvrtc_launch` on the simulated GPU, side by side as they run anywhere. What a real driver would not
//! forgive ends the program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![cfg(all(feature = "blas", feature = "host", target_os = "linux"))]

#[path = "common/mod.rs"]
mod anywhere;
mod standin;

/// What the tests use, with the simulated GPU for its devices.
mod common {
    pub(crate) use crate::anywhere::{assert_back_at, down, holdings, host, is_host, refused, seeds, up};
    use windlass::{Device, DeviceBuilder};

    pub(crate) fn builders() -> Vec<DeviceBuilder> {
        let driver = crate::standin::driver();
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
