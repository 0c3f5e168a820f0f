//! Programs: recorded once, replayed many times.

mod alike;
mod change;
mod order;
mod refusals;
mod shape;

use crate::common::devices;
use windlass::Device;

/// Devices that record: those of this process.
fn recorders() -> Vec<Device> {
    devices().into_iter().filter(|device| !device.is_isolated()).collect()
}
