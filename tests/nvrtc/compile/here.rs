//! What is here: the libraries, a folder for each test, programs to compile.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use windlass::Error;
use windlass::nvrtc::{Arch, Compiler, CompilerBuilder, DiskCache, Emit, Link, Source};

/// Past what the test harness captures, so that it is seen.
pub(crate) fn loudly(what: &str, help: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: no {what} here ({help})");
}

/// Whether the compiler is here; says so where it is not.
#[must_use]
pub(crate) fn nvrtc() -> bool {
    match Compiler::shared().version() {
        Ok(_) => true,
        Err(Error::LibraryMissing { help, tried, .. }) => {
            // One that is there and cannot be used is a failure of ours.
            assert!(!was_promised("libnvrtc.so."), "{tried:#?}");
            loudly("NVRTC", &help);
            false
        }
        Err(other) => panic!("{other:?}"),
    }
}

/// Whether `WINDLASS_CUDA_PATH` has such a library.
fn was_promised(name: &str) -> bool {
    let Some(paths) = std::env::var_os("WINDLASS_CUDA_PATH") else { return false };
    std::env::split_paths(&paths).any(|path| {
        ["", "lib", "lib64", "nvidia/cu13/lib"].iter().any(|folder| {
            let items = std::fs::read_dir(path.join(folder)).into_iter().flatten().flatten();
            items.into_iter().any(|item| item.file_name().to_string_lossy().starts_with(name))
        })
    })
}

/// Whether the linker is here; says so where it is not.
#[must_use]
pub(crate) fn nvjitlink() -> bool {
    let empty = windlass::nvrtc::Image::ptx(".version 7.0\n.target sm_80\n.address_size 64\n").unwrap();
    match memory_only().link(&Link::new(Arch::SM_80).input(&empty)) {
        Err(Error::LibraryMissing { help, tried, .. }) => {
            assert!(!was_promised("libnvJitLink.so."), "{tried:#?}");
            loudly("nvJitLink", &help);
            false
        }
        Ok(_) => true,
        Err(other) => panic!("{other:?}"),
    }
}

/// A folder of its own, removed at the end.
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("nvrtc-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // Not a folder of the build's: this may run where it was not built.
        let root = std::env::temp_dir().join(format!("windlass-{name}"));
        std::fs::create_dir_all(&root).unwrap();
        Folder { root: root.canonicalize().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.root.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// A compiler with nothing in memory and this folder on disk: what the next process has.
    pub(crate) fn compiler(&self) -> Compiler {
        self.builder().build()
    }

    pub(crate) fn builder(&self) -> CompilerBuilder {
        Compiler::builder().disk_folder(&self.root)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// The files of a cache.
pub(crate) fn entries(compiler: &Compiler) -> Vec<PathBuf> {
    let Ok(items) = std::fs::read_dir(compiler.disk_folder().unwrap()) else { return Vec::new() };
    let mut all: Vec<_> = items.map(|item| item.unwrap().path()).collect();
    all.sort();
    all
}

/// A compiler that keeps nothing on disk.
pub(crate) fn memory_only() -> Compiler {
    Compiler::builder().disk(DiskCache::Off).build()
}

/// A kernel whose code tells what it was compiled with.
pub(crate) fn kernel() -> Source {
    Source::new(
        "#ifndef VALUE\n#define VALUE 1\n#endif\nextern \"C\" __global__ void k(float* x, float y) { *x = *x / y + VALUE; }\n",
    )
    .name("kernel.cu")
    .arch(Arch::SM_80)
}

/// A template, with two instances asked for, and a constant.
pub(crate) fn template() -> Source {
    Source::new(
        "template <class T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }\n\
         namespace table { __constant__ float weights[4]; }\n",
    )
    .expression("scale<float>")
    .expression("scale<double>")
    .expression("&table::weights")
    .arch(Arch::SM_80)
}

/// A program that takes the compiler a while.
pub(crate) fn slow(tag: u32, emit: Emit) -> Source {
    let mut source = format!("// {tag}\n");
    for i in 0..10 {
        source.push_str(&format!(
            "extern \"C\" __global__ void k{i}(double* x, int n) {{ for (int j = 0; j < n; ++j) x[j] = sin(x[j]) * pow(x[j], {i}.5) + cos(x[j] + {tag}); }}\n"
        ));
    }
    Source::new(source).arch(Arch::SM_80).emit(emit)
}

/// Both stand for the same compilation, not only for equal bytes.
pub(crate) fn is_same(a: &windlass::nvrtc::Image, b: &windlass::nvrtc::Image) -> bool {
    std::ptr::eq(a.bytes(), b.bytes())
}
