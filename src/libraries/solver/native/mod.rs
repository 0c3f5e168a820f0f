//! cuSOLVER itself: its functions, its status codes, a slot's handle, our own kernels, and what the CUDA halves have in
//! common.

mod batched;
mod calls;
mod dense;
mod functions;
mod handle;
mod kernels;
mod spectra;
mod status;

use calls::{code, i32s};
pub(in crate::libraries::solver) use dense::At;
use functions::{CusolverFunctions, CusolverTyped};
pub(crate) use handle::Cusolver;
pub(super) use kernels::Copy;
