//! Finds and loads the CUDA libraries at run time.
//!
//! Nothing of CUDA is needed to build this crate, and nothing of it need be there to run it: a library is looked for
//! when it is first used, and one that is not there is an error that lists every place that was tried.
//!
//! # Search order
//! 1. [`set_cuda_path`], then `WINDLASS_CUDA_PATH`: folders of libraries, toolkits, environments or folders of Python
//!    packages, separated by `:`;
//! 2. what the process has loaded already, then the dynamic linker's own search (`LD_LIBRARY_PATH`, the cache);
//! 3. `CUDA_PATH`, `CUDA_HOME`; `VIRTUAL_ENV`, `CONDA_PREFIX`; the environment that the program itself lies in
//!    (`venv/bin/prog`); the packages of the `python3` on `PATH` (found by its place, no Python is run), of `PYTHONPATH`
//!    and of `~/.local`; `/usr/local/cuda*`, the newest first.
//!
//! The driver and NVML come with the system, so for these step 3 is the system's folders instead.
//!
//! # What holds
//! - **Lazy.** A library is loaded when it is asked for, with what it needs before it. The answer is kept, a failure
//!   too, until [`retry`].
//! - **One CUDA major.** The first library whose major can be told fixes it (`libcufft.so.12` is CUDA 13, see
//!   `library.rs`); files of another major are skipped, with the reason. cuDNN, NCCL and cuTENSOR do not tell theirs.
//! - **Never a panic**, whatever lies on disk.
//! - **Never unloaded.** Libraries of CUDA start threads and register exit handlers; a table of functions is good for
//!   the life of the process.
//! - **No stub.** A toolkit's stub of `libcuda` is told from a driver and passed over.
//!
//! # Where things are
//! `library.rs` names the libraries (a new one is a variant and a line there), `search.rs` and `folders.rs` the places,
//! `headers.rs` CUDA's own headers, `major.rs` tells the CUDA major of a file, `stub.rs` the stubs, `open.rs` is the search,
//! `loaded.rs` its outcome, `version.rs` asks a library for its version, `report.rs` is the account of a whole machine.

mod folders;
#[cfg(feature = "nvrtc")]
mod headers;
mod library;
mod loaded;
mod major;
mod open;
mod report;
mod search;
mod stub;
#[cfg(test)]
pub(crate) mod testing;
mod version;

use std::path::PathBuf;

use parking_lot::Mutex;

#[cfg(feature = "nvrtc")]
pub(crate) use headers::header_folders;
pub use library::Library;
pub(crate) use loaded::Loaded;
pub use loaded::Missing;
pub(crate) use open::Loader;
pub use report::{LibraryReport, report};
pub(crate) use search::SearchEnv;
pub use version::Version;

/// The loader of this process. The environment is read when the first library is asked for.
static LOADER: Mutex<Option<Loader>> = Mutex::new(None);

fn with_loader<T>(act: impl FnOnce(&mut Loader) -> T) -> T {
    act(LOADER.lock().get_or_insert_with(|| Loader::new(SearchEnv::of_process())))
}

/// The library, loaded once for the life of the process.
///
/// # Errors
/// [`Missing`] where this build lacks the library's feature, or the library is not found or does not load. The failure
/// is remembered; [`retry`] makes the next call search again.
pub(crate) fn open(library: Library) -> Result<&'static Loaded, Missing> {
    if !library.is_enabled() {
        let feature = library.feature();
        return Err(Missing {
            library,
            tried: vec![format!("this build has no feature `{feature}`")],
            help: format!("build windlass with the feature `{feature}`"),
        });
    }
    with_loader(|loader| loader.open(library))
}

/// Searches `path` before all else: a folder of libraries, a toolkit, a Python or conda environment, or a folder of
/// Python packages. May be called several times; the latest path comes first.
///
/// Call it before the first use of a device. Libraries that are loaded already stay as they are: they are returned,
/// so an empty list means that the setting holds for all.
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
/// is now. Libraries that are loaded stay.
pub fn retry() {
    with_loader(|loader| {
        let explicit = std::mem::take(&mut loader.env_mut().explicit);
        *loader.env_mut() = SearchEnv { explicit, ..SearchEnv::of_process() };
        loader.forget_failures();
    });
}
