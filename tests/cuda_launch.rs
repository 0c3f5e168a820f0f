//! What loading, launching and unloading ask of the driver, call by call, and what happens when one of the calls fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![cfg(all(feature = "blas", feature = "host", target_os = "linux"))]

mod common;
mod standin;

#[path = "nvrtc_launch/kernels.rs"]
mod kernels;

#[path = "cuda_launch/calls.rs"]
mod calls;
#[path = "cuda_launch/failures.rs"]
mod failures;
#[path = "cuda_launch/unloading.rs"]
mod unloading;
