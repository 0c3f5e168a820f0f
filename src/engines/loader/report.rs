//! The account of a machine: which libraries load, from where, in which version.

use std::fmt;
use std::path::PathBuf;

use super::loaded::Missing;
use super::{Library, Version, open};

/// What became of one library.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LibraryReport {
    /// The library.
    pub library: Library,
    /// The file it was loaded from, or why it was not.
    pub found: Result<PathBuf, Missing>,
    /// Its version, where it has a cheap way to tell. For the driver: the newest CUDA that it supports.
    pub version: Option<Version>,
}

impl fmt::Display for LibraryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Ok(path) => match self.version {
                Some(version) => write!(f, "{}: {version}, {}", self.library, path.display()),
                None => write!(f, "{}: version not told, {}", self.library, path.display()),
            },
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
        Ok(loaded) => LibraryReport { library, found: Ok(loaded.path.clone()), version: Version::of(loaded) },
        Err(missing) => LibraryReport { library, found: Err(missing), version: None },
    }
}
