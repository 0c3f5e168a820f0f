//! The calls of a device; each file has an `impl` block of its own.

use crate::core::device_info::DeviceKind;
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

    /// Whether the loops that the CPU has for some calls are used. Programs keep the steps that both engines have, since one may run
    /// what the other recorded.
    pub(super) fn has_loops(&self) -> bool {
        self.device.kind() == DeviceKind::Host && self.device.recording().is_none()
    }
}

/// Fronts of libraries: neural networks.
impl Device {
    /// Operations of neural networks.
    pub fn dnn(&self) -> Dnn {
        Dnn { device: self.clone() }
    }
}
