//! Neural networks: the same program on every device (`WINDLASS_TEST_DEVICE`).
#![cfg(all(feature = "host", feature = "dnn", feature = "blas"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod attention;
mod convolution;
mod formulas;
mod norms;
mod pooling;
mod row_times;
mod rows;
mod sample;
mod timing;
