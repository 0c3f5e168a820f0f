//! cuBLAS itself: its functions, its status codes, a slot's handle.

mod functions;
pub(super) mod handle;
mod typed_functions;

pub(super) use crate::engines::library::Called;
pub(super) use functions::CublasFunctions;
pub(crate) use handle::Cublas;
#[cfg(feature = "dnn")]
pub(in crate::libraries) use handle::real_product;
pub(super) use handle::{BlasCall, PointerMode};
#[cfg(feature = "solver")]
pub(in crate::libraries) use handle::{batched_lu, product};
pub(super) use typed_functions::CublasTyped;
