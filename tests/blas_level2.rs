//! Level 2 of BLAS against the oracles: every routine, storage, type and flag, on every device.
#![cfg(feature = "host")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

#[path = "blas_level2/batched.rs"]
mod batched;
#[path = "blas_level2/general.rs"]
mod general;
#[path = "blas_level2/matrix.rs"]
mod matrix;
#[path = "blas_level2/properties.rs"]
mod properties;
#[path = "blas_level2/refusals.rs"]
mod refusals;
#[path = "blas_level2/repeats.rs"]
mod repeats;
#[path = "blas_level2/special.rs"]
mod special;
#[path = "blas_level2/symmetric.rs"]
mod symmetric;
#[path = "blas_level2/triangular.rs"]
mod triangular;
#[path = "blas_level2/updates.rs"]
mod updates;
