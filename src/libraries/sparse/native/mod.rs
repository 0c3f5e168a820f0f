//! cuSPARSE itself, and the kernels of our own.
//!
//! | file | what is in it |
//! |---|---|
//! | `functions`, `status` | the library's functions and status codes |
//! | `handle` | a slot's handle |
//! | `descriptors` | matrices and vectors as the library knows them, made for one call |
//! | `kernels` | our own kernels: what the library does not do, or only with a wait |
//! | `kept` | what the library has found out about a matrix, kept by a slot's handle |
//! | `align` | copies of what does not begin where the library wants it |

mod align;
mod descriptors;
mod functions;
mod handle;
mod kept;
mod kernels;
mod status;

pub(super) use descriptors::{dense_matrix, dense_vector};
pub(super) use functions::Opaque;
pub(crate) use handle::Cusparse;
pub(super) use handle::Factor;
pub(super) use kept::{Purpose, Seen};
pub(super) use kernels::{ARRANGE, ENTRIES, PRODUCTS, Pick, SOLVE, SORT, STRUCTURE};
pub(super) use status::NOT_SUPPORTED;
