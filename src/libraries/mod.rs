//! The libraries: one folder for each, with its front, its specifications, its operations for both engines, its native
//! calls and its caches. This layer may use every layer below it; no lower layer may use it.
//!
//! `routine` has what the routines of several libraries share, `setters` what their specifications share.
//!
//! The list at the end is all that a library needs outside of its folder. CONTRIBUTING.md, "Adding a library",
//! describes the steps.

pub mod blas;
pub mod blaslt;
pub mod fft;
mod interop;
pub mod nvrtc;
#[cfg(all(test, feature = "host", target_os = "linux"))]
mod program_files;
pub mod rng;
mod routine;
mod setters;
pub mod solver;
pub mod sparse;

use crate::{Device, DeviceBuilder};

crate::library::libraries! {
    blas, "blas" => blas::native::Cublas;
    blaslt, "blaslt" => blaslt::native::CublasLt;
    fft, "fft" => fft::native::Cufft;
    nvrtc + fill, "nvrtc" => nvrtc::native::NvrtcLibrary;
    rng, "rng";
    solver, "solver" => solver::native::Cusolver;
    sparse, "sparse" => sparse::native::Cusparse;
}

impl Device {
    /// Opens a device with non-default settings.
    pub fn builder() -> DeviceBuilder {
        DeviceBuilder::new(&TABLE)
    }
}
