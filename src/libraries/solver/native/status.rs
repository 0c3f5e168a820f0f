//! The status codes of cuSOLVER.

use crate::engines::library::{Class, Status};

/// A factor of lower precision is singular.
pub(super) const IRS_MATRIX_SINGULAR: i32 = 30;

/// By `cusolver_common.h`. 9 and 10 are the other way round in cuSPARSE.
pub(super) const STATUS: &[Status] = &[
    (1, "CUSOLVER_STATUS_NOT_INITIALIZED", Class::NotInitialized),
    (2, "CUSOLVER_STATUS_ALLOC_FAILED", Class::OutOfMemory),
    (3, "CUSOLVER_STATUS_INVALID_VALUE", Class::InvalidValue),
    (4, "CUSOLVER_STATUS_ARCH_MISMATCH", Class::Unsupported),
    (5, "CUSOLVER_STATUS_MAPPING_ERROR", Class::Internal),
    (6, "CUSOLVER_STATUS_EXECUTION_FAILED", Class::ExecutionFailed),
    (7, "CUSOLVER_STATUS_INTERNAL_ERROR", Class::Internal),
    (8, "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED", Class::Unsupported),
    (9, "CUSOLVER_STATUS_NOT_SUPPORTED", Class::Unsupported),
    (10, "CUSOLVER_STATUS_ZERO_PIVOT", Class::Numerical),
    (11, "CUSOLVER_STATUS_INVALID_LICENSE", Class::NotInitialized),
    (12, "CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED", Class::InvalidValue),
    (13, "CUSOLVER_STATUS_IRS_PARAMS_INVALID", Class::InvalidValue),
    (14, "CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC", Class::InvalidValue),
    (15, "CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE", Class::InvalidValue),
    (16, "CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER", Class::InvalidValue),
    (20, "CUSOLVER_STATUS_IRS_INTERNAL_ERROR", Class::Internal),
    (21, "CUSOLVER_STATUS_IRS_NOT_SUPPORTED", Class::Unsupported),
    (22, "CUSOLVER_STATUS_IRS_OUT_OF_RANGE", Class::InvalidValue),
    (23, "CUSOLVER_STATUS_IRS_NRHS_NOT_SUPPORTED_FOR_REFINE_GMRES", Class::Unsupported),
    (25, "CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED", Class::InvalidValue),
    (26, "CUSOLVER_STATUS_IRS_INFOS_NOT_DESTROYED", Class::InvalidValue),
    (IRS_MATRIX_SINGULAR, "CUSOLVER_STATUS_IRS_MATRIX_SINGULAR", Class::Numerical),
    (31, "CUSOLVER_STATUS_INVALID_WORKSPACE", Class::InvalidValue),
];
