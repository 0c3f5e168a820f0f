//! The version of a library, as the library itself reports it.
//!
//! To add a library, add one line in [`Version::query`].

use std::ffi::{CStr, c_int, c_uint};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Library;
use super::loaded::Loaded;

/// A library's version; later versions compare greater.
///
/// ```
/// # use windlass::loader::{Library, Version};
/// # use windlass::{Device, Result};
/// # fn main() -> Result<()> {
/// let device = Device::from_env()?;
/// // On a GPU the library is asked; the host works without it.
/// let old = device.library_version(Library::Cublas)?.is_some_and(|version| version.major < 13);
/// # assert!(!old || device.kind() != windlass::DeviceKind::Host);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Version {
    /// The major version. For the driver: that of the newest CUDA that it supports.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
    /// The patch level, if the library reports one.
    pub patch: Option<u32>,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Version { major, minor, patch } = self;
        match patch {
            Some(patch) => f.pad(&format!("{major}.{minor}.{patch}")),
            None => f.pad(&format!("{major}.{minor}")),
        }
    }
}

impl Version {
    /// The version of a loaded library, if there is a cheap way to get it: no device is needed or accessed.
    pub(crate) fn query(loaded: &Loaded) -> Option<Self> {
        match loaded.library {
            Library::Driver => written(loaded, c"cuDriverGetVersion").map(in_thousands),
            Library::Cublas => property(loaded, c"cublasGetProperty"),
            Library::CublasLt => property(loaded, c"cublasLtGetProperty"),
            Library::Cufft => property(loaded, c"cufftGetProperty"),
            Library::Curand => property(loaded, c"curandGetProperty"),
            Library::Cusolver => property(loaded, c"cusolverGetProperty"),
            Library::Cusparse => property(loaded, c"cusparseGetProperty"),
            Library::Cudnn => returned(loaded, c"cudnnGetVersion").map(in_ten_thousands),
            Library::Cudss => property(loaded, c"cudssGetProperty"),
            Library::Cutensor => returned(loaded, c"cutensorGetVersion").map(in_ten_thousands),
            Library::Nccl => written(loaded, c"ncclGetVersion").map(in_ten_thousands),
            Library::Nvrtc => pair(loaded, c"nvrtcVersion"),
            Library::NvJitLink => pair(loaded, c"nvJitLinkVersion"),
            Library::Nvml | Library::Nvtx => None,
        }
    }
}

/// `13020` is 13.2.
fn in_thousands(version: u32) -> Version {
    Version { major: version / 1000, minor: version % 1000 / 10, patch: None }
}

/// `91002` is 9.10.2. Older releases (cuDNN 8, NCCL before 2.9, cuTENSOR 1) used thousands; they are not loaded.
fn in_ten_thousands(version: u32) -> Version {
    Version { major: version / 10_000, minor: version % 10_000 / 100, patch: Some(version % 100) }
}

/// `fn(property, *mut value) -> status`: major, minor and patch level are the properties 0, 1 and 2.
fn property(loaded: &Loaded, name: &CStr) -> Option<Version> {
    type Ask = unsafe extern "C" fn(c_uint, *mut c_int) -> i32;
    // SAFETY: the functions of such a name share this signature in library_types.h.
    let ask = unsafe { loaded.symbol::<Ask>(name) }?;
    let one = |which: c_uint| {
        let mut value = 0;
        // SAFETY: writes one int through a valid pointer, needs no device.
        let code = unsafe { ask(which, &raw mut value) };
        u32::try_from(value).ok().filter(|_| code == 0)
    };
    Some(Version { major: one(0)?, minor: one(1)?, patch: Some(one(2)?) })
}

/// `fn(*mut version) -> status`.
fn written(loaded: &Loaded, name: &CStr) -> Option<u32> {
    type Ask = unsafe extern "C" fn(*mut c_int) -> i32;
    let mut value = 0;
    // SAFETY: the signature of cuDriverGetVersion and ncclGetVersion; one int is written through a valid pointer.
    let code = unsafe { loaded.symbol::<Ask>(name)?(&raw mut value) };
    u32::try_from(value).ok().filter(|_| code == 0)
}

/// `fn() -> version`.
fn returned(loaded: &Loaded, name: &CStr) -> Option<u32> {
    type Ask = unsafe extern "C" fn() -> usize;
    // SAFETY: the signature of cudnnGetVersion and cutensorGetVersion, which only return a constant.
    u32::try_from(unsafe { loaded.symbol::<Ask>(name)?() }).ok()
}

/// `fn(*mut major, *mut minor) -> status`.
fn pair(loaded: &Loaded, name: &CStr) -> Option<Version> {
    type Ask = unsafe extern "C" fn(*mut c_int, *mut c_int) -> i32;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the signature of nvrtcVersion and nvJitLinkVersion; two ints are written through valid pointers.
    let code = unsafe { loaded.symbol::<Ask>(name)?(&raw mut major, &raw mut minor) };
    let (major, minor) = (u32::try_from(major).ok()?, u32::try_from(minor).ok()?);
    (code == 0).then_some(Version { major, minor, patch: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_order_and_written_as_people_do() {
        let all = [in_thousands(12_090), in_thousands(13_000), in_ten_thousands(130_001), in_ten_thousands(130_100)];
        assert!(all.is_sorted(), "{all:?}");
        assert_eq!(all.map(|version| version.to_string()), ["12.9", "13.0", "13.0.1", "13.1.0"]);
        assert_eq!(format!("{:<7}|", all[0]), "12.9   |");
    }
}
