//! Run-time compilation: what comes of a program, what is kept of it, and what is never mixed up.
//!
//! Needs libnvrtc and no GPU. It is found as the library finds it (`WINDLASS_CUDA_PATH` first; `.ci/nvrtc` gets one);
//! where there is none, each test says so and passes.
#![cfg(all(feature = "nvrtc", feature = "host"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;
#[path = "nvrtc_compile/here.rs"]
mod here;

#[path = "nvrtc_compile/binaries.rs"]
mod binaries;
#[path = "nvrtc_compile/disk.rs"]
mod disk;
#[path = "nvrtc_compile/errors.rs"]
mod errors;
#[path = "nvrtc_compile/flights.rs"]
mod flights;
#[path = "nvrtc_compile/headers.rs"]
mod headers;
#[path = "nvrtc_compile/images.rs"]
mod images;
#[path = "nvrtc_compile/links.rs"]
mod links;
#[path = "nvrtc_compile/processes.rs"]
mod processes;
#[path = "nvrtc_compile/scalars.rs"]
mod scalars;
#[path = "nvrtc_compile/sources.rs"]
mod sources;
