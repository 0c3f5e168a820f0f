//! The compiler with its caches.
//!
//! ```text
//! check, architecture, the files it reads -> key
//!   in memory?                        -> the image
//!   under way?                        -> wait for that one
//!   else a helper thread: on disk?    -> keep in memory
//!                         compile     -> keep on disk and in memory
//! ```

use super::job::{Job, Request};
use super::memory::Memory;
use super::produce::Maker;
use super::single_flight::{Compilation, SingleFlight, help};
use super::{Arch, CompileStats, Emit, Image, Link, PendingCompile, Source, backend};
use crate::core::error::{Error, Result};
use crate::core::sync::{Arc, AtomicU64, Ordering};
use crate::libraries::disk_cache::{Disk, DiskCache};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Compiles programs of CUDA C++ and caches the results. Needs libnvrtc, but no GPU.
///
/// Cheap to clone; clones share caches and counters. [`Compiler::shared`] is the compiler of the process: every device
/// uses it unless it was opened with [another](crate::DeviceBuilder::compiler). A compiler from a
/// [builder](Compiler::builder) has its own cache in memory. It shares its folder on disk with every compiler that
/// names the same folder.
///
/// The cache key of an image contains: the source, the program's name, the headers in memory, every option, the name
/// expressions, the architecture, the kind of output, and the contents of the headers on disk that the source can
/// include. On disk it also contains the version and build of the compiler. The disk cache stores and compares all of
/// these, headers on disk by their hash. A program is compiled each time if its files cannot be determined from its
/// text: an `#include` of a macro, `__TIME__`, a free option that reads files, `NVRTC_APPEND_FLAGS`.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::nvrtc::{Arch, Compiler, Source};
/// let program = Source::new("extern \"C\" __global__ void one(float* x) { x[0] = 1; }").arch(Arch::SM_80);
/// match Compiler::shared().compile(&program) {
///     Ok(image) => assert!(image.text().unwrap().contains(".entry one")),
///     Err(windlass::Error::LibraryMissing { help, .. }) => println!("no compiler here: {help}"),
///     Err(other) => return Err(other),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Compiler {
    inner: Arc<Inner>,
}

struct Inner {
    compilations: SingleFlight,
    maker: Maker,
    memory_misses: AtomicU64,
    joined: AtomicU64,
}

/// The first answer to a request.
enum Begun {
    Kept(Image),
    UnderWay(Arc<Compilation>),
}

impl Compiler {
    /// The compiler of the process.
    pub fn shared() -> Self {
        static SHARED: OnceLock<Compiler> = OnceLock::new();
        SHARED.get_or_init(|| Compiler::builder().build()).clone()
    }

    /// Makes a compiler with caches of its own.
    pub fn builder() -> CompilerBuilder {
        CompilerBuilder::default()
    }

    /// Compiles for the program's architecture if it has one, else for `sm_80`; or returns the cached image.
    ///
    /// The compilation runs on a helper thread, because deep templates need more stack than most threads have. If
    /// several threads request the same compilation at the same time, it runs once, and all get its result.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for what [`Source::check`] refuses and for options that the compiler does not know;
    /// [`Error::Compile`], with the log and the source lines that it mentions, if the compiler refuses the source;
    /// [`Error::Unsupported`] for an architecture that this compiler does not know; [`Error::LibraryMissing`] without
    /// libnvrtc.
    pub fn compile(&self, program: &Source) -> Result<Image> {
        self.compile_for(program, None)
    }

    /// As [`compile`](Self::compile), but does not wait for the compiler. An image in the memory cache is available at
    /// once. The headers on disk that the source can include are read in this call, on the caller's thread, because the
    /// cache key depends on them.
    ///
    /// If the process exits during a compilation, the exit stops it where the library can do so (NVRTC 13, in some 50
    /// ms). Otherwise the exit waits for it, at most 10 s. This holds on Linux with glibc, on x86-64 and aarch64. On
    /// other systems wait for the result before the exit: the exit handlers of the compiler must not run during a
    /// compilation.
    ///
    /// # Errors
    /// Errors that are known before compiling: [`Error::InvalidArgument`], [`Error::Unsupported`],
    /// [`Error::LibraryMissing`]. The wait reports all others.
    pub fn compile_pending(&self, program: &Source) -> Result<PendingCompile> {
        self.pending_for(program, None)
    }

    /// Links images, or returns the cached result: see [`Link`]. The link runs on a helper thread, as a compilation
    /// does.
    ///
    /// # Errors
    /// As [`Link`] says.
    pub fn link(&self, link: &Link) -> Result<Image> {
        self.link_for(link, None)
    }

    /// The counters of the compiler, and the sizes of its caches.
    pub fn stats(&self) -> CompileStats {
        let inner = &*self.inner;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut stats = CompileStats {
            memory_misses: read(&inner.memory_misses),
            joined: read(&inner.joined),
            ..CompileStats::default()
        };
        inner.maker.fill(&mut stats);
        stats
    }

    /// The folder of the cache on disk, if there is one.
    pub fn disk_folder(&self) -> Option<&Path> {
        self.inner.maker.disk.as_ref().map(Disk::folder)
    }

    /// Removes all images from the memory cache. Images in use stay valid.
    pub fn clear_memory(&self) {
        self.inner.maker.memory.clear();
    }

    /// The version of the compiler, major and minor.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`] without libnvrtc.
    pub fn version(&self) -> Result<(u32, u32)> {
        Ok(backend::identity()?.version)
    }

    /// The portable architectures that the compiler supports, oldest first.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`] without libnvrtc.
    pub fn archs(&self) -> Result<Vec<Arch>> {
        Ok(backend::identity()?.archs.iter().map(|n| Arch::of_capability(n / 10, n % 10)).collect())
    }

    pub(super) fn compile_for(&self, program: &Source, device: Option<Arch>) -> Result<Image> {
        self.answer(Request::Compile(program.clone()), device).map_err(|error| error.in_op("compile", "nvrtc"))
    }

    pub(super) fn pending_for(&self, program: &Source, device: Option<Arch>) -> Result<PendingCompile> {
        match self.begin(Request::Compile(program.clone()), device) {
            Ok(Begun::Kept(image)) => Ok(PendingCompile::done(image)),
            Ok(Begun::UnderWay(compilation)) => Ok(PendingCompile::under_way(compilation)),
            Err(error) => Err(error.in_op("compile", "nvrtc")),
        }
    }

    pub(super) fn link_for(&self, link: &Link, device: Option<Arch>) -> Result<Image> {
        self.answer(Request::Link(link.clone()), device).map_err(|error| error.in_op("link", "nvrtc"))
    }

    fn answer(&self, request: Request, device: Option<Arch>) -> Result<Image> {
        match self.begin(request, device)? {
            Begun::Kept(image) => Ok(image),
            Begun::UnderWay(compilation) => PendingCompile::under_way(compilation).await_result(),
        }
    }

    fn begin(&self, request: Request, device: Option<Arch>) -> Result<Begun> {
        let inner = &self.inner;
        let job = Job::new(request, device)?;
        let key = job.key()?;
        let compilation = match &key {
            // Jobs without a key cannot be compared, so each has a compilation of its own.
            None => Arc::<Compilation>::default(),
            Some(key) => {
                if let Some(image) = inner.maker.in_memory(key, &job.request) {
                    return Ok(Begun::Kept(image));
                }
                inner.memory_misses.fetch_add(1, Ordering::Relaxed);
                let (compilation, leads) = inner.compilations.join(key);
                if !leads {
                    inner.joined.fetch_add(1, Ordering::Relaxed);
                    return Ok(Begun::UnderWay(compilation));
                }
                compilation
            }
        };
        let (inner, finishing) = (inner.clone(), compilation.clone());
        help(move || {
            let work = || backend::unless_exiting(|| inner.maker.make(&job, key.as_ref()));
            inner.compilations.run(&finishing, key.as_ref(), work);
        });
        Ok(Begun::UnderWay(compilation))
    }
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiler").field("disk", &self.disk_folder()).finish_non_exhaustive()
    }
}

/// Settings of a [`Compiler`]: its caches.
///
/// ```
/// use windlass::nvrtc::{Compiler, DiskCache};
/// let compiler = Compiler::builder().disk(DiskCache::Off).memory_images(16).build();
/// assert_eq!(compiler.disk_folder(), None);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct CompilerBuilder {
    memory_images: usize,
    memory_bytes: u64,
    disk: DiskCache,
    disk_bytes: u64,
}

impl Default for CompilerBuilder {
    fn default() -> Self {
        CompilerBuilder { memory_images: 256, memory_bytes: 256 << 20, disk: DiskCache::Default, disk_bytes: 512 << 20 }
    }
}

impl CompilerBuilder {
    /// The maximum number of images in memory. The default is 256; 0 turns the memory cache off.
    pub fn memory_images(mut self, most: usize) -> Self {
        self.memory_images = most;
        self
    }

    /// The maximum size in bytes of the images and their sources in memory. The default is 256 MiB.
    pub fn memory_bytes(mut self, most: u64) -> Self {
        self.memory_bytes = most;
        self
    }

    /// Sets the folder of the disk cache.
    pub fn disk(mut self, place: DiskCache) -> Self {
        self.disk = place;
        self
    }

    /// As [`disk`](Self::disk) with [`DiskCache::At`].
    pub fn disk_folder(self, folder: impl Into<PathBuf>) -> Self {
        self.disk(DiskCache::At(folder.into()))
    }

    /// The maximum size of the disk cache in bytes. The default is 512 MiB; 0 turns it off.
    pub fn disk_bytes(mut self, most: u64) -> Self {
        self.disk_bytes = most;
        self
    }

    /// Makes the compiler. Nothing is read or written yet.
    #[must_use]
    pub fn build(self) -> Compiler {
        crate::core::process::watch_fork();
        let folder = self.disk.folder().filter(|_| self.disk_bytes > 0);
        let disk = folder.map(|folder| Disk::new(&folder, "kernels", self.disk_bytes));
        let zero = || AtomicU64::new(0);
        let inner = Inner {
            compilations: SingleFlight::default(),
            maker: Maker::new(Memory::new(self.memory_images, self.memory_bytes), disk),
            memory_misses: zero(),
            joined: zero(),
        };
        Compiler { inner: Arc::new(inner) }
    }
}

/// The identity of the compiler, or linker, of this process.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// Major and minor.
    pub(super) version: (u32, u32),
    /// A hash that differs between builds.
    pub(super) build: [u8; 32],
    /// The architectures it supports, oldest first: 75, 80, ...
    pub(super) archs: Vec<u32>,
}

impl Identity {
    /// The architecture to compile for: the one asked for, the device's, or `sm_80`.
    pub(super) fn target(&self, asked: Option<Arch>, device: Option<Arch>, emit: Emit) -> Result<Arch> {
        let number = |arch: Arch| arch.capability().0 * 10 + arch.capability().1;
        let knows = |arch: Arch| self.archs.contains(&number(arch));
        let refuse = |arch: Arch| {
            let (major, minor) = self.version;
            let known = self.archs.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
            Err(Error::unsupported(format!("NVRTC {major}.{minor} does not compile for {arch}; it supports {known}")))
        };
        let of = |n: u32| Arch::of_capability(n / 10, n % 10);
        match (asked, device) {
            (Some(arch), _) if knows(arch) => Ok(arch),
            (Some(arch), _) => refuse(arch),
            (None, Some(arch)) if knows(arch) => Ok(arch),
            // The GPU is newer than the compiler: takes the newest architecture whose code the GPU runs. Machine code
            // runs only within its major version.
            (None, Some(arch)) => match self.archs.iter().copied().filter(|&n| n <= number(arch)).max().map(of) {
                Some(older) if emit != Emit::Cubin || older.capability().0 == arch.capability().0 => Ok(older),
                _ => refuse(arch),
            },
            (None, None) if knows(Arch::SM_80) => Ok(Arch::SM_80),
            (None, None) => self.archs.first().copied().map(of).map_or_else(|| refuse(Arch::SM_80), Ok),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_is_the_one_asked_for_then_the_devices_then_a_stated_one() {
        let identity = Identity { version: (12, 4), build: [0; 32], archs: vec![70, 75, 80, 86, 90] };
        let target = |asked, device, emit| identity.target(asked, device, emit);
        assert_eq!(target(Some(Arch::SM_90A), Some(Arch::SM_80), Emit::Cubin), Ok(Arch::SM_90A));
        assert_eq!(target(None, Some(Arch::SM_90), Emit::Cubin), Ok(Arch::SM_90));
        assert_eq!(target(None, None, Emit::Ptx), Ok(Arch::SM_80));
        // GPUs newer than the compiler.
        assert_eq!(target(None, Some(Arch::SM_100), Emit::Ptx), Ok(Arch::SM_90));
        assert_eq!(target(None, Some(Arch::SM_89), Emit::Cubin), Ok(Arch::SM_86));
        for refused in [target(None, Some(Arch::SM_100), Emit::Cubin), target(Some(Arch::SM_100), None, Emit::Ptx)] {
            let text = refused.unwrap_err().to_string();
            assert!(text.contains("12.4") && text.contains("sm_100") && text.contains("86 90"), "{text}");
        }
    }
}
