//! NVML, the library for device management. It creates no CUDA context.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::engines::ffi::function_table;

function_table! {
    /// The functions of `libnvidia-ml`.
    Nvml = Nvml
    required {
        /// Initializes the library, which counts these calls.
        fn init() = c"nvmlInit_v2", c"nvmlInit";
        /// Undoes one `init`.
        fn shutdown() = c"nvmlShutdown";
        /// Opens the device at a PCI address, which is a zero-terminated string.
        fn device_by_pci(
            address: *const c_char, device: *mut *mut c_void,
        ) = c"nvmlDeviceGetHandleByPciBusId_v2", c"nvmlDeviceGetHandleByPciBusId";
    }
    optional {
        /// Whether a link is active.
        fn link_state(device: *mut c_void, link: c_uint, active: *mut c_int) = c"nvmlDeviceGetNvLinkState";
        /// What is at the other end of a link.
        fn link_remote(device: *mut c_void, link: c_uint, remote: *mut PciInfo) = c"nvmlDeviceGetNvLinkRemotePciInfo_v2";
        /// What two devices have in common, as a `nvmlGpuTopologyLevel_t`.
        fn common_ancestor(
            device: *mut c_void, other: *mut c_void, level: *mut c_uint,
        ) = c"nvmlDeviceGetTopologyCommonAncestor";
    }
}

/// `nvmlPciInfo_t`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct PciInfo {
    legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    device_id: c_uint,
    subsystem_id: c_uint,
    address: [c_char; 32],
}

impl PciInfo {
    /// Whether this is the device at an address such as `0000:19:00.0`.
    pub(crate) fn is_at(&self, address: &str) -> bool {
        let mut parts = address.split([':', '.']).map(|part| c_uint::from_str_radix(part, 16).ok());
        parts.by_ref().take(3).eq([self.domain, self.bus, self.device].map(Some))
    }
}

#[cfg(test)]
mod tests {
    use super::PciInfo;

    #[test]
    fn a_device_is_told_by_its_address() {
        let of = |domain, bus, device| PciInfo { domain, bus, device, ..PciInfo::default() };
        assert!(of(0, 0x19, 0).is_at("0000:19:00.0") && of(0x10000, 0xaf, 2).is_at("00010000:AF:02.0"));
        assert!(!of(0, 0x19, 0).is_at("0000:1a:00.0") && !of(1, 0x19, 0).is_at("0000:19:00.0"));
        assert!(!PciInfo::default().is_at("") && !PciInfo::default().is_at("0000:00"));
    }
}
