//! Run-time compilation: CUDA C++ to PTX, CUBIN or LTO-IR, and the images that come of it.
//!
//! - `program.rs`: what is compiled. `arch.rs`: for what.
//! - `image.rs`: what comes of it, or from a file; `recognise.rs` tells what bytes are.
//!
//! A compiler needs no GPU, only libnvrtc.

mod arch;
mod image;
mod program;
mod recognise;

pub use arch::Arch;
pub use image::{Image, ImageKind};
pub use program::Program;

use crate::Device;

/// The front of run-time compilation and of kernels of one device: `device.nvrtc()`. Holds no native state.
#[derive(Clone, Debug)]
pub struct Nvrtc {
    device: Device,
}

impl Nvrtc {
    /// The device.
    #[allow(dead_code, reason = "modules and kernels stand on it")]
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }
}

impl Device {
    /// Run-time compilation, modules and kernels (NVRTC).
    pub fn nvrtc(&self) -> Nvrtc {
        Nvrtc { device: self.clone() }
    }
}
