//! The bindings of cuSPARSE, and the kernels of our own.
//!
//! | file | contents |
//! |---|---|
//! | `functions`, `status` | the library's functions and status codes |
//! | `handle` | a slot's handle |
//! | `descriptors` | the library's descriptors of matrices and vectors, made for one call |
//! | `kernels` | our own kernels: operations that the library does not have, or only with a wait |
//! | `kept` | the library's preprocessing of matrices, kept by a slot's handle |
//! | `align` | copies of operands that do not have the alignment or index type that the library needs |

pub(super) mod align;
mod descriptors;
mod functions;
pub(super) mod handle;
pub(super) mod kept;
pub(super) mod kernels;
mod status;

pub(super) use descriptors::{Described, dense_matrix, dense_vector};
pub(super) use functions::{CusparseFunctions, RawDense, RawHandle, RawMatrix, RawVector};
pub(crate) use handle::Cusparse;
pub(super) use handle::Factor;
pub(super) use kept::PreprocessKey;
pub(super) use kernels::{ARRANGE, ENTRIES, PRODUCTS, Pick, SOLVE, SORT, STRUCTURE};
