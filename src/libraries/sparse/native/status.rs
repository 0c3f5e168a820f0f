//! The status codes of cuSPARSE (`cusparseStatus_t`).

use crate::engines::library::{Class, Status};

/// The library does not support the operation.
pub(in super::super) const NOT_SUPPORTED: i32 = 10;

/// The names of the status codes, in order.
pub(super) const STATUS: &[Status] = &[
    (1, "CUSPARSE_STATUS_NOT_INITIALIZED", Class::NotInitialized),
    (2, "CUSPARSE_STATUS_ALLOC_FAILED", Class::OutOfMemory),
    (3, "CUSPARSE_STATUS_INVALID_VALUE", Class::InvalidValue),
    (4, "CUSPARSE_STATUS_ARCH_MISMATCH", Class::Internal),
    (5, "CUSPARSE_STATUS_MAPPING_ERROR", Class::ExecutionFailed),
    (6, "CUSPARSE_STATUS_EXECUTION_FAILED", Class::ExecutionFailed),
    (7, "CUSPARSE_STATUS_INTERNAL_ERROR", Class::Internal),
    (8, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", Class::Unsupported),
    (9, "CUSPARSE_STATUS_ZERO_PIVOT", Class::Numerical),
    (NOT_SUPPORTED, "CUSPARSE_STATUS_NOT_SUPPORTED", Class::Unsupported),
    (11, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", Class::OutOfMemory),
];
