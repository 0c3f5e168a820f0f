//! The compiler with its caches: from a program to its image by the shortest way.
//!
//! ```text
//! check, architecture, the files it reads -> key
//!   in memory?                        -> the image
//!   under way?                        -> wait for that one
//!   else a helper thread: on disk?    -> keep in memory
//!                         compile     -> keep on disk and in memory
//! ```

use super::cache::{Disk, DiskCache, Memory};
use super::job::{Job, Request};
use super::produce::Maker;
use super::single_flight::{Compilation, SingleFlight, help};
use super::{Arch, CompileStats, Emit, Image, Link, PendingCompile, Program, backend};
use crate::sync::{Arc, AtomicU64, Ordering};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Compiles programs of CUDA C++ and keeps what comes of them. Needs libnvrtc, and no GPU.
///
/// Cheap to clone; clones share caches and counters. Those of [`Compiler::shared`] are the process's: every device that
/// was not opened with [another](crate::DeviceBuilder::compiler) uses them. One from a [builder](Compiler::builder) has
/// its own in memory; its folder on disk it shares with whoever names the same.
///
/// What an image is kept under: the source, the program's name, the headers in memory, every option, the name
/// expressions, the architecture, the kind of output, the contents of the headers on disk that the source may reach,
/// and on disk the compiler's version and build. On disk all of it is stored and compared, headers on disk by their
/// hash. A program whose files cannot be told from its text (an `#include` of a macro, `__TIME__`, a free option that
/// reads files, `NVRTC_APPEND_FLAGS`) is compiled again each time.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::nvrtc::{Arch, Compiler, Program};
/// let program = Program::new("extern \"C\" __global__ void one(float* x) { x[0] = 1; }").arch(Arch::SM_80);
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

/// What a request comes to at once.
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

    /// A compiler with caches of its own.
    pub fn builder() -> CompilerBuilder {
        CompilerBuilder::default()
    }

    /// Compiles for the program's architecture, else for `sm_80`; or finds the image where it is kept.
    ///
    /// The work is done on a helper thread, because deep templates need more stack than most threads have. Compilations
    /// of the same program asked for at once run once, and all who ask get its answer.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for what [`Program::check`] refuses and options that the compiler does not know;
    /// [`Error::Compile`] with the log and the lines it speaks of when the source is refused;
    /// [`Error::Unsupported`] for an architecture that this compiler does not know; [`Error::LibraryMissing`] without
    /// libnvrtc.
    pub fn compile(&self, program: &Program) -> Result<Image> {
        self.compile_for(program, None)
    }

    /// As [`compile`](Self::compile), and does not wait for the compiler. What is kept in memory is there at once. The
    /// headers on disk that the source may reach are read here, on the caller's thread, to know which answer it is.
    ///
    /// An exit of the process stops what is under way where the library can (NVRTC 13, some 50 ms), else waits for it,
    /// 10 s at most. (On Linux with glibc, x86-64 and aarch64. Elsewhere await it before the exit: the compiler's own
    /// handlers of the exit do not bear a compilation beside them.)
    ///
    /// # Errors
    /// What is known before compiling: [`Error::InvalidArgument`], [`Error::Unsupported`], [`Error::LibraryMissing`].
    /// The rest comes at the await.
    pub fn compile_pending(&self, program: &Program) -> Result<PendingCompile> {
        self.pending_for(program, None)
    }

    /// Links images, or finds what came of it where it is kept: see [`Link`]. Runs as a compilation does.
    ///
    /// # Errors
    /// As [`Link`] says.
    pub fn link(&self, link: &Link) -> Result<Image> {
        self.link_for(link, None)
    }

    /// What it has done and holds.
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

    /// Forgets the images in memory. Those in use stay alive.
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

    /// The portable architectures that the compiler knows, oldest first.
    ///
    /// # Errors
    /// [`Error::LibraryMissing`] without libnvrtc.
    pub fn archs(&self) -> Result<Vec<Arch>> {
        Ok(backend::identity()?.archs.iter().map(|n| Arch::of_capability(n / 10, n % 10)).collect())
    }

    pub(super) fn compile_for(&self, program: &Program, device: Option<Arch>) -> Result<Image> {
        self.answer(Request::Compile(program.clone()), device).map_err(|error| error.in_op("compile", "nvrtc"))
    }

    pub(super) fn pending_for(&self, program: &Program, device: Option<Arch>) -> Result<PendingCompile> {
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
            // Whether two of these are the same is not known either.
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
    /// The most images in memory; 256 otherwise, and 0 for none.
    pub fn memory_images(mut self, most: usize) -> Self {
        self.memory_images = most;
        self
    }

    /// The most bytes of images and their sources in memory; 256 MiB otherwise.
    pub fn memory_bytes(mut self, most: u64) -> Self {
        self.memory_bytes = most;
        self
    }

    /// Where images are kept on disk.
    pub fn disk(mut self, place: DiskCache) -> Self {
        self.disk = place;
        self
    }

    /// As [`disk`](Self::disk) with [`DiskCache::At`].
    pub fn disk_folder(self, folder: impl Into<PathBuf>) -> Self {
        self.disk(DiskCache::At(folder.into()))
    }

    /// The most bytes on disk; 512 MiB otherwise, and 0 for none.
    pub fn disk_bytes(mut self, most: u64) -> Self {
        self.disk_bytes = most;
        self
    }

    /// The compiler. Nothing is read or written yet.
    #[must_use]
    pub fn build(self) -> Compiler {
        crate::engine::process::watch_fork();
        let folder = self.disk.folder().filter(|_| self.disk_bytes > 0);
        let disk = folder.map(|folder| Disk::new(&folder, self.disk_bytes));
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

/// Which compiler, or linker, this process has.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// Major and minor.
    pub(super) version: (u32, u32),
    /// Tells one build from another.
    pub(super) build: [u8; 32],
    /// The architectures it knows, oldest first: 75, 80, ...
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
            Err(Error::unsupported(format!("NVRTC {major}.{minor} does not compile for {arch}; it knows {known}")))
        };
        let of = |n: u32| Arch::of_capability(n / 10, n % 10);
        match (asked, device) {
            (Some(arch), _) if knows(arch) => Ok(arch),
            (Some(arch), _) => refuse(arch),
            (None, Some(arch)) if knows(arch) => Ok(arch),
            // The GPU is newer than the compiler: the newest that it still runs. Machine code runs within its major.
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
        // Newer GPUs than the compiler knows.
        assert_eq!(target(None, Some(Arch::SM_100), Emit::Ptx), Ok(Arch::SM_90));
        assert_eq!(target(None, Some(Arch::SM_89), Emit::Cubin), Ok(Arch::SM_86));
        for refused in [target(None, Some(Arch::SM_100), Emit::Cubin), target(Some(Arch::SM_100), None, Emit::Ptx)] {
            let text = refused.unwrap_err().to_string();
            assert!(text.contains("12.4") && text.contains("sm_100") && text.contains("86 90"), "{text}");
        }
    }
}
