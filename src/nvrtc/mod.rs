//! Run-time compilation: CUDA C++ to PTX, CUBIN or LTO-IR, and the images that come of it.
//!
//! - `program.rs`: what is compiled. `arch.rs`: for what.
//! - `image.rs`: what comes of it, or from a file; `recognise.rs` tells what bytes are.
//!
//! - `module.rs`: an image on a device. `global.rs`: its variables. `kernel.rs`: a function of it, launched with
//!   `args.rs` as `config.rs` says; `parameters.rs` and `ptx.rs` tell what it takes, `limits.rs` what it allows.
//! - `launch.rs`: the launch as an operation. `signature.rs`, `typed.rs`: launches that are safe.
//! - `twin.rs`, `cells.rs`: a kernel as a Rust function, for the host engine.
//!
//! A compiler needs no GPU, only libnvrtc. A host device needs neither.

mod arch;
mod args;
mod cells;
mod config;
mod global;
mod image;
mod intern;
mod kernel;
mod launch;
mod limits;
mod module;
mod parameters;
mod program;
mod ptx;
mod recognise;
mod signature;
mod twin;
mod typed;

pub use arch::Arch;
pub use args::{Arg, Args, DevicePtr, Plain};
pub use cells::{Cells, OneWord, Values};
pub use config::{Dim3, LaunchConfig, LaunchDims};
pub use global::Global;
pub use image::{Image, ImageKind};
pub use kernel::Kernel;
pub(crate) use limits::DeviceLimits;
pub use limits::KernelAttributes;
pub use module::Module;
#[cfg(feature = "cuda")]
pub(crate) use parameters::Parameter;
pub use program::Program;
pub use signature::{Arguments, Out, Param, Passes, Read, Signature, Write};
pub use twin::ThreadIndex;
pub use typed::TypedKernel;

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
