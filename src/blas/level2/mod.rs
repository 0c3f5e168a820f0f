//! Matrices and vectors: level 2.
//!
//! A routine's banded and packed forms are the same operation on another storage, so the specification says which:
//! `Symv::banded` for what BLAS calls `sbmv`, `Symv::packed` for `spmv`.

mod gemv;
mod gemv_batched;
mod ger;
mod symv;
mod syr;
mod syr2;
mod triangle;
mod trmv;

pub use gemv::Gemv;
pub use gemv_batched::GemvBatch;
pub use ger::Ger;
pub use symv::Symv;
pub use syr::{Her, Syr};
pub use syr2::Syr2;
pub use trmv::Trmv;
