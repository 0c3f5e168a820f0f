//! cuBLASLt itself: handles, descriptors, and the cached algorithms.
//!
//! Each slot has a handle, made by the first product that needs it and used only under the slot's lease, so nothing
//! depends on the library's thread safety. It is bound to no stream and owns no workspace: both are arguments of the
//! call.
//!
//! There are two levels of caches. The epoch caches the **choice** for a problem: the algorithm that the heuristic
//! returned or [`autotune`](crate::BlasLt::autotune) measured. It is behind a lock; a slot looks there when it meets a
//! problem for the first time. A slot caches the **plan**: the choice with the library's descriptors. Every call writes
//! to the descriptors (the addresses of a bias, of scales), so they belong to the holder of the lease. A call that
//! finds its plan takes no lock, makes nothing and asks nothing. Pinning a choice increments the epoch's version, and
//! older plans then look up their choice again.

mod choices;
mod descriptors;
mod functions;
mod handle;
pub(super) mod multiply;
mod problem;

use super::selection::Choice;
use choices::Choices;
use functions::CublasLtFunctions;
pub(crate) use handle::CublasLt;
pub(super) use multiply::Which;
pub(super) use problem::{Addresses, Factor, MatrixOf, Problem};

use crate::engines::library::Code;

/// Maximum number of problems that an epoch, and each of its slots, caches.
const REMEMBERED: usize = 256;

const HEURISTIC: &str = "cublasLtMatmulAlgoGetHeuristic";
const MATMUL: &str = "cublasLtMatmul";
const NOT_SUPPORTED: Code = Code(crate::libraries::blas::status::NOT_SUPPORTED);
/// The statuses with which the heuristic refuses a problem. For attributes and problems that it does not know, it
/// returns `INVALID_VALUE`.
const REFUSALS: [Code; 3] = [NOT_SUPPORTED, Code(crate::libraries::blas::status::INVALID_VALUE), Code(ARCH_MISMATCH)];
const ARCH_MISMATCH: i32 = 8;
