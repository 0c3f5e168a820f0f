//! The result of a search: a loaded library, or the reasons why there is none.

use std::ffi::CStr;
use std::fmt;
use std::path::{Path, PathBuf};

use super::library::Library;
use crate::system::shared_library::SharedLibrary;

/// A library that stays in the process for the rest of its life.
pub(crate) struct Loaded {
    pub(crate) library: Library,
    /// The real file, links followed, if the dynamic linker reports it.
    pub(crate) path: PathBuf,
    /// The CUDA major version that it belongs to, if known.
    pub(crate) cuda_major: Option<u32>,
    /// Never closed: threads, exit handlers and function tables refer to it.
    pub(crate) lib: &'static SharedLibrary,
}

impl Loaded {
    /// The function of that name, or `None` if the library has none.
    ///
    /// # Safety
    /// `T` is the type of the function, as a pointer to it (`unsafe extern "C" fn(..) -> i32`).
    #[inline(always)]
    pub(crate) unsafe fn symbol<T: Copy>(&self, name: &CStr) -> Option<T> {
        // SAFETY: the library stays open; the caller vouches for `T`.
        unsafe { self.lib.symbol(name) }
    }
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

/// The file behind a library, with links followed. Returns the library with it.
pub(crate) fn real_path(library: SharedLibrary, asked: &Path) -> (SharedLibrary, PathBuf) {
    let (library, told) = library.with_path();
    let path = told.unwrap_or_else(|| asked.to_path_buf());
    (library, path.canonicalize().unwrap_or(path))
}
