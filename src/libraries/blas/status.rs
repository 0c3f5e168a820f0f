//! The status codes of cuBLAS (`cublasStatus_t`), which cuBLASLt shares.

use crate::engines::library::{Class, Status};

/// The library does not accept a value.
pub(crate) const INVALID_VALUE: i32 = 7;
/// The library does not support this call.
pub(crate) const NOT_SUPPORTED: i32 = 15;

/// All codes, in ascending order.
pub(crate) const STATUS: &[Status] = &[
    // cuBLAS returns this if its own first allocation fails. Our pool may hold the memory that it needs.
    (1, "CUBLAS_STATUS_NOT_INITIALIZED", Class::OutOfMemory),
    (3, "CUBLAS_STATUS_ALLOC_FAILED", Class::OutOfMemory),
    (INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", Class::InvalidValue),
    (8, "CUBLAS_STATUS_ARCH_MISMATCH", Class::Internal),
    (11, "CUBLAS_STATUS_MAPPING_ERROR", Class::ExecutionFailed),
    (13, "CUBLAS_STATUS_EXECUTION_FAILED", Class::ExecutionFailed),
    (14, "CUBLAS_STATUS_INTERNAL_ERROR", Class::Internal),
    (NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", Class::Unsupported),
    (16, "CUBLAS_STATUS_LICENSE_ERROR", Class::NotInitialized),
];
