//! NVML, the library for device management. It creates no CUDA context.

use std::ffi::{c_char, c_void};

use crate::engines::library::function_table;

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
    optional {}
}
