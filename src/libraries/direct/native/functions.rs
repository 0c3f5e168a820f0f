//! The functions of cuDSS 1.

use crate::engines::cuda::{AnyThread, opaque_handles};
use crate::engines::library::function_table;
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;

opaque_handles! {
    /// `cudssHandle_t`.
    RawHandle;
    /// `cudssConfig_t`.
    RawConfig;
    /// `cudssData_t`: one analysis and one factor.
    RawData;
    /// `cudssMatrix_t`: a description; the arrays are the caller's.
    RawMatrix;
}

// SAFETY: bound to a device, not to a thread; used by one thread at a time, under the lock of the handles.
unsafe impl AnyThread for RawHandle {}
// SAFETY: host memory that is bound to no thread; used as above.
unsafe impl AnyThread for RawConfig {}
// SAFETY: as the handle.
unsafe impl AnyThread for RawData {}
// SAFETY: as the configuration.
unsafe impl AnyThread for RawMatrix {}

function_table! {
    /// The functions of `libcudss`.
    CudssFunctions = Cudss
    required {
        /// Makes a handle for the current device. What it wrote must be destroyed, also after an error.
        fn create(handle: *mut RawHandle) = c"cudssCreate";
        /// Destroys a handle.
        fn destroy(handle: RawHandle) = c"cudssDestroy";
        /// The stream of all later work of a handle.
        fn set_stream(handle: RawHandle, stream: CUstream) = c"cudssSetStream";
        /// The major (0), minor (1) and patch (2) version.
        fn property(which: i32, value: *mut i32) = c"cudssGetProperty";

        fn config_create(config: *mut RawConfig) = c"cudssConfigCreate";
        fn config_destroy(config: RawConfig) = c"cudssConfigDestroy";
        /// `cudssConfigParam_t`, by number.
        fn config_set(config: RawConfig, what: i32, value: *const c_void, bytes: usize) = c"cudssConfigSet";

        fn data_create(handle: RawHandle, data: *mut RawData) = c"cudssDataCreate";
        fn data_destroy(handle: RawHandle, data: RawData) = c"cudssDataDestroy";
        /// `cudssDataParam_t`, by number; may wait for the stream.
        fn data_get(handle: RawHandle, data: RawData, what: i32, value: *mut c_void, bytes: usize, written: *mut usize)
            = c"cudssDataGet";
        /// `cudssDataParam_t`, by number.
        fn data_set(handle: RawHandle, data: RawData, what: i32, value: *const c_void, bytes: usize) = c"cudssDataSet";

        /// Runs phases. The analysis holds the caller; the others enqueue.
        fn execute(
            handle: RawHandle, phases: i32, config: RawConfig, data: RawData, a: RawMatrix, x: RawMatrix, b: RawMatrix,
        ) = c"cudssExecute";

        /// Describes a dense matrix, in column-major order if the layout is 0.
        fn dense_create(
            matrix: *mut RawMatrix, rows: i64, cols: i64, ld: i64, values: *const c_void, data_type: i32, layout: i32,
        ) = c"cudssMatrixCreateDn";
        /// Describes compressed rows; without ends of rows they end where the next one begins.
        fn csr_create(
            matrix: *mut RawMatrix, rows: i64, cols: i64, entries: i64, starts: *const c_void, ends: *const c_void,
            columns: *const c_void, values: *const c_void, offset_type: i32, index_type: i32, value_type: i32, kind: i32,
            view: i32, base: i32,
        ) = c"cudssMatrixCreateCsr";
        /// Other arrays with the same structure.
        fn csr_pointers(
            matrix: RawMatrix, starts: *const c_void, ends: *const c_void, columns: *const c_void, values: *const c_void,
        ) = c"cudssMatrixSetCsrPointers";
        fn matrix_destroy(matrix: RawMatrix) = c"cudssMatrixDestroy";
    }
    optional { }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::library::assert_names;

    #[test]
    fn every_name_is_in_the_library() {
        let names =
            CudssFunctions::REQUIRED.iter().flat_map(|names| names.iter()).filter_map(|name| name.to_str().ok());
        let library = || CudssFunctions::load().map(CudssFunctions::library);
        // Few machines have it.
        if library().is_ok() {
            assert_names("cudss", names, library());
        }
    }
}
