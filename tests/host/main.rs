//! What a program sees of the library, on every device under test: one module a suite. Those of cuBLAS and cuBLASLt are in
//! `tests/blas`.
//!
//! `cargo test --test host conformance::` runs one suite, `WINDLASS_TEST_DEVICE=cuda:0` runs any of them on a GPU, and
//! `host:isolated` in worker processes. Tests run side by side: what needs a process of its own is in `tests/process`.
#![cfg(all(feature = "host", feature = "libraries"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod across;
mod bad_input;
mod circles;
mod conformance;
mod direct;
mod edges;
mod expressions;
mod external;
mod fft;
mod files;
mod flight;
mod floors;
mod front_door;
mod growing;
mod guide;
mod hooks;
mod inside;
mod layouts;
mod lifecycle;
mod managed;
mod moves;
mod ndarray;
mod onnx;
mod ordered;
mod ordering;
mod parallel;
mod pipeline;
mod program;
mod quickstart;
mod reductions;
mod rng;
mod shift;
mod solver;
mod sparse;
mod supervision;
mod tensor_ops;
mod tensors;
mod time;
mod timeline;
mod tracing;
