//! Level 1 of BLAS against the oracles: every routine, type and increment, on every device.
#![cfg(feature = "host")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

#[path = "blas_level1/increments.rs"]
mod increments;
#[path = "blas_level1/lengths.rs"]
mod lengths;
#[path = "blas_level1/properties.rs"]
mod properties;
#[path = "blas_level1/refusals.rs"]
mod refusals;
#[path = "blas_level1/rotations.rs"]
mod rotations;
#[path = "blas_level1/scalars.rs"]
mod scalars;
#[path = "blas_level1/special.rs"]
mod special;
