//! Finds and loads the CUDA libraries at run time.
//!
//! Building this crate needs nothing of CUDA, and a program can run without it: a library is searched for when it is
//! first used. If it is not found, the error lists every place that was tried.
//!
//! # Search order
//! 1. [`set_cuda_path`], then `WINDLASS_CUDA_PATH`: folders of libraries, toolkits, environments or folders of Python
//!    packages, separated by `:`;
//! 2. libraries that the process has already loaded, then the dynamic linker's own search (`LD_LIBRARY_PATH`, the
//!    cache);
//! 3. `CUDA_PATH`, `CUDA_HOME`; `VIRTUAL_ENV`, `CONDA_PREFIX`; the environment that contains the running program
//!    (`venv/bin/prog`); the packages of the `python3` on `PATH` (found by its path, Python is not run), of
//!    `PYTHONPATH` and of `~/.local`; `/usr/local/cuda*`, the newest first.
//!
//! The driver and NVML come with the system, so for these two step 3 searches the system's folders instead.
//!
//! # Guarantees
//! - **Lazy.** A library is loaded when it is first requested, after the libraries that it needs. The result is kept,
//!   also a failure, until [`retry`].
//! - **One CUDA major version.** The first library whose major version is known determines it (`libcufft.so.12` is CUDA
//!   13, see `library.rs`); files of another major version are skipped, with the reason. The files of cuDNN, NCCL and
//!   cuTENSOR do not show theirs.
//! - **No release with another interface under the same names**: `libcudss.so.0` is refused, and the account says why.
//! - **Never a panic**, whatever is on disk.
//! - **Never unloaded.** Libraries of CUDA start threads and register exit handlers; a table of functions is valid for
//!   the life of the process.
//! - **No stub.** A toolkit's stub of `libcuda` is recognized and skipped.

// The files of this folder.
// `library.rs` names the libraries (a new one is a variant and a line there), `search.rs` and `folders.rs` the places,
// `headers.rs` finds CUDA's own headers, `major.rs` determines the CUDA major version of a file, `stub.rs` recognizes
// stubs, `open.rs` is the search, `loaded.rs` its result, `look.rs` and `linker.rs` look for a file and load nothing, `version.rs` asks a library for its version, `report.rs`
// reports all libraries of a machine.

#[cfg(all(
    feature = "nvrtc",
    feature = "cuda",
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod destructors;
#[cfg(feature = "cuda")]
mod folders;
#[cfg(all(feature = "nvrtc", feature = "cuda"))]
mod headers;
mod library;
#[cfg(feature = "cuda")]
mod linker;
#[cfg(feature = "cuda")]
mod loaded;
#[cfg(feature = "cuda")]
pub(crate) mod look;
#[cfg(feature = "cuda")]
mod major;
#[cfg(feature = "cuda")]
pub(crate) mod open;
#[cfg(feature = "cuda")]
mod report;
#[cfg(feature = "cuda")]
mod search;
#[cfg(feature = "cuda")]
mod stub;
#[cfg(test)]
#[cfg(feature = "cuda")]
pub(crate) mod testing;
#[cfg(feature = "cuda")]
mod version;

#[cfg(feature = "cuda")]
use std::path::PathBuf;

#[cfg(feature = "cuda")]
use parking_lot::Mutex;

#[cfg(all(feature = "nvrtc", feature = "cuda"))]
pub(crate) use headers::header_folders;
pub use library::Library;
#[cfg(feature = "cuda")]
pub(crate) use loaded::Loaded;
#[cfg(feature = "cuda")]
pub use loaded::Missing;
#[cfg(feature = "cuda")]
pub(crate) use open::Loader;
#[cfg(feature = "cuda")]
pub use report::{LibraryReport, report};
#[cfg(feature = "cuda")]
pub(crate) use search::SearchEnv;
#[cfg(feature = "cuda")]
pub use version::Version;

/// The loader of this process. The environment is read when the first library is requested.
#[cfg(feature = "cuda")]
static LOADER: Mutex<Option<Loader>> = Mutex::new(None);

#[cfg(feature = "cuda")]
fn with_loader<T>(act: impl FnOnce(&mut Loader) -> T) -> T {
    act(LOADER.lock().get_or_insert_with(|| Loader::new(SearchEnv::of_process())))
}

/// The library, loaded once for the life of the process.
///
/// # Errors
/// [`Missing`] if this build lacks the library's feature, or if the library is not found or does not load. The failure
/// is remembered; [`retry`] makes the next call search again.
#[cfg(feature = "cuda")]
pub(crate) fn open(library: Library) -> Result<&'static Loaded, Missing> {
    enabled(library)?;
    with_loader(|loader| loader.open(library))
}

/// As [`open`], for a library that another one needs: whether this build has its own feature does not matter.
///
/// # Errors
/// [`Missing`] if the library is not found or does not load.
#[cfg(all(feature = "dnn", feature = "cuda"))]
pub(crate) fn open_needed(library: Library) -> Result<&'static Loaded, Missing> {
    with_loader(|loader| loader.open(library))
}

/// Looks for the files of these libraries, loads none of them, and returns the first that is missing.
///
/// # Errors
/// [`Missing`] if this build lacks a library's feature, or no file of it is where [`open`] would search.
#[cfg(feature = "cuda")]
pub(crate) fn look(libraries: &[Library]) -> Result<(), Missing> {
    libraries.iter().try_for_each(|&library| {
        enabled(library)?;
        with_loader(|loader| loader.look(library))
    })
}

#[cfg(feature = "cuda")]
fn enabled(library: Library) -> Result<(), Missing> {
    if library.is_enabled() {
        return Ok(());
    }
    let feature = library.feature();
    Err(Missing {
        library,
        tried: vec![format!("this build has no feature `{feature}`")],
        help: format!("build windlass with the feature `{feature}`"),
    })
}

/// Makes the destructors that a compiler registers while it works wait for running compilations at an exit. The compiler
/// has a function of one of the names `entries`.
#[cfg(all(feature = "nvrtc", feature = "cuda"))]
pub(crate) fn guard_destructors(loaded: &Loaded, entries: &[&std::ffi::CStr]) {
    #[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = destructors::guard(loaded, entries);
    #[cfg(not(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = (loaded, entries);
}

/// Makes the loader search `path` before all other places: a folder of libraries, a toolkit, a Python or conda
/// environment, or a folder of Python packages. May be called several times; the latest path comes first.
///
/// Call it before the first use of a device. It does not affect libraries that are already loaded: these are returned,
/// so an empty list means that the setting applies to all libraries.
#[cfg(feature = "cuda")]
pub fn set_cuda_path(path: impl Into<PathBuf>) -> Vec<Library> {
    let path = path.into();
    let path = std::path::absolute(&path).unwrap_or(path);
    with_loader(|loader| {
        loader.env_mut().explicit.insert(0, path);
        loader.forget_failures();
        loader.loaded()
    })
}

/// Forgets the libraries that were not found, so that the next use of each searches again, with the environment as it
/// is then read. Libraries that are loaded stay loaded.
#[cfg(feature = "cuda")]
pub fn retry() {
    with_loader(|loader| {
        let explicit = std::mem::take(&mut loader.env_mut().explicit);
        *loader.env_mut() = SearchEnv { explicit, ..SearchEnv::of_process() };
        loader.forget_failures();
    });
}
