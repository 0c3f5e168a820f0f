//! cuFFT: plans of any type and size, and their execution.
//!
//! A plan is a number. Sizes have 64 bits, types are `cudaDataType`; each extended call (`Xt`) replaces a family of
//! older calls, one for each type.

use std::ffi::{c_int, c_void};

use cudarc::driver::sys::CUstream;

use crate::engines::library::function_table;

function_table! {
    /// The functions of `libcufft`.
    CufftFunctions = Cufft
    required {
        /// Makes an empty plan.
        fn create(plan: *mut c_int) = c"cufftCreate";
        /// Destroys a plan; may wait for the GPU.
        fn destroy(plan: c_int) = c"cufftDestroy";
        /// Whether the plan allocates a work area of its own; call it before the plan is made.
        fn set_auto_allocation(plan: c_int, auto: c_int) = c"cufftSetAutoAllocation";
        /// Sets the work area of the next executions.
        fn set_work_area(plan: c_int, area: *mut c_void) = c"cufftSetWorkArea";
        /// Sets the stream of the next executions.
        fn set_stream(plan: c_int, stream: CUstream) = c"cufftSetStream";
        /// Makes the plan. Waits for the GPU and blocks launches of other threads.
        fn make_plan_many(
            plan: c_int, rank: c_int, n: *mut i64,
            in_embed: *mut i64, in_stride: i64, in_dist: i64, in_type: u32,
            out_embed: *mut i64, out_stride: i64, out_dist: i64, out_type: u32,
            batch: i64, work_size: *mut usize, exec_type: u32,
        ) = c"cufftXtMakePlanMany";
        /// Enqueues the transform; kinds with a real side ignore the direction.
        fn exec(plan: c_int, from: *mut c_void, to: *mut c_void, direction: c_int) = c"cufftXtExec";
    }
    optional { }
}
