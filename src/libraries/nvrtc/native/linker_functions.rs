//! nvJitLink, the run-time linker. Needs no device and no driver.
//!
//! Its header calls every function by a name with the release in it; the plain names are there as well, from 12.0 on
//! under one of both.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::library::function_table;

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
        /// Bytes of the CUBIN.
        fn cubin_size(
            handle: Handle, size: *mut usize,
        ) = c"nvJitLinkGetLinkedCubinSize", c"__nvJitLinkGetLinkedCubinSize_12_0";
        /// The CUBIN.
        fn cubin(
            handle: Handle, cubin: *mut c_void,
        ) = c"nvJitLinkGetLinkedCubin", c"__nvJitLinkGetLinkedCubin_12_0";
        /// Bytes of the PTX, with its zero; after `-lto -ptx`.
        fn ptx_size(
            handle: Handle, size: *mut usize,
        ) = c"nvJitLinkGetLinkedPtxSize", c"__nvJitLinkGetLinkedPtxSize_12_0";
        /// The PTX.
        fn ptx(handle: Handle, ptx: *mut c_char) = c"nvJitLinkGetLinkedPtx", c"__nvJitLinkGetLinkedPtx_12_0";
        /// Bytes of the errors, with their zero.
        fn error_log_size(
            handle: Handle, size: *mut usize,
        ) = c"nvJitLinkGetErrorLogSize", c"__nvJitLinkGetErrorLogSize_12_0";
        /// The errors.
        fn error_log(
            handle: Handle, log: *mut c_char,
        ) = c"nvJitLinkGetErrorLog", c"__nvJitLinkGetErrorLog_12_0";
        /// Bytes of the remarks, with their zero.
        fn info_log_size(
            handle: Handle, size: *mut usize,
        ) = c"nvJitLinkGetInfoLogSize", c"__nvJitLinkGetInfoLogSize_12_0";
        /// The remarks.
        fn info_log(
            handle: Handle, log: *mut c_char,
        ) = c"nvJitLinkGetInfoLog", c"__nvJitLinkGetInfoLog_12_0";
    }
    optional {
        /// The version, major and minor.
        fn version(major: *mut c_uint, minor: *mut c_uint) = c"nvJitLinkVersion";
    }
}
