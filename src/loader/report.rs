//! The account of a machine: which libraries load, from where, in which version.

use std::ffi::{CStr, c_int, c_uint};
use std::fmt;
use std::path::PathBuf;

use super::loaded::{Loaded, Missing};
use super::{Library, open};

/// What became of one library.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LibraryReport {
    /// The library.
    pub library: Library,
    /// The file it was loaded from, or why it was not.
    pub found: Result<PathBuf, Missing>,
    /// Its version, where it has a cheap way to tell. For the driver: the newest CUDA that it supports.
    pub version: Option<String>,
}

impl fmt::Display for LibraryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Ok(path) => {
                let version = self.version.as_deref().unwrap_or("version not told");
                write!(f, "{}: {version}, {}", self.library, path.display())
            }
            Err(missing) if f.alternate() => write!(f, "{missing:#}"),
            Err(missing) => write!(f, "{missing}"),
        }
    }
}

/// Loads every library that this build asks for, and tells what came of each.
///
/// This is for programs that examine an installation: it loads all that there is (a second or so when cold), and
/// thereby fixes the CUDA major of the process. The driver is started (`cuInit`), but no context is made on a device.
#[must_use]
pub fn report() -> Vec<LibraryReport> {
    Library::ALL.iter().filter(|library| library.is_enabled()).map(|&library| one(library)).collect()
}

fn one(library: Library) -> LibraryReport {
    match open(library) {
        Ok(loaded) => LibraryReport { library, found: Ok(loaded.path.clone()), version: version(loaded) },
        Err(missing) => LibraryReport { library, found: Err(missing), version: None },
    }
}

/// The version that the library itself tells.
pub(crate) fn version(loaded: &Loaded) -> Option<String> {
    match loaded.library {
        Library::Driver => written(loaded, c"cuDriverGetVersion").map(|v| format!("{}.{}", v / 1000, v % 1000 / 10)),
        Library::Cublas => property(loaded, c"cublasGetProperty"),
        Library::CublasLt => property(loaded, c"cublasLtGetProperty"),
        Library::Cufft => property(loaded, c"cufftGetProperty"),
        Library::Curand => property(loaded, c"curandGetProperty"),
        Library::Cusolver => property(loaded, c"cusolverGetProperty"),
        Library::Cusparse => property(loaded, c"cusparseGetProperty"),
        Library::Cudnn => returned(loaded, c"cudnnGetVersion").map(in_ten_thousands),
        Library::Cutensor => returned(loaded, c"cutensorGetVersion").map(in_ten_thousands),
        Library::Nccl => written(loaded, c"ncclGetVersion").and_then(|v| usize::try_from(v).ok()).map(in_ten_thousands),
        Library::Nvrtc => pair(loaded, c"nvrtcVersion"),
        Library::NvJitLink => pair(loaded, c"nvJitLinkVersion"),
        Library::Nvml | Library::Nvtx => None,
    }
}

/// `91002` is 9.10.2. Older ones (cuDNN 8, NCCL before 2.9, cuTENSOR 1) counted in thousands; they are not loaded.
fn in_ten_thousands(version: usize) -> String {
    format!("{}.{}.{}", version / 10_000, version % 10_000 / 100, version % 100)
}

/// `fn(property, *mut value) -> status`: major, minor and patch level are the properties 0, 1 and 2.
fn property(loaded: &Loaded, name: &CStr) -> Option<String> {
    type Ask = unsafe extern "C" fn(c_uint, *mut c_int) -> i32;
    // SAFETY: the six functions of this name share this signature in library_types.h.
    let ask = unsafe { loaded.symbol::<Ask>(name) }?;
    let one = |which: c_uint| {
        let mut value = 0;
        // SAFETY: writes one int through a valid pointer, needs no device.
        let code = unsafe { ask(which, &raw mut value) };
        (code == 0).then_some(value)
    };
    Some(format!("{}.{}.{}", one(0)?, one(1)?, one(2)?))
}

/// `fn(*mut version) -> status`.
fn written(loaded: &Loaded, name: &CStr) -> Option<c_int> {
    type Ask = unsafe extern "C" fn(*mut c_int) -> i32;
    let mut value = 0;
    // SAFETY: the signature of cuDriverGetVersion and ncclGetVersion; one int is written through a valid pointer.
    let code = unsafe { loaded.symbol::<Ask>(name)?(&raw mut value) };
    (code == 0).then_some(value)
}

/// `fn() -> version`.
fn returned(loaded: &Loaded, name: &CStr) -> Option<usize> {
    type Ask = unsafe extern "C" fn() -> usize;
    // SAFETY: the signature of cudnnGetVersion and cutensorGetVersion, which only return a constant.
    Some(unsafe { loaded.symbol::<Ask>(name)?() })
}

/// `fn(*mut major, *mut minor) -> status`.
fn pair(loaded: &Loaded, name: &CStr) -> Option<String> {
    type Ask = unsafe extern "C" fn(*mut c_int, *mut c_int) -> i32;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the signature of nvrtcVersion and nvJitLinkVersion; two ints are written through valid pointers.
    let code = unsafe { loaded.symbol::<Ask>(name)?(&raw mut major, &raw mut minor) };
    (code == 0).then(|| format!("{major}.{minor}"))
}
