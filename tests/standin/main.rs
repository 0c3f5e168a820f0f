//! The CUDA engine on the stand-in for the CUDA libraries: what it calls, in which order, and what it does when they fail.
//!
//! The simulated driver is one per process, as the real one is: a test holds a session of it (`driver/mod.rs`). A device
//! fault lasts until the process ends, so such a test is started again in a process of its own.
#![cfg(all(feature = "host", feature = "cuda", feature = "libraries", target_os = "linux"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::result_large_err, reason = "what a submission answers, passed on by closures")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../nvrtc/launch/kernels.rs"]
mod kernels;
#[path = "../dnn/sample.rs"]
mod sample;
#[path = "driver/mod.rs"]
mod standin;
#[allow(dead_code, reason = "a part of it")]
#[path = "../worker/system.rs"]
mod system;

mod across;
mod attention;
mod blas;
mod blas_guards;
mod blaslt;
mod calls;
mod devices;
mod direct;
mod expressions;
mod failures;
mod faults;
mod fft;
mod gpus;
mod growing;
mod isolated;
mod late;
mod launch;
mod managed;
mod neighbours;
#[allow(dead_code, reason = "the checks of arguments need no kernels")]
mod networks;
mod nvtx;
mod onnx;
mod oom;
mod order;
mod peer;
mod plans;
mod program;
mod random;
mod rebuild;
mod recurrent;
mod reductions;
mod rng;
mod selftest;
mod solver;
mod sparse;
mod tables;
mod tensor_ops;
mod tensors;
mod text;
mod timeline;
mod waits;
