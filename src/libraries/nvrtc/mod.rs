//! Run-time compilation: compiles CUDA C++ to PTX, CUBIN or LTO-IR images, and loads and launches their kernels.
//!
//! A [`Compiler`] compiles a [`Source`] to an [`Image`]; `device.nvrtc()` compiles for its device. A compiler needs
//! libnvrtc but no GPU. It caches its results in memory and on disk.
//!
//! ```
//! # fn main() -> Result<(), windlass::Error> {
//! use windlass::nvrtc::Source;
//! let device = windlass::Device::best()?;
//! let program = Source::new("template <class T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }")
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
//! # Guarantees
//! - An image is returned only for the same program, options, headers, names, architecture and compiler: a cache
//!   compares the stored inputs, not only their hash.
//! - No lock is held while the compiler runs or a file is read.
//! - A cache that is damaged, full, read-only or absent costs time, and has no other effect.
//! - A launch is an operation like any other: its arguments are checked before any native call, its buffers determine
//!   its order, and the written buffers come back.
//! - A module is not unloaded while work in flight uses it, and dropping a handle makes no native call.

// The files of this folder.
// - `program.rs`: the source and what to make of it; `options.rs`: the compile options (`check.rs`: which options are
//   accepted); `arch.rs`: the target architectures.
// - `image.rs`: compiled code, from the compiler or from a file; `recognise.rs`: finds the format of bytes;
//   `extent.rs`: computes how many bytes a binary must have.
// - `compiler.rs`: from a program to its image; `single_flight.rs`: merges identical compilations that run at the same
//   time; `pending.rs`: a compilation in progress; `produce.rs`: the work of a helper thread.
// - `job.rs`: one compilation or link, and everything that its result depends on; `key.rs`: the hash of these;
//   `files.rs` and `scan.rs`: the headers on disk that a source can include; `memory.rs` and
//   `../disk_cache/`: where results are kept.
// - `native/`: the bindings of NVRTC and nvJitLink; `absent.rs`: a build without them; `link.rs`: linking.
// - `module.rs`: an image on a device; `loaded.rs`: its code on a GPU, in this process or in a worker; `global.rs` and
//   `variable.rs`: its variables; `kernel.rs` and `occupancy.rs`: its kernels. `args.rs` and `arg.rs`: the arguments
//   of a launch; `packed.rs`: the part of them that stays with the launch; `parameters.rs` and `ptx.rs`: the
//   parameters that a kernel declares; `launch.rs`: the launch as an operation.
// - `typed.rs`: safe launches with a signature (`signature.rs`); `param.rs`: the type of a parameter; `kind.rs`: the
//   same at run time.
// - `twin.rs` and `shared_slice.rs`: a kernel as a Rust function, for the host engine; `interpreted.rs`: its PTX there.
// - `cross.rs`: how a launch is sent to a worker process; `static_twin.rs`: twins that a worker process can run.

#[cfg(not(feature = "cuda"))]
mod absent;
mod arch;
mod arg;
mod args;
mod check;
mod compiler;
#[cfg(target_os = "linux")]
mod cross;
mod cudas;
mod extent;
mod files;
mod global;
mod image;
#[cfg(feature = "host")]
mod interpreted;
mod job;
mod kernel;
mod key;
mod kind;
mod launch;
mod link;
#[cfg(feature = "cuda")]
mod loaded;
mod memory;
mod module;
#[cfg(feature = "cuda")]
pub(crate) mod native;
mod occupancy;
mod options;
mod packed;
mod param;
mod parameter_names;
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

#[cfg(not(feature = "cuda"))]
use absent as backend;
#[cfg(feature = "cuda")]
use native as backend;

pub use crate::core::launch::{Dim3, KernelAttributes, LaunchConfig, LaunchDims};
pub use crate::core::trace::CompileStats;
pub use crate::libraries::disk_cache::DiskCache;
pub use arch::Arch;
pub use arg::{Arg, DevicePtr, KernelArgument, Len, Plain};
pub use args::Args;
pub use compiler::{Compiler, CompilerBuilder};
pub use global::Global;
pub use image::{Image, ImageKind};
#[cfg(feature = "host")]
pub use interpreted::KernelChecks;
pub use kernel::Kernel;
pub use link::Link;
pub use module::Module;
pub use options::{CompileOptions, CppStandard};
pub use param::{Out, Param, Passes, Read, Write};
pub use pending::PendingCompile;
pub use program::{Emit, Source};
pub use shared_slice::{OneWord, SharedSlice, Values};
pub use signature::{Arguments, Signature};
pub use twin::{ThreadIndex, TwinFn};
pub use typed::TypedKernel;

use crate::core::error::Result;
use crate::core::settings::Settings;
use crate::core::trace::Stats;
use crate::device::{Device, DeviceBuilder};

/// The front of run-time compilation and of kernels of one device: `device.nvrtc()`. It holds no native state.
#[derive(Clone, Debug)]
pub struct Nvrtc {
    device: Device,
}

impl Nvrtc {
    /// Compiles for the program's architecture if it has one, else for that of the device; or returns the cached image.
    /// See [`Compiler::compile`].
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn compile(&self, program: &Source) -> Result<Image> {
        self.compiler().compile_for(program, self.arch())
    }

    /// As [`compile`](Self::compile), but does not wait.
    ///
    /// # Errors
    /// As [`Compiler::compile_pending`].
    pub fn compile_pending(&self, program: &Source) -> Result<PendingCompile> {
        self.compiler().pending_for(program, self.arch())
    }

    /// Links images for the link's architecture if it has one, else for that of the device.
    ///
    /// # Errors
    /// As [`Link`] says.
    pub fn link(&self, link: &Link) -> Result<Image> {
        self.compiler().link_for(link, self.arch())
    }

    /// The compiler that the device uses.
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
    /// Sets the compiler that `device.nvrtc()` uses, with its caches. The default is [the compiler of the
    /// process](Compiler::shared).
    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.settings().set(compiler);
        self
    }
}

/// Fills in the counters of the device's compiler.
pub(crate) fn fill(settings: &Settings, stats: &mut Stats) {
    stats.compiler = settings.get::<Compiler>().cloned().unwrap_or_else(Compiler::shared).stats();
}

/// Registers the operations that a worker of another executable can run.
#[cfg(all(feature = "every-operation", target_os = "linux"))]
pub(crate) fn register(registry: &mut crate::engines::worker::Registry) {
    registry.add::<launch::Launch>();
    #[cfg(feature = "cuda")]
    {
        fn each<T: crate::core::element::Element>(registry: &mut crate::engines::worker::Registry) {
            registry.add::<variable::GlobalRead<T>>();
        }
        crate::core::element::each_element!(each(registry));
        registry.add::<variable::GlobalWrite>();
    }
}

/// Fronts of libraries: kernels.
impl Device {
    /// Run-time compilation, modules and kernels (NVRTC).
    pub fn nvrtc(&self) -> Nvrtc {
        Nvrtc { device: self.clone() }
    }
}
