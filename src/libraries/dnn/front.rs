//! The calls of a device; each file has an `impl` block of its own.

use crate::device::Device;

/// Operations of neural networks on one device: `device.dnn()`. Holds no native state. See [the module](crate::dnn).
#[derive(Clone, Debug)]
pub struct Dnn {
    pub(super) device: Device,
}

impl Dnn {
    /// Its device.
    pub const fn device(&self) -> &Device {
        &self.device
    }
}

impl Device {
    /// Operations of neural networks.
    pub fn dnn(&self) -> Dnn {
        Dnn { device: self.clone() }
    }
}
