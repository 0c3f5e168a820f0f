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
//! let a = device.tensor([2, 3], [1.0f64; 6])?;
//! let b = device.tensor([3, 4], [2.0f64; 12])?;
//! let c = device.uninit([2, 4])?;
//! let pending = device.blas().gemm(Gemm::new(), &a, &b, c)?; // in flight
//! let c = pending.await_result()?;
//! assert_eq!(device.to_vec(&c)?, [6.0; 8]);
//! # Ok(()) }
//! ```
//!
//! # The nouns
//! - [`Device`]: a handle to a GPU or the CPU; lives through every rebuild.
//! - [`DeviceBuffer`]: owns device memory and may be written; [`GpuRef`]: shared, read only.
//! - Fronts such as [`Blas`]: `device.blas()`; they hold no native state.
//! - [`Op`](op::Op): one unit of work as plain data; write your own.
//! - [`PendingDispatch`]: work in flight.
//!
//! [`guide`] has a page for each thing that one wants to do.
//!
//! # Cargo features
//! The default is what most programs use: both engines, [`Blas`], formulas over [`Tensor`]s with their reductions, and [`Rng`]. The other
//! libraries are features of their own (`blaslt`, `collective`, `dnn`, `fft`, `nvrtc`, `solver`, `sparse`, `tensor`), and `full` has
//! everything: [`guide::features`] has the list. A call into a library that is not built does not compile, and the
//! compiler names the feature.
//!
//! # Order
//! An operation sees the effect of every earlier operation on its buffers, whatever threads submitted them, with no
//! wait on the host. Work on unrelated buffers overlaps.
//!
//! # What stays
//! Until 1.0, a program that compiles with version 0.x.y compiles with every later 0.x.z; 0.(x + 1) may change the interface and need
//! a newer Rust. Errors, reports, results and choices that will gain fields or variants are `#[non_exhaustive]`: match them with `..`
//! and `_`. A worker process, and a file of a program, belong to one version of the library. Results that are bit for bit the same on
//! both engines may differ between versions.

// The compiler gives up types that are nested deeper; none is. (Its own limit is 128.)
#![recursion_limit = "64"]
// docs.rs shows which feature an item needs; `.ci/deep docsrs` builds the documentation as it does.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(
        feature = "host",
        feature = "cuda",
        feature = "blas",
        feature = "blaslt",
        feature = "collective",
        feature = "direct",
        feature = "dnn",
        feature = "expressions",
        feature = "fft",
        feature = "nvrtc",
        feature = "rng",
        feature = "solver",
        feature = "sparse",
        feature = "tensor",
        target_os = "linux"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_macros,
        unused_variables,
        unreachable_pub,
        irrefutable_let_patterns,
        reason = "a build with one engine, without some of the libraries, or for another system leaves parts of the common code unused; the build of `full` is strict"
    )
)]
// The guide names items of all libraries; docs.rs builds all of them.
#![cfg_attr(
    not(all(
        feature = "host",
        feature = "cuda",
        feature = "blaslt",
        feature = "collective",
        feature = "direct",
        feature = "dnn",
        feature = "expressions",
        feature = "fft",
        feature = "nvrtc",
        feature = "rng",
        feature = "solver",
        feature = "sparse",
        feature = "tensor"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

#[cfg(not(any(feature = "host", feature = "cuda")))]
compile_error!(
    "windlass needs an engine: enable the feature `host`, or `cuda` (with `cuda-13000`, unless the program chooses cudarc's bindings itself)"
);

mod core;
mod device;
mod engines;
pub mod guide;
mod libraries;
#[cfg(feature = "host")]
mod numerics;
pub mod op;
mod system;

pub use crate::engines::loader;
#[cfg(feature = "host")]
pub use crate::engines::ptx;
#[cfg(feature = "expressions")]
pub use crate::libraries::arrays;
#[cfg(feature = "blas")]
pub use crate::libraries::blas;
#[cfg(feature = "blaslt")]
pub use crate::libraries::blaslt;
#[cfg(feature = "collective")]
pub use crate::libraries::collective;
#[cfg(feature = "direct")]
pub use crate::libraries::direct;
#[cfg(feature = "dnn")]
pub use crate::libraries::dnn;
#[cfg(feature = "expressions")]
pub use crate::libraries::expressions;
#[cfg(feature = "fft")]
pub use crate::libraries::fft;
#[cfg(feature = "dlpack")]
pub use crate::libraries::interop::dlpack;
#[cfg(feature = "npy")]
pub use crate::libraries::interop::npy;
#[cfg(feature = "safetensors")]
pub use crate::libraries::interop::safetensors;
#[cfg(feature = "expressions")]
pub use crate::libraries::moves;
#[cfg(feature = "nvrtc")]
pub use crate::libraries::nvrtc;
#[cfg(feature = "expressions")]
pub use crate::libraries::reductions;
#[cfg(feature = "rng")]
pub use crate::libraries::rng;
#[cfg(feature = "solver")]
pub use crate::libraries::solver;
#[cfg(feature = "sparse")]
pub use crate::libraries::sparse;
#[cfg(feature = "tensor")]
pub use crate::libraries::tensor_ops;

pub use crate::core::buffer::{DeviceBuffer, GpuRef, In};
#[doc(hidden)]
pub use crate::core::clock;
pub use crate::core::device_info::{DeviceInfo, DeviceKind, MemoryInfo, PoolInfo};
pub use crate::core::dispatch::{PendingDispatch, PendingHost, Wait, await_all, await_any, await_any_timeout};
pub use crate::core::element::{DType, Element};
pub use crate::core::error::{self, Error, Rejected, Result};
pub use crate::core::fp8::{F8E4M3, F8E5M2};
pub use crate::core::health::{self, Health};
pub use crate::core::launch::LaunchConfig;
pub use crate::core::op::Verdict;
pub use crate::core::trace::{self, Stats};
pub use crate::core::truth::Bool;
pub use crate::device::dispatch::Submitted;
#[cfg(feature = "external")]
pub use crate::device::external;
pub use crate::device::memory_report;
pub use crate::device::mirrored::Mirrored;
pub use crate::device::pipeline::{self, Pipeline};
pub use crate::device::program::{self, Program, Recorder};
pub use crate::device::supervisor::RestartPolicy;
pub use crate::device::tensor::{Tensor, TensorRef};
pub use crate::device::{Device, DeviceBuilder};
pub use crate::device::{growing, managed, placement, tensor, timeline, worker};
#[cfg(feature = "host")]
pub use crate::engines::host::{FaultPlan, HostPool};
pub use crate::engines::loader::Library;
#[cfg(feature = "blas")]
pub use crate::libraries::blas::{Blas, Gemm};
#[cfg(feature = "blaslt")]
pub use crate::libraries::blaslt::{BlasLt, Matmul};
#[cfg(feature = "dnn")]
pub use crate::libraries::dnn::Dnn;
#[cfg(feature = "fft")]
pub use crate::libraries::fft::{Fft, FftSpec};
pub use crate::libraries::flags::{Diag, Side, Transpose, Uplo};
#[cfg(feature = "nvrtc")]
pub use crate::libraries::nvrtc::{Kernel, Module, Nvrtc};
#[cfg(feature = "rng")]
pub use crate::libraries::rng::Rng;
#[cfg(feature = "solver")]
pub use crate::libraries::solver::Solver;
#[cfg(feature = "sparse")]
pub use crate::libraries::sparse::Sparse;
#[cfg(feature = "tensor")]
pub use crate::libraries::tensor_ops::TensorOps;

/// Slow, independent reference results and their error bounds, for tests of this crate. Not part of the API.
#[cfg(all(feature = "host", feature = "blas"))]
#[doc(hidden)]
pub mod reference {
    pub use crate::numerics::reference::*;
    pub use crate::numerics::{GemmSpec, Trans};
}

/// How many buffers `WINDLASS_TEST_SHIFT` has shifted, for tests of this crate. Not part of the API.
#[cfg(feature = "precompiled")]
#[doc(hidden)]
pub use crate::core::buffer::shift::shifted;

// Types of other crates that this crate's API uses, in the versions it was built with.
pub use half::{bf16, f16};
#[cfg(feature = "ndarray")]
pub use ndarray;
pub use num_complex::Complex;
