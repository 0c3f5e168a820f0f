//! A report on a machine: which libraries load, from which file, in which version.

use std::fmt;
use std::path::PathBuf;

use super::loaded::Missing;
use super::{Library, Version, open};

/// The outcome for one library.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LibraryReport {
    /// The library.
    pub library: Library,
    /// The file that it was loaded from, or why it was not loaded.
    pub found: Result<PathBuf, Missing>,
    /// Its version, if there is a cheap way to get it. For the driver: the newest CUDA that it supports.
    pub version: Option<Version>,
}

impl fmt::Display for LibraryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Ok(path) => match self.version {
                Some(version) => write!(f, "{}: {version}, {}", self.library, path.display()),
                None => write!(f, "{}: version unknown, {}", self.library, path.display()),
            },
            Err(missing) if f.alternate() => write!(f, "{missing:#}"),
            Err(missing) => write!(f, "{missing}"),
        }
    }
}

/// Loads every library that this build uses, and reports the outcome for each.
///
/// This is for programs that examine an installation: it loads all libraries that are found (about a second when cold),
/// and thereby fixes the CUDA major version of the process. The driver is started (`cuInit`), but no context is created
/// on a device.
#[must_use]
pub fn report() -> Vec<LibraryReport> {
    Library::ALL.iter().filter(|library| library.is_enabled()).map(|&library| one(library)).collect()
}

fn one(library: Library) -> LibraryReport {
    match open(library) {
        Ok(loaded) => LibraryReport { library, found: Ok(loaded.path.clone()), version: Version::query(loaded) },
        Err(missing) => LibraryReport { library, found: Err(missing), version: None },
    }
}
