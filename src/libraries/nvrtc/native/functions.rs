//! NVRTC, the run-time compiler. Needs no device and no driver.
//!
//! A program is used by one thread at a time; several may be compiled at once.

use std::ffi::{c_char, c_int, c_void};

use crate::engines::library::function_table;

/// `nvrtcProgram`, opaque.
pub(crate) type Program = *mut c_void;

/// A callback that the compiler calls from time to time while it works: a result of 1 stops it. Called with the payload
/// and null, from any thread.
pub(crate) type FlowCallback = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

function_table! {
    /// The functions of `libnvrtc`.
    Nvrtc = Nvrtc
    required {
        /// The version, major and minor.
        fn version(major: *mut c_int, minor: *mut c_int) = c"nvrtcVersion";
        /// The number of supported architectures.
        fn num_supported_archs(count: *mut c_int) = c"nvrtcGetNumSupportedArchs";
        /// The supported architectures: 75, 80, ... in order.
        fn supported_archs(archs: *mut c_int) = c"nvrtcGetSupportedArchs";
        /// Makes a program; all strings are copied.
        fn create_program(
            program: *mut Program, source: *const c_char, name: *const c_char, num_headers: c_int,
            headers: *const *const c_char, include_names: *const *const c_char,
        ) = c"nvrtcCreateProgram";
        /// Destroys a program and sets the handle to null.
        fn destroy_program(program: *mut Program) = c"nvrtcDestroyProgram";
        /// Compiles; the results and the log are stored in the program.
        fn compile_program(program: Program, num_options: c_int, options: *const *const c_char) = c"nvrtcCompileProgram";
        /// Size of the PTX in bytes, with its terminating zero.
        fn ptx_size(program: Program, size: *mut usize) = c"nvrtcGetPTXSize";
        /// The PTX.
        fn ptx(program: Program, ptx: *mut c_char) = c"nvrtcGetPTX";
        /// Size of the CUBIN in bytes; 0 for a virtual architecture.
        fn cubin_size(program: Program, size: *mut usize) = c"nvrtcGetCUBINSize";
        /// The CUBIN.
        fn cubin(program: Program, cubin: *mut c_char) = c"nvrtcGetCUBIN";
        /// Size of the LTO-IR in bytes; 0 without `-dlto`.
        fn ltoir_size(program: Program, size: *mut usize) = c"nvrtcGetLTOIRSize";
        /// The LTO-IR.
        fn ltoir(program: Program, ltoir: *mut c_char) = c"nvrtcGetLTOIR";
        /// Size of the log in bytes, with its terminating zero.
        fn log_size(program: Program, size: *mut usize) = c"nvrtcGetProgramLogSize";
        /// The log.
        fn log(program: Program, log: *mut c_char) = c"nvrtcGetProgramLog";
        /// Registers a name expression, before the compilation.
        fn add_name_expression(program: Program, expression: *const c_char) = c"nvrtcAddNameExpression";
        /// The lowered name of a registered expression; the program owns the string.
        fn lowered_name(
            program: Program, expression: *const c_char, name: *mut *const c_char,
        ) = c"nvrtcGetLoweredName";
    }
    optional {
        /// Sets a callback that tells the compiler whether to continue.
        fn set_flow_callback(
            program: Program, callback: FlowCallback, payload: *mut c_void,
        ) = c"nvrtcSetFlowCallback";
    }
}
