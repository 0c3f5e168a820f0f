//! **Ordinary Rust threads drive NVIDIA's math libraries through plain handles.**
//!
//! Every call returns a [`PendingDispatch`] that owns all it needs until the device is done; a supervisor looks after
//! faults; and the same program runs on a machine without a GPU, on the CPU. No actors, no async runtime.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::{Device, Gemm};
//!
//! let device = Device::best()?;                          // the first healthy GPU, else the CPU
//! let a = device.buffer(vec![1.0f64; 6])?;               // 2 x 3, column-major
//! let b = device.buffer(vec![2.0f64; 12])?;              // 3 x 4
//! let c = device.zeros::<f64>(8)?;                       // 2 x 4
//! let pending = device.blas().gemm(Gemm::new(2, 4, 3), &a, &b, c)?; // in flight
//! let c = pending.await_result()?;
//! assert_eq!(device.to_vec(&c)?, [6.0; 8]);
//! # Ok(()) }
//! ```
//!
//! # The nouns
//! - [`Device`]: a handle to a GPU or the CPU; lives through every rebuild.
//! - [`DeviceBuffer`]: owns device memory and may be written; [`GpuRef`]: shared, read only.
//! - Fronts such as [`Blas`]: `device.blas()`; they hold no native state.
//! - [`Op`]: one unit of work as plain data; write your own.
//! - [`PendingDispatch`]: work in flight.
//!
//! [`guide`] has a page for each thing that one wants to do.
//!
//! # Order
//! An operation sees the effect of every earlier operation on its buffers, whatever threads submitted them, with no
//! wait on the host. Work on unrelated buffers overlaps.

// docs.rs shows which feature an item needs; `.ci/deep docsrs` builds the documentation as it does.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(
        feature = "host",
        feature = "cuda",
        feature = "blas",
        feature = "blaslt",
        feature = "fft",
        feature = "nvrtc",
        feature = "rng",
        feature = "solver",
        feature = "sparse",
        target_os = "linux"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_macros,
        unused_variables,
        unreachable_pub,
        irrefutable_let_patterns,
        reason = "a build with one engine, without some of the libraries, or for another system leaves parts of the common code unused; the default build is strict"
    )
)]

#[cfg(not(any(feature = "host", feature = "cuda")))]
compile_error!(
    "windlass needs an engine: enable the feature `host`, or `cuda` (with `cuda-13000`, unless the program chooses cudarc's bindings itself)"
);

mod engines;
pub mod guide;
mod libraries;
#[cfg(feature = "host")]
mod numerics;
mod runtime;
mod system;

// Short names for the modules of each layer.
#[cfg(feature = "cuda")]
use engines::cuda;
pub use engines::loader;
pub use engines::worker;
use engines::{cuda_enqueue, host, launch, library};
#[cfg(feature = "blas")]
pub use libraries::blas;
#[cfg(feature = "blaslt")]
pub use libraries::blaslt;
#[cfg(feature = "fft")]
pub use libraries::fft;
#[cfg(feature = "nvrtc")]
pub use libraries::nvrtc;
#[cfg(feature = "rng")]
pub use libraries::rng;
#[cfg(feature = "solver")]
pub use libraries::solver;
#[cfg(feature = "sparse")]
pub use libraries::sparse;
use runtime::{
    buffer, cache, copy, device, dispatch, element, engine, error, fp8, intern, op, program, supervisor, sync, trace,
};

#[cfg(feature = "blas")]
pub use blas::{Blas, Gemm, Vector, VectorMut};
#[cfg(feature = "blaslt")]
pub use blaslt::{BlasLt, Matmul};
pub use buffer::{
    AnyBuffer, AnyBuffers, AnyIn, AnyIns, AnySlice, AnySliceMut, AnySpan, DeviceBuffer, Dyn, Elems, GpuRef, In, List,
    Mirrored, Operand, Readable, ReadableAny, Shareable, Span, TypedOutput,
};
pub use copy::{HostData, Uploadable};
#[cfg(feature = "cuda")]
pub use cuda::{KernelArg, Ptx, StreamPtr};
pub use cuda_enqueue::{Enqueue, EnqueueOn, PlanBuilder};
pub use device::{Device, DeviceBuilder, DeviceInfo, DeviceKind, MemoryInfo, PoolInfo};
pub use dispatch::raw::Landed;
pub use dispatch::{
    Answer, InFlight, PendingDispatch, PendingHost, Submitted, Timed, Wait, await_all, await_any, await_any_timeout,
};
pub use element::{DType, Element};
pub use error::{Diagnostic, Error, Rejected, Result, Site, Stale, Text};
#[cfg(feature = "fft")]
pub use fft::{Fft, FftSpec};
pub use fp8::{F8E4M3, F8E5M2};
#[cfg(feature = "host")]
pub use host::{FaultPlan, HostPool};
pub use launch::{LaunchConfig, LaunchDims};
pub use libraries::flags::{Diag, Order, Side, Transpose, Uplo};
pub use loader::Library;
#[cfg(feature = "nvrtc")]
pub use nvrtc::{Image, Kernel, Module, Nvrtc};
pub use op::{
    Bufs, Built, Cost, Failure, HostOf, Immediate, Ins, Made, Make, Next, Op, OpKind, OperandNames, Output, Outs,
    PlanKey, Prepare, Raw, Slices, SlicesMut, Spans, WritesOf,
};
#[cfg(target_os = "linux")]
pub use program::{Comparison, StepDifference};
pub use program::{Later, Moved, Program, ProgramStats, Recorder, ReplayReads, Replayed, StepFailure};
#[cfg(feature = "rng")]
pub use rng::Rng;
#[doc(hidden)]
pub use runtime::clock;
pub use runtime::pipeline::{Completed, ParPipeline, Pipeline, Progress};
pub use runtime::{tensor, timeline};
#[cfg(feature = "solver")]
pub use solver::Solver;
#[cfg(feature = "sparse")]
pub use sparse::Sparse;
pub use supervisor::{Health, Phase, RestartPolicy};
pub use tensor::{Tensor, TensorRef};
pub use trace::{DeviceTime, Loss, OpInfo, Recovery, Stats, Trace};
pub use worker::Wire;

/// Slow, independent reference results and their error bounds, for tests of this crate. Not part of the API.
#[cfg(all(feature = "host", feature = "blas"))]
#[doc(hidden)]
pub mod reference {
    pub use crate::numerics::reference::*;
    pub use crate::numerics::{GemmSpec, Trans};
}

// Types of other crates that this crate's API uses, in the versions it was built with.
pub use half::{bf16, f16};
#[cfg(feature = "ndarray")]
pub use ndarray;
pub use num_complex::Complex;
