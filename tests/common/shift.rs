//! Operands that begin anywhere in their buffers: libraries have rules of alignment, and break them at some cost.
//!
//! With `WINDLASS_TEST_SHIFT=3` everything that the libraries' suites compute with, and what they write, begins at the third
//! element of a longer buffer, whose other elements are junk; so every operation that has a test has it with windows. Tests
//! that are about buffers themselves (`conformance::views`, `bad_input`) are not meant to run so.

use std::sync::OnceLock;
use windlass::{Device, DeviceBuffer, Element, Result};

/// Elements before the data of a buffer.
pub fn shift() -> usize {
    static SHIFT: OnceLock<usize> = OnceLock::new();
    *SHIFT.get_or_init(|| std::env::var("WINDLASS_TEST_SHIFT").map_or(0, |n| n.trim().parse().expect("a number")))
}

/// What stands around the data: no operation reads it, and a NaN in most types.
pub fn junk<T: Element>() -> T {
    let mut junk = T::default();
    bytemuck::bytes_of_mut(&mut junk).fill(0xff);
    junk
}

/// Buffers to be written, shifted as those of [`up`](super::up) are.
pub trait Shifted {
    /// As [`Device::uninit`].
    fn room<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>>;
    /// As [`Device::zeros`].
    fn cleared<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>>;
}

impl Shifted for Device {
    fn room<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        match shift() {
            0 => self.uninit(len),
            _ => Ok(super::up(self, vec![junk(); len])),
        }
    }

    fn cleared<T: Element>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        match shift() {
            0 => self.zeros(len),
            _ => Ok(super::up(self, vec![T::default(); len])),
        }
    }
}
