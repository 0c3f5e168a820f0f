//! cuSOLVER: its functions, its handles, and the calls.
//!
//! | file | content |
//! |---|---|
//! | `functions`, `typed_functions`, `status` | the library's functions and status codes |
//! | `handle` | the handles |
//! | `calls` | what the CUDA implementations share: a call with its workspaces |
//! | `dense`, `refine` | factors and solutions of one matrix |
//! | `singular`, `spectra`, `options` | singular values and eigenvalues, and the options of the Jacobi methods |
//! | `batched` | many small matrices in one call |
//! | `kernels`, `range`, `small_qr`, `small_lu`, `small_spectra` | our own kernels |

pub(super) mod batched;
pub(super) mod calls;
pub(super) mod dense;
mod functions;
mod handle;
pub(super) mod kernels;
pub(super) mod options;
pub(super) mod range;
pub(super) mod refine;
pub(super) mod singular;
pub(super) mod small_lu;
pub(super) mod small_qr;
pub(super) mod small_spectra;
pub(super) mod spectra;
mod status;
mod typed_functions;

use calls::{code, i32s};
pub(in crate::libraries::solver) use dense::At;
use functions::CusolverFunctions;
pub(crate) use handle::Cusolver;
pub(super) use kernels::Copy;
pub(super) use range::Group;
use typed_functions::CusolverTyped;
