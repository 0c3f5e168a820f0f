//! Launches: kernels of PTX text on a GPU, their twins on the host engine, checked against plain computations.
//!
//! `nvrtc_launch/kernels.cu` and `globals.cu` are the sources of the PTX beside them.
#![cfg(feature = "host")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod common;

#[path = "nvrtc_launch/buffers.rs"]
mod buffers;
#[cfg(feature = "nvrtc")]
#[path = "nvrtc_launch/compiled.rs"]
mod compiled;
#[path = "nvrtc_launch/generations.rs"]
mod generations;
#[path = "nvrtc_launch/globals.rs"]
mod globals;
#[path = "nvrtc_launch/kernels.rs"]
mod kernels;
#[path = "nvrtc_launch/launches.rs"]
mod launches;
#[path = "nvrtc_launch/order.rs"]
mod order;
#[path = "nvrtc_launch/refusals.rs"]
mod refusals;
#[path = "nvrtc_launch/signatures.rs"]
mod signatures;
#[path = "nvrtc_launch/twins.rs"]
mod twins;
