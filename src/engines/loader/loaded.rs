//! The result of a search: a loaded library, or the reasons why there is none.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::path::{Path, PathBuf};

use libloading::os::unix::Library as Handle;

use super::library::Library;

/// A library that stays in the process for the rest of its life.
pub(crate) struct Loaded {
    pub(crate) library: Library,
    /// The real file, links followed, if the dynamic linker reports it.
    pub(crate) path: PathBuf,
    /// The CUDA major version that it belongs to, if known.
    pub(crate) cuda_major: Option<u32>,
    /// Never closed: threads, exit handlers and function tables refer to it.
    pub(crate) lib: &'static Handle,
}

impl Loaded {
    /// The function of that name, or `None` if the library has none.
    ///
    /// # Safety
    /// `T` is the type of the function, as a pointer to it (`unsafe extern "C" fn(..) -> i32`).
    pub(crate) unsafe fn symbol<T: Copy>(&self, name: &CStr) -> Option<T> {
        // SAFETY: the symbol is read as an untyped pointer, which is valid for every symbol; the caller vouches for
        // `T`.
        unsafe { symbol(self.lib, name) }
    }
}

/// The function `name` of `lib`.
///
/// # Safety
/// As [`Loaded::symbol`]; and the result must not be used after `lib` is closed.
pub(crate) unsafe fn symbol<T: Copy>(lib: &Handle, name: &CStr) -> Option<T> {
    if size_of::<T>() != size_of::<*mut c_void>() {
        return None;
    }
    // SAFETY: the symbol is read as an untyped pointer, which is not dereferenced here.
    let found = unsafe { lib.get::<*mut c_void>(name) }.ok()?.into_raw();
    if found.is_null() {
        return None;
    }
    // SAFETY: the sizes are equal (checked above), the pointer is not null, and the caller vouches for the type.
    Some(unsafe { std::mem::transmute_copy::<*mut c_void, T>(&found) })
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("library", &self.library)
            .field("path", &self.path)
            .field("cuda_major", &self.cuda_major)
            .finish_non_exhaustive()
    }
}

/// A library could not be loaded: what was tried, and what may help.
///
/// `{}` is one line; `{:#}` lists every attempt, one to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The library.
    pub library: Library,
    /// Every attempt in order, each with its reason (the dynamic linker's message if it was used).
    pub tried: Vec<String>,
    /// What may help.
    pub help: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Missing { library, tried, help } = self;
        write!(f, "{library} (")?;
        for (i, soname) in library.spec().sonames.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { " or " }, soname.file)?;
        }
        write!(f, ") could not be loaded; {} attempts; {help}", tried.len())?;
        if f.alternate() {
            for line in tried {
                write!(f, "\n  - {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Missing {}

/// The file behind a handle, with links followed. Returns the handle with it.
pub(crate) fn real_path(handle: Handle, asked: &Path) -> (Handle, PathBuf) {
    let raw = handle.into_raw();
    let told = linker_path(raw);
    // SAFETY: `raw` came from `into_raw` just above and is still open, once.
    let handle = unsafe { Handle::from_raw(raw) };
    let path = told.unwrap_or_else(|| asked.to_path_buf());
    (handle, path.canonicalize().unwrap_or(path))
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

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn linker_path(_raw: *mut c_void) -> Option<PathBuf> {
    None
}
