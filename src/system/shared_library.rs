//! Shared libraries, by the system's dynamic linker.
//!
//! CUDA's libraries are searched for under the names that they have on Linux. Elsewhere than on Unix nothing is loaded: each
//! attempt fails with a reason, and the caller reports the library as missing.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};

#[cfg(not(unix))]
const ELSEWHERE: &str = "shared libraries are loaded on Unix only; this program runs on the CPU";

/// An open library.
pub(crate) struct SharedLibrary {
    #[cfg(unix)]
    handle: libloading::os::unix::Library,
    #[cfg(not(unix))]
    never: std::convert::Infallible,
}

#[cfg(unix)]
impl SharedLibrary {
    /// Loads a file, or finds one by its bare name.
    ///
    /// # Errors
    /// The linker's reason.
    ///
    /// # Safety
    /// The library's constructors may run in this process.
    pub(crate) unsafe fn open(name: &Path) -> Result<Self, String> {
        // SAFETY: the caller's promise, passed on.
        unsafe { Self::with_flags(name, 0) }
    }

    /// A library of that name that the process has loaded already.
    pub(crate) fn resident(name: &Path) -> Option<Self> {
        // SAFETY: with this flag nothing is loaded, so no constructor runs.
        unsafe { Self::with_flags(name, libc::RTLD_NOLOAD) }.ok()
    }

    unsafe fn with_flags(name: &Path, flags: i32) -> Result<Self, String> {
        use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
        // SAFETY: the caller's promise, passed on.
        match unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL | flags) } {
            Ok(handle) => Ok(SharedLibrary { handle }),
            Err(error) => {
                let inner = std::error::Error::source(&error);
                Err(inner.map_or_else(|| error.to_string(), ToString::to_string))
            }
        }
    }

    pub(crate) fn address(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the symbol is read as an untyped pointer, which is not dereferenced here.
        let found = unsafe { self.handle.get::<*mut c_void>(name) }.ok()?.into_raw();
        (!found.is_null()).then_some(found)
    }

    /// The file behind it, if the linker tells. Returns the library with it.
    pub(crate) fn with_path(self) -> (Self, Option<PathBuf>) {
        let raw = self.handle.into_raw();
        let path = linker_path(raw);
        // SAFETY: `raw` came from `into_raw` just above and is still open, once.
        let handle = unsafe { libloading::os::unix::Library::from_raw(raw) };
        (SharedLibrary { handle }, path)
    }
}

#[cfg(not(unix))]
impl SharedLibrary {
    pub(crate) unsafe fn open(_name: &Path) -> Result<Self, String> {
        Err(ELSEWHERE.to_owned())
    }

    pub(crate) fn resident(_name: &Path) -> Option<Self> {
        None
    }

    pub(crate) fn address(&self, _name: &CStr) -> Option<*mut c_void> {
        match self.never {}
    }

    pub(crate) fn with_path(self) -> (Self, Option<PathBuf>) {
        match self.never {}
    }
}

impl SharedLibrary {
    /// The function of that name, or `None` if the library has none. Inlined, for it is nothing once the type is known, and there are
    /// hundreds of types.
    ///
    /// # Safety
    /// `T` is the type of the function, as a pointer to it (`unsafe extern "C" fn(..) -> i32`), and the result is not used
    /// after the library is closed.
    #[inline(always)]
    pub(crate) unsafe fn symbol<T: Copy>(&self, name: &CStr) -> Option<T> {
        let found = self.address(name)?;
        // SAFETY: the caller vouches for the type.
        Some(unsafe { as_function(found) })
    }
}

/// # Safety
/// The function there has the type `T`.
#[inline(always)]
pub(crate) unsafe fn as_function<T: Copy>(address: *mut c_void) -> T {
    const { assert!(size_of::<T>() == size_of::<*mut c_void>(), "a pointer to a function") };
    // SAFETY: the sizes are equal, and the caller vouches for the type.
    unsafe { std::mem::transmute_copy::<*mut c_void, T>(&address) }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn linker_path(raw: *mut c_void) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;

    /// The head of `struct link_map` of `<link.h>`.
    #[repr(C)]
    struct LinkMap {
        address: usize,
        name: *const std::ffi::c_char,
    }
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: `raw` is an open handle; RTLD_DI_LINKMAP writes one pointer, and `map` can hold it.
    let code = unsafe { libc::dlinfo(raw, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
    if code != 0 || map.is_null() {
        return None;
    }
    // SAFETY: the linker's record lives as long as the handle is open, and begins with these two fields.
    let name = unsafe { (*map).name };
    if name.is_null() {
        return None;
    }
    // SAFETY: the linker keeps the name as a terminated string in the same record.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    (!bytes.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(all(unix, not(all(target_os = "linux", target_env = "gnu"))))]
fn linker_path(_raw: *mut c_void) -> Option<PathBuf> {
    None
}
