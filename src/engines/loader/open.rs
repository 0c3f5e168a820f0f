//! The search: tries the places in order and keeps what it finds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::library::{Library, Soname, Spec};
use super::loaded::{Loaded, Missing, real_path};
use super::search::{CUDA_PATH_VARIABLE, SearchEnv, SearchStep, places};
use super::{major, stub};
use crate::system::shared_library::SharedLibrary;

/// The libraries of the process that were requested so far.
///
/// One thread at a time searches; nothing that runs in a library's constructor calls the loader.
pub(crate) struct Loader {
    env: SearchEnv,
    known: BTreeMap<Library, Result<&'static Loaded, Missing>>,
    /// The CUDA major version of the first library whose version was known, and that library.
    fixed: Option<(u32, Library)>,
    /// The CUDA major version of the candidate whose needed libraries are being loaded.
    tentative: Option<u32>,
}

impl Loader {
    pub(crate) fn new(env: SearchEnv) -> Self {
        Loader { env, known: BTreeMap::new(), fixed: None, tentative: None }
    }

    /// The library, loaded by this call or an earlier one. A failure is remembered until [`Loader::forget_failures`].
    pub(crate) fn open(&mut self, library: Library) -> Result<&'static Loaded, Missing> {
        if let Some(known) = self.known.get(&library) {
            return known.clone();
        }
        let answer = self.find(library);
        self.known.insert(library, answer.clone());
        answer
    }

    /// Makes the next `open` of each missing library search again.
    pub(crate) fn forget_failures(&mut self) {
        self.known.retain(|_, known| known.is_ok());
    }

    /// The libraries loaded so far.
    pub(crate) fn loaded(&self) -> Vec<Library> {
        self.known.iter().filter(|(_, known)| known.is_ok()).map(|(&library, _)| library).collect()
    }

    /// The answer for a library that was requested.
    pub(crate) fn known(&self, library: Library) -> Option<Result<&'static Loaded, Missing>> {
        self.known.get(&library).cloned()
    }

    pub(crate) fn env(&self) -> &SearchEnv {
        &self.env
    }

    pub(crate) fn env_mut(&mut self) -> &mut SearchEnv {
        &mut self.env
    }

    fn find(&mut self, library: Library) -> Result<&'static Loaded, Missing> {
        let mut tried = Vec::new();
        for place in places(&self.env, library.spec().origin) {
            let found = match place {
                SearchStep::Nothing(why) => {
                    tried.push(why);
                    None
                }
                SearchStep::Resident => self.resident(library, &mut tried),
                SearchStep::Linker => self.by_bare_name(library, &mut tried),
                SearchStep::Folder(folder) => self.in_folder(library, &folder, &mut tried),
            };
            if let Some(loaded) = found {
                return Ok(loaded);
            }
        }
        Err(missing(library, tried))
    }

    fn resident(&mut self, library: Library, tried: &mut Vec<String>) -> Option<&'static Loaded> {
        let spec = library.spec();
        for soname in spec.sonames {
            let name = Path::new(soname.file);
            // A failure only means that the library is not loaded yet.
            if let Some(handle) = SharedLibrary::resident(name)
                && let Some(loaded) = self.accept(library, soname, handle, name, tried)
            {
                return Some(loaded);
            }
        }
        tried.push(format!("already loaded in this process: no usable {}", files(spec)));
        None
    }

    fn by_bare_name(&mut self, library: Library, tried: &mut Vec<String>) -> Option<&'static Loaded> {
        for soname in library.spec().sonames {
            let name = Path::new(soname.file);
            let major = major::of_file(soname, None);
            if let Err(why) = self.check_major(major) {
                tried.push(format!("{}: skipped, {why}", soname.file));
                continue;
            }
            let mut opened = dlopen(name);
            // The linker found the file but not a library that it needs; that one may be in a folder that only this
            // loader knows.
            if let Err(why) = &opened
                && !why.starts_with(soname.file)
                && !library.spec().needs.is_empty()
            {
                tried.push(format!("{}: {why}", soname.file));
                self.preload(library, major, tried);
                opened = dlopen(name);
            }
            match opened {
                Ok(handle) => {
                    if let Some(loaded) = self.accept(library, soname, handle, name, tried) {
                        return Some(loaded);
                    }
                }
                Err(why) => tried.push(reason(name, &why)),
            }
        }
        None
    }

    fn in_folder(&mut self, library: Library, folder: &Path, tried: &mut Vec<String>) -> Option<&'static Loaded> {
        let spec = library.spec();
        let mut any = false;
        for soname in spec.sonames {
            let file = folder.join(soname.file);
            if !file.exists() {
                continue;
            }
            any = true;
            let major = major::of_file(soname, Some(folder));
            if let Err(why) = self.check_major(major) {
                tried.push(format!("{}: skipped, {why}", file.display()));
                continue;
            }
            self.preload(library, major, tried);
            load_companions(spec, soname, folder, tried);
            match dlopen(&file) {
                Ok(handle) => {
                    if let Some(loaded) = self.accept(library, soname, handle, &file, tried) {
                        return Some(loaded);
                    }
                }
                Err(why) => tried.push(reason(&file, &why)),
            }
        }
        match spec.refused.map(|(old, why)| (folder.join(old), why)) {
            Some((old, why)) if old.exists() => tried.push(format!("{}: refused, {why}", old.display())),
            _ if !any => tried.push(format!("{}: no {}", folder.display(), files(spec))),
            _ => {}
        }
        None
    }

    /// Loads what the library needs. If one is not found, that is not a failure yet: the library may find it by itself.
    fn preload(&mut self, library: Library, major: Option<u32>, tried: &mut Vec<String>) {
        let before = self.tentative;
        self.tentative = major.or(before);
        for &need in library.spec().needs {
            if matches!(self.known.get(&need), Some(Ok(_))) {
                continue;
            }
            // The failure is not remembered: the cause may be the major version of this one candidate.
            match self.find(need) {
                Ok(loaded) => {
                    self.known.insert(need, Ok(loaded));
                }
                Err(missing) => {
                    tried.push(format!("{library} needs {need}: not found ({} attempts)", missing.tried.len()));
                }
            }
        }
        self.tentative = before;
    }

    /// Keeps the handle permanently, unless it is not the library that is searched for; then closes it and records the
    /// reason.
    fn accept(
        &mut self,
        library: Library,
        soname: &Soname,
        handle: SharedLibrary,
        asked: &Path,
        tried: &mut Vec<String>,
    ) -> Option<&'static Loaded> {
        let (handle, path) = real_path(handle, asked);
        let cuda_major = major::of_file(soname, path.parent());
        let verdict = self.check_major(cuda_major).and_then(|()| match library {
            Library::Driver => stub::refuse(&handle),
            _ => Ok(()),
        });
        if let Err(why) = verdict {
            tried.push(format!("{}: skipped, {why}", path.display()));
            return None;
        }
        if let Some(folder) = path.parent() {
            load_companions(library.spec(), soname, folder, tried);
        }
        if self.fixed.is_none() {
            self.fixed = cuda_major.map(|major| (major, library));
        }
        let lib = Box::leak(Box::new(handle));
        Some(Box::leak(Box::new(Loaded { library, path, cuda_major, lib })))
    }

    pub(crate) fn check_major(&self, major: Option<u32>) -> Result<(), String> {
        let Some(major) = major else { return Ok(()) };
        if !major::SUPPORTED.contains(&major) {
            return Err(format!("it belongs to CUDA {major}, which is not supported"));
        }
        match (self.fixed, self.tentative) {
            (Some((fixed, by)), _) if fixed != major => {
                Err(format!("it belongs to CUDA {major}, and {by} of CUDA {fixed} is in use"))
            }
            (None, Some(wanted)) if wanted != major => {
                Err(format!("it belongs to CUDA {major}, and one of CUDA {wanted} is needed"))
            }
            _ => Ok(()),
        }
    }
}

/// Loads the files that the library later opens by bare name, from the folder of the library.
fn load_companions(spec: &Spec, soname: &Soname, folder: &Path, tried: &mut Vec<String>) {
    let Some(prefix) = spec.companions else { return };
    // `libnvrtc-builtins.so.13.0` goes with `libnvrtc.so.13`.
    let number = soname.file.rsplit('.').next().unwrap_or_default();
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix(prefix));
            rest.and_then(|rest| rest.split('.').next()) == Some(number)
        })
        .filter_map(|entry| entry.path().canonicalize().ok())
        .collect();
    found.sort();
    found.dedup();
    for file in found {
        match dlopen(&file) {
            Ok(handle) => {
                Box::leak(Box::new(handle));
            }
            Err(why) => tried.push(reason(&file, &why)),
        }
    }
}

/// The linker's message usually begins with the name already.
fn reason(name: &Path, why: &str) -> String {
    let name = name.display().to_string();
    if why.starts_with(&name) { why.to_owned() } else { format!("{name}: {why}") }
}

fn dlopen(name: &Path) -> Result<SharedLibrary, String> {
    // SAFETY: loading runs the library's constructors. They are NVIDIA's, or those of the files that the user's
    // settings select; by asking for CUDA the user vouches for them.
    unsafe { SharedLibrary::open(name) }
}

fn files(spec: &Spec) -> String {
    let names: Vec<&str> = spec.sonames.iter().map(|soname| soname.file).collect();
    names.join(" or ")
}

pub(crate) fn missing(library: Library, tried: Vec<String>) -> Missing {
    let help = format!("{}, or set {CUDA_PATH_VARIABLE} to where it is", library.spec().hint);
    Missing { library, tried, help }
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
