//! What a program sees of cuBLAS's and cuBLASLt's operations, on every device under test: one module a suite. A program
//! apart from `host`, since each operation is compiled into the program that submits it: they build side by side.
//!
//! `cargo test --test blas level3::` runs one suite, `WINDLASS_TEST_DEVICE=cuda:0` runs any of them on a GPU, and
//! `host:isolated` in worker processes.
#![cfg(all(feature = "host", feature = "libraries"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod blaslt;
mod level1;
mod level2;
mod level3;
