//! The libraries: one folder for each, with its front, its specifications, its operations for both engines, its native
//! calls and its caches. The highest floor: it may use every other, and none may use it.
//!
//! `kernel` builds our own kernels, `operands` reads the layouts of tensors as vectors and matrices. `routine` has what the routines of
//! several libraries share, `tensor_routine` those over tensors, `flags` what their specifications share.
//!
//! The list at the end is all that a library needs outside of its folder. CONTRIBUTING.md, "Adding a library",
//! describes the steps. A folder is compiled if its cargo feature is selected; in it, the halves of its operations are
//! under the features of the engines, `host` and `cuda`.

#[cfg(not(all(
    feature = "blas",
    feature = "blaslt",
    feature = "direct",
    feature = "dnn",
    feature = "fft",
    feature = "nvrtc",
    feature = "rng",
    feature = "solver",
    feature = "sparse",
    feature = "tensor"
)))]
mod absent;
#[cfg(feature = "expressions")]
pub mod arrays;
#[cfg(feature = "blas")]
pub mod blas;
#[cfg(feature = "blaslt")]
pub mod blaslt;
#[cfg(feature = "collective")]
pub mod collective;
#[cfg(feature = "direct")]
pub mod direct;
#[cfg(any(feature = "nvrtc", all(feature = "dnn", feature = "cuda")))]
#[cfg_attr(not(feature = "nvrtc"), allow(dead_code, reason = "what only compilers ask"))]
mod disk_cache;
#[cfg(feature = "dnn")]
pub mod dnn;
#[cfg(feature = "expressions")]
pub mod expressions;
#[cfg(feature = "fft")]
pub mod fft;
pub(crate) mod flags;
pub(crate) mod interop;
#[cfg(all(feature = "expressions", feature = "cuda"))]
mod kernel;
#[cfg(feature = "expressions")]
pub mod moves;
#[cfg(feature = "nvrtc")]
pub mod nvrtc;
mod operands;
#[cfg(test)]
#[cfg(all(feature = "host", feature = "blas", feature = "fft", target_os = "linux"))]
mod program_files;
#[cfg(feature = "expressions")]
pub mod reductions;
#[cfg(feature = "rng")]
pub mod rng;
mod routine;
#[cfg(feature = "solver")]
pub mod solver;
#[cfg(feature = "sparse")]
pub mod sparse;
#[cfg(feature = "tensor")]
pub mod tensor_ops;
#[cfg(feature = "expressions")]
mod tensor_routine;
#[cfg(all(feature = "rng", feature = "expressions"))]
mod weights;

use crate::device::{Device, DeviceBuilder};
use crate::engines::loader::Library;

crate::engines::library::libraries! {
    arrays, "expressions";
    blas, "blas" => blas::native::Cublas;
    blaslt, "blaslt" => blaslt::native::CublasLt;
    collective, "collective" => collective::native::Nccl;
    direct, "direct" => direct::native::Cudss;
    dnn, "dnn" => dnn::native::Cudnn;
    expressions, "expressions";
    fft, "fft" => fft::native::Cufft;
    moves, "expressions";
    nvrtc + fill, "nvrtc" => nvrtc::native::NvrtcLibrary;
    reductions, "expressions";
    rng, "rng";
    solver, "solver" => solver::native::Cusolver;
    sparse, "sparse" => sparse::native::Cusparse;
    tensor_ops, "tensor" => tensor_ops::native::Cutensor;
}

impl Device {
    /// Opens a device with non-default settings.
    pub fn builder() -> DeviceBuilder {
        // Without it little of the crate works on a GPU.
        DeviceBuilder::new(&TABLE, if cfg!(feature = "blas") { &[Library::Cublas] } else { &[] })
    }
}
