//! Compiling at run time (`compile`), and launching kernels with their twins on the host engine (`launch`).
//!
//! The tests that compile need NVRTC, and no GPU: `WINDLASS_CUDA_PATH=$(.ci/nvrtc) cargo test --test nvrtc`.
#![cfg(all(feature = "host", feature = "cuda", feature = "libraries"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod compile;
mod launch;
mod ptx;
#[cfg(target_os = "linux")]
mod simulated;
