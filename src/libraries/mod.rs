//! The top floor: one folder a library, each with its front, its specifications, its operations with both halves, its
//! native calls and its caches. It may call everything below; nothing below names it.
//!
//! `routine` is what the routines of several of them have in common, `setters` the same of specifications.
//!
//! The list at the end is all that a library has outside of its folder. CONTRIBUTING.md, "Adding a library", goes through
//! one.

pub mod blas;
pub mod blaslt;
pub mod fft;
mod interop;
pub mod nvrtc;
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
    /// Opens a device with settings of your own.
    pub fn builder() -> DeviceBuilder {
        DeviceBuilder::new(&TABLE)
    }
}
