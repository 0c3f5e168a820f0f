//! NVML, device management. Makes no context.

use std::ffi::{c_char, c_void};

use crate::library::function_table;

function_table! {
    /// The functions of `libnvidia-ml`.
    Nvml = Nvml
    required {
        /// Opens the library; counted by it.
        fn init() = c"nvmlInit_v2", c"nvmlInit";
        /// Gives one `init` back.
        fn shutdown() = c"nvmlShutdown";
        /// The device at a PCI address, a terminated text. Opens it.
        fn device_by_pci(
            address: *const c_char, device: *mut *mut c_void,
        ) = c"nvmlDeviceGetHandleByPciBusId_v2", c"nvmlDeviceGetHandleByPciBusId";
    }
    optional {}
}
