//! The status codes of NVRTC and nvJitLink. If they run out of memory, it is host memory, which a device cannot free;
//! so no code has the class `OutOfMemory`.

use crate::engines::library::{Class, Status};

/// `nvrtcResult` of CUDA 12.0 to 13.0, in order.
pub(super) const NVRTC: &[Status] = &[
    (1, "NVRTC_ERROR_OUT_OF_MEMORY", Class::Internal),
    (2, "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", Class::Internal),
    (3, "NVRTC_ERROR_INVALID_INPUT", Class::InvalidValue),
    (4, "NVRTC_ERROR_INVALID_PROGRAM", Class::InvalidValue),
    (5, "NVRTC_ERROR_INVALID_OPTION", Class::InvalidValue),
    (6, "NVRTC_ERROR_COMPILATION", Class::Internal),
    (7, "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE", Class::Internal),
    (8, "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", Class::InvalidValue),
    (9, "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", Class::InvalidValue),
    (10, "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", Class::InvalidValue),
    (11, "NVRTC_ERROR_INTERNAL_ERROR", Class::Internal),
    (12, "NVRTC_ERROR_TIME_FILE_WRITE_FAILED", Class::Internal),
    (13, "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED", Class::Internal),
    (14, "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED", Class::Internal),
    (15, "NVRTC_ERROR_PCH_CREATE", Class::Internal),
    (16, "NVRTC_ERROR_CANCELLED", Class::Internal),
    (17, "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED", Class::Internal),
];

/// `nvJitLinkResult` of CUDA 12.0 to 13.0, in order.
pub(super) const NVJITLINK: &[Status] = &[
    (1, "NVJITLINK_ERROR_UNRECOGNIZED_OPTION", Class::InvalidValue),
    (2, "NVJITLINK_ERROR_MISSING_ARCH", Class::Internal),
    (3, "NVJITLINK_ERROR_INVALID_INPUT", Class::InvalidValue),
    (4, "NVJITLINK_ERROR_PTX_COMPILE", Class::Internal),
    (5, "NVJITLINK_ERROR_NVVM_COMPILE", Class::Internal),
    (6, "NVJITLINK_ERROR_INTERNAL", Class::Internal),
    (7, "NVJITLINK_ERROR_THREADPOOL", Class::Internal),
    (8, "NVJITLINK_ERROR_UNRECOGNIZED_INPUT", Class::InvalidValue),
    (9, "NVJITLINK_ERROR_FINALIZE", Class::Internal),
    (10, "NVJITLINK_ERROR_NULL_INPUT", Class::InvalidValue),
    (11, "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS", Class::InvalidValue),
    (12, "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE", Class::InvalidValue),
    (13, "NVJITLINK_ERROR_ARCH_MISMATCH", Class::Internal),
    (14, "NVJITLINK_ERROR_OUTDATED_LIBRARY", Class::Internal),
    (15, "NVJITLINK_ERROR_MISSING_FATBIN", Class::InvalidValue),
    (16, "NVJITLINK_ERROR_UNRECOGNIZED_ARCH", Class::Unsupported),
    (17, "NVJITLINK_ERROR_UNSUPPORTED_ARCH", Class::Unsupported),
    (18, "NVJITLINK_ERROR_LTO_NOT_ENABLED", Class::InvalidValue),
];
