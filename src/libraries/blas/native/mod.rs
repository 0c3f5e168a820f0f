//! cuBLAS itself: its functions, its status codes, a slot's handle.

mod functions;
mod handle;
mod typed_functions;

pub(super) use crate::engines::library::Called;
pub(super) use functions::CublasFunctions;
pub(crate) use handle::Cublas;
pub(super) use handle::{BlasCall, PointerMode};
pub(super) use typed_functions::CublasTyped;
