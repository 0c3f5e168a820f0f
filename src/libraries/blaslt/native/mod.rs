//! cuBLASLt itself: handles, descriptors, and the ways to multiply that were asked for before.
//!
//! A handle a slot, made by the first product that needs it and used under the slot's lease alone, so that nothing
//! rests on what the library says of threads. It is bound to no stream and owns no workspace: both are arguments of the
//! call.
//!
//! Two levels remember. The epoch knows the **choice** for a problem, that is the algorithm which the heuristic gave or
//! [`autotune`](crate::BlasLt::autotune) measured: behind a lock, asked by a slot that meets a problem for the first
//! time. A slot knows the **plan**, that is the choice with the library's descriptors, which are written to by every
//! call (the addresses of a bias, of scales) and so belong to whoever holds the lease: a call that finds its plan takes
//! no lock, makes nothing and asks nothing. A pinned choice moves the epoch's version on, and plans made before look
//! once more.

mod choices;
mod descriptors;
mod functions;
mod handle;
mod multiply;
mod problem;

use super::way::Choice;
use choices::Choices;
use functions::CublasLtFunctions;
pub(crate) use handle::CublasLt;
pub(super) use multiply::Which;
pub(super) use problem::{Addresses, Factor, MatrixOf, Problem};

use crate::library::Code;

/// Problems that an epoch and each of its slots remember.
const REMEMBERED: usize = 256;

const HEURISTIC: &str = "cublasLtMatmulAlgoGetHeuristic";
const MATMUL: &str = "cublasLtMatmul";
const NOT_SUPPORTED: Code = Code(crate::blas::status::NOT_SUPPORTED);
/// What the heuristic answers to a problem that it has no way for: of attributes and problems that it does not know, it says
/// that they are invalid.
const REFUSALS: [Code; 3] = [NOT_SUPPORTED, Code(crate::blas::status::INVALID_VALUE), Code(ARCH_MISMATCH)];
const ARCH_MISMATCH: i32 = 8;
