//! The functions of cuTENSOR 2.

use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::engines::cuda::{AnyThread, opaque_handles};
use crate::engines::library::function_table;
use crate::libraries::blas::Math;
use cudarc::driver::sys::CUstream;
use std::ffi::{CStr, c_void};

opaque_handles! {
    /// `cutensorHandle_t`.
    RawHandle;
    /// `cutensorTensorDescriptor_t`.
    RawTensor;
    /// `cutensorOperationDescriptor_t`.
    RawOperation;
    /// `cutensorPlanPreference_t`.
    RawPreference;
    /// `cutensorPlan_t`.
    RawPlan;
    /// `cutensorComputeDescriptor_t`.
    RawCompute;
}

// SAFETY: the library's calls on a handle may come from several threads at a time.
unsafe impl AnyThread for RawHandle {}
// SAFETY: host memory that the library binds to no thread; nothing changes it.
unsafe impl AnyThread for RawTensor {}
// SAFETY: as above.
unsafe impl AnyThread for RawOperation {}
// SAFETY: as above; a plan may be used by several threads at a time.
unsafe impl AnyThread for RawPlan {}

function_table! {
    /// The functions of `libcutensor`.
    CutensorFunctions = Cutensor
    required {
        /// Makes a handle for the current device.
        fn create(handle: *mut RawHandle) = c"cutensorCreate";
        /// Destroys a handle; may wait for the GPU.
        fn destroy(handle: RawHandle) = c"cutensorDestroy";

        /// Describes a tensor; strides in elements, all above 0; the alignment is one of its addresses, in bytes.
        fn tensor_create(
            handle: RawHandle, tensor: *mut RawTensor, modes: u32, extents: *const i64, strides: *const i64, data_type: u32,
            alignment: u32,
        ) = c"cutensorCreateTensorDescriptor";
        fn tensor_destroy(tensor: RawTensor) = c"cutensorDestroyTensorDescriptor";

        /// Describes `D = alpha * op(A) * op(B) + beta * C`; C and D have one descriptor.
        fn contraction_create(
            handle: RawHandle, operation: *mut RawOperation, a: RawTensor, modes_a: *const i32, op_a: i32, b: RawTensor,
            modes_b: *const i32, op_b: i32, c: RawTensor, modes_c: *const i32, op_c: i32, d: RawTensor, modes_d: *const i32,
            compute: RawCompute,
        ) = c"cutensorCreateContraction";
        fn operation_destroy(operation: RawOperation) = c"cutensorDestroyOperationDescriptor";
        /// `cutensorOperationDescriptorAttribute_t`, by number.
        fn operation_get(handle: RawHandle, operation: RawOperation, attribute: u32, value: *mut c_void, bytes: usize)
            = c"cutensorOperationDescriptorGetAttribute";

        /// Restricts what a plan may be: algorithm, and whether kernels are compiled for it.
        fn preference_create(handle: RawHandle, preference: *mut RawPreference, algorithm: i32, jit: i32)
            = c"cutensorCreatePlanPreference";
        fn preference_destroy(preference: RawPreference) = c"cutensorDestroyPlanPreference";

        /// How much workspace an operation may use.
        fn estimate(handle: RawHandle, operation: RawOperation, preference: RawPreference, how: u32, bytes: *mut u64)
            = c"cutensorEstimateWorkspaceSize";
        /// Chooses a kernel that needs no more workspace than this.
        fn plan_create(handle: RawHandle, plan: *mut RawPlan, operation: RawOperation, preference: RawPreference, limit: u64)
            = c"cutensorCreatePlan";
        fn plan_destroy(plan: RawPlan) = c"cutensorDestroyPlan";
        /// `cutensorPlanAttribute_t`, by number.
        fn plan_get(handle: RawHandle, plan: RawPlan, attribute: u32, value: *mut c_void, bytes: usize)
            = c"cutensorPlanGetAttribute";

        /// Enqueues the contraction; the factors are read during the call.
        fn contract(
            handle: RawHandle, plan: RawPlan, alpha: *const c_void, a: *const c_void, b: *const c_void, beta: *const c_void,
            c: *const c_void, d: *mut c_void, workspace: *mut c_void, bytes: u64, stream: CUstream,
        ) = c"cutensorContract";
    }
    optional { }
}

/// `cudaDataType` of elements, and of their factors.
pub(super) fn types(dtype: DType) -> Result<(u32, u32)> {
    match dtype {
        DType::F32 => Ok((0, 0)),
        DType::F64 => Ok((1, 1)),
        DType::F16 => Ok((2, 0)),
        DType::Bf16 => Ok((14, 0)),
        DType::C32 => Ok((4, 4)),
        DType::C64 => Ok((5, 5)),
        other => Err(Error::unsupported(format!("cuTENSOR has no contraction of {other}"))),
    }
}

/// The library's variable that holds a descriptor.
fn name(dtype: DType, math: Math) -> &'static CStr {
    match (dtype, math) {
        (DType::F64 | DType::C64, _) => c"CUTENSOR_COMPUTE_DESC_64F",
        (DType::F32 | DType::C32, Math::Tf32) => c"CUTENSOR_COMPUTE_DESC_TF32",
        _ => c"CUTENSOR_COMPUTE_DESC_32F",
    }
}

impl CutensorFunctions {
    /// How contractions of a type are computed.
    pub(super) fn compute(&self, dtype: DType, math: Math) -> Result<RawCompute> {
        let name = name(dtype, math);
        // SAFETY: the symbol is a variable that holds a descriptor, so its address is a pointer to one.
        let place = unsafe { self.library().symbol::<*const RawCompute>(name) };
        // SAFETY: as above; the library writes it when it is loaded, and never again, and is not unloaded.
        let compute = place.filter(|place| !place.is_null()).map(|place| unsafe { *place });
        compute.ok_or_else(|| Error::unsupported(format!("this cuTENSOR has no {}", name.to_string_lossy())))
    }

    /// The release: 20801 is 2.8.1.
    pub(super) fn version(&self) -> usize {
        // SAFETY: the signature of the header; it returns a constant.
        unsafe {
            let ask = self.library().symbol::<unsafe extern "C" fn() -> usize>(c"cutensorGetVersion");
            ask.map_or(0, |ask| ask())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::library::assert_names;

    #[test]
    fn every_name_is_in_the_library() {
        let names =
            CutensorFunctions::REQUIRED.iter().flat_map(|names| names.iter()).filter_map(|name| name.to_str().ok());
        let modes = [(DType::F64, Math::Default), (DType::F32, Math::Tf32), (DType::F32, Math::Default)];
        let data: Vec<&str> = modes.iter().filter_map(|(dtype, math)| name(*dtype, *math).to_str().ok()).collect();
        let library = || CutensorFunctions::load().map(CutensorFunctions::library);
        if library().is_ok() {
            assert_names("cutensor", names, library());
            assert_names("CUTENSOR_", data, library());
        }
    }
}
