//! Programs: recorded once, replayed many times.

mod alike;
mod captured;
mod change;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod file;
mod fused;
#[cfg(target_os = "linux")]
mod names;
mod order;
mod refusals;
mod shape;

use crate::common::devices;
use windlass::Device;

/// Devices that record. Of those in workers not all that these suites do: closures of a test do not cross.
/// `WINDLASS_TEST_RECORD=isolated` tries them.
fn recorders() -> Vec<Device> {
    let all = std::env::var_os("WINDLASS_TEST_RECORD").is_some();
    devices().into_iter().filter(|device| all || !device.is_isolated()).collect()
}
