//! Run-time compilation: CUDA C++ to PTX, CUBIN or LTO-IR, and the images that come of it.
//!
//! A [`Program`] is compiled by a [`Compiler`] to an [`Image`]; `device.nvrtc()` does it for its device. A compiler needs
//! no GPU, only libnvrtc, and keeps what it has compiled in memory and on disk.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::nvrtc::Program;
//! let device = windlass::Device::best()?;
//! let program = Program::new("template <class T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }")
//!     .name("scale.cu")
//!     .expression("scale<float>");
//! match device.nvrtc().compile(&program) {
//!     Ok(image) => assert_eq!(image.lowered_name("scale<float>"), Some("_Z5scaleIfEvPT_S0_")),
//!     Err(windlass::Error::LibraryMissing { help, .. }) => println!("no compiler here: {help}"),
//!     Err(other) => return Err(other),
//! }
//! # Ok(()) }
//! ```
//!
//! # Where things are
//! - `program.rs`: what is compiled; `options.rs`: how (`check.rs`: what may be passed on); `arch.rs`: for what.
//! - `image.rs`: what comes of it, or from a file; `recognise.rs` tells what bytes are, `extent.rs` how many
//!   there must be.
//! - `compiler.rs`: the way from one to the other; `single_flight.rs`: one compilation under way and all who wait for it;
//!   `pending.rs`: one of these; `produce.rs`: what a helper thread does; `stats.rs`.
//! - `job.rs`: one piece of work and what its answer depends on; `key.rs`: that, hashed; `files.rs` and `scan.rs`: the
//!   headers on disk that it may have read; `cache/`: where it is kept.
//! - `native.rs` and `native_link.rs`: the libraries; `absent.rs`: a build without them. `link.rs`: links.
//! - `module.rs`: an image on a device; `loaded.rs`: its code on a GPU, of this process or of a worker; `global.rs` and
//!   `variable.rs`: its variables; `kernel.rs` and `occupancy.rs`: a function of it. A kernel is launched
//!   with `args.rs`, each an `arg.rs`, as `config.rs` says; `packed.rs`: what of them stays with the launch.
//!   `parameters.rs` and `ptx.rs` tell what it takes, `limits.rs` what it allows; `launch.rs` is the launch as an
//!   operation.
//! - `typed.rs`: launches that are safe, by a `signature.rs`. Each parameter of it is a `param.rs`, at run time a
//!   `kind.rs`.
//! - `twin.rs` and `shared_slice.rs`: a kernel as a Rust function, for the host engine. `intern.rs`: names for traces.
//! - `cross.rs`: how a launch crosses to a worker, and `static_twin.rs`: which twins do.
//!
//! # What holds
//! - An image is never given out for another program, option, header, name, architecture or compiler than its own:
//!   what is kept is compared, not only its hash.
//! - No lock is held while the compiler works or a file is read.
//! - A cache that is damaged, full, read-only or absent costs time and nothing else.
//! - A launch is an operation like any other: checked before anything native, ordered by its buffers, its buffers back.
//! - Nothing of a module is unloaded under work in flight, and a handle's drop calls nothing.

#[cfg(not(feature = "nvrtc"))]
mod absent;
mod arch;
mod arg;
mod args;
mod cache;
mod check;
mod compiler;
#[cfg(target_os = "linux")]
mod cross;
mod cudas;
mod extent;
mod files;
mod global;
mod image;
mod intern;
mod job;
mod kernel;
mod key;
mod kind;
mod launch;
mod link;
#[cfg(feature = "cuda")]
mod loaded;
mod module;
#[cfg(feature = "nvrtc")]
pub(crate) mod native;
mod occupancy;
mod options;
mod packed;
mod param;
mod parameters;
mod pending;
mod produce;
mod program;
mod ptx;
mod recognise;
mod scan;
mod shared_slice;
mod signature;
mod single_flight;
#[cfg(target_os = "linux")]
mod static_twin;
#[cfg(test)]
pub(crate) mod testing;
mod twin;
mod typed;
#[cfg(feature = "cuda")]
mod variable;

#[cfg(not(feature = "nvrtc"))]
use absent as backend;
#[cfg(feature = "nvrtc")]
use native as backend;

pub use crate::launch::{Dim3, KernelAttributes, LaunchConfig, LaunchDims};
pub use crate::trace::CompileStats;
pub use arch::Arch;
pub use arg::{Arg, DevicePtr, Len, Plain};
pub use args::Args;
pub use cache::DiskCache;
pub use compiler::{Compiler, CompilerBuilder};
pub use global::Global;
pub use image::{Image, ImageKind};
pub use kernel::Kernel;
pub use link::Link;
pub use module::Module;
pub use options::{CompileOptions, CppStandard};
pub use param::{Out, Param, Passes, Read, Write};
pub use pending::PendingCompile;
pub use program::{Emit, Program};
pub use shared_slice::{OneWord, SharedSlice, Values};
pub use signature::{Arguments, Signature};
pub use twin::{ThreadIndex, TwinFn};
pub use typed::TypedKernel;

use crate::device::Settings;
use crate::{Device, DeviceBuilder, Result, Stats};

/// The front of run-time compilation and of kernels of one device: `device.nvrtc()`. Holds no native state.
#[derive(Clone, Debug)]
pub struct Nvrtc {
    device: Device,
}

impl Nvrtc {
    /// Compiles for the program's architecture, else for the device's own; or finds the image where it is kept. See
    /// [`Compiler::compile`].
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn compile(&self, program: &Program) -> Result<Image> {
        self.compiler().compile_for(program, self.arch())
    }

    /// As [`compile`](Self::compile), and does not wait.
    ///
    /// # Errors
    /// As [`Compiler::compile_pending`].
    pub fn compile_pending(&self, program: &Program) -> Result<PendingCompile> {
        self.compiler().pending_for(program, self.arch())
    }

    /// Links images for the link's architecture, else for the device's own.
    ///
    /// # Errors
    /// As [`Link`] says.
    pub fn link(&self, link: &Link) -> Result<Image> {
        self.compiler().link_for(link, self.arch())
    }

    /// The compiler that the device works with.
    pub fn compiler(&self) -> Compiler {
        let ours = self.device.inner().config.settings.get::<Compiler>();
        ours.cloned().unwrap_or_else(Compiler::shared)
    }

    /// The device's architecture; `None` for a host device.
    pub fn arch(&self) -> Option<Arch> {
        let (major, minor) = self.device.info().compute_capability?;
        Some(Arch::of_capability(major, minor))
    }

    /// The device.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }
}

impl DeviceBuilder {
    /// The compiler that `device.nvrtc()` works with, with its caches; [the process's](Compiler::shared) otherwise.
    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.settings().set(compiler);
        self
    }
}

/// What the compiler that a device was opened with counts.
pub(crate) fn fill(settings: &Settings, stats: &mut Stats) {
    stats.compiler = settings.get::<Compiler>().cloned().unwrap_or_else(Compiler::shared).stats();
}

/// What another executable may be asked to do.
#[cfg(all(feature = "worker-program", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::worker::Registry) {
    registry.add::<launch::Launch>();
    #[cfg(feature = "cuda")]
    {
        fn each<T: crate::Element>(registry: &mut crate::worker::Registry) {
            registry.add::<variable::GlobalRead<T>>();
        }
        crate::element::each_element!(each(registry));
        registry.add::<variable::GlobalWrite>();
    }
}

impl Device {
    /// Run-time compilation, modules and kernels (NVRTC).
    pub fn nvrtc(&self) -> Nvrtc {
        Nvrtc { device: self.clone() }
    }
}
