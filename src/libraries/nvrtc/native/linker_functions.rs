//! nvJitLink, the run-time linker. Needs no device and no driver.
//!
//! Its header gives every function a name that contains the release. The library also exports the plain names. From
//! 12.0 on every function has at least one of the two names here.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::engines::library::function_table;

/// `nvJitLinkHandle`, opaque.
pub(crate) type Handle = *mut c_void;

function_table! {
    /// The functions of `libnvJitLink`.
    NvJitLink = NvJitLink
    required {
        /// Makes a linker with its options.
        fn create(
            handle: *mut Handle, num_options: u32, options: *const *const c_char,
        ) = c"nvJitLinkCreate", c"__nvJitLinkCreate_12_0";
        /// Destroys a linker and sets the handle to null.
        fn destroy(handle: *mut Handle) = c"nvJitLinkDestroy", c"__nvJitLinkDestroy_12_0";
        /// Adds an input; `kind` is an `nvJitLinkInputType`.
        fn add_data(
            handle: Handle, kind: c_int, data: *const c_void, size: usize, name: *const c_char,
        ) = c"nvJitLinkAddData", c"__nvJitLinkAddData_12_0";
        /// Links.
        fn complete(handle: Handle) = c"nvJitLinkComplete", c"__nvJitLinkComplete_12_0";
        /// Size of the CUBIN in bytes.
        fn cubin_size(
            handle: Handle, size: *mut usize,
        ) = c"nvJitLinkGetLinkedCubinSize", c"__nvJitLinkGetLinkedCubinSize_12_0";
        /// The CUBIN.
        fn cubin(
            handle: Handle, cubin: *mut c_void,
        ) = c"nvJitLinkGetLinkedCubin", c"__nvJitLinkGetLinkedCubin_12_0";
        /// Size of the PTX in bytes, with its terminating zero; for a link with `-lto -ptx`.
        fn ptx_size(
            handle: Handle, size: *mut usize,
        ) = c"nvJitLinkGetLinkedPtxSize", c"__nvJitLinkGetLinkedPtxSize_12_0";
        /// The PTX.
        fn ptx(handle: Handle, ptx: *mut c_char) = c"nvJitLinkGetLinkedPtx", c"__nvJitLinkGetLinkedPtx_12_0";
        /// Size of the error log in bytes, with its terminating zero.
        fn error_log_size(
            handle: Handle, size: *mut usize,
        ) = c"nvJitLinkGetErrorLogSize", c"__nvJitLinkGetErrorLogSize_12_0";
        /// The error log.
        fn error_log(
            handle: Handle, log: *mut c_char,
        ) = c"nvJitLinkGetErrorLog", c"__nvJitLinkGetErrorLog_12_0";
        /// Size of the information log in bytes, with its terminating zero.
        fn info_log_size(
            handle: Handle, size: *mut usize,
        ) = c"nvJitLinkGetInfoLogSize", c"__nvJitLinkGetInfoLogSize_12_0";
        /// The information log.
        fn info_log(
            handle: Handle, log: *mut c_char,
        ) = c"nvJitLinkGetInfoLog", c"__nvJitLinkGetInfoLog_12_0";
    }
    optional {
        /// The version, major and minor.
        fn version(major: *mut c_uint, minor: *mut c_uint) = c"nvJitLinkVersion";
    }
}
