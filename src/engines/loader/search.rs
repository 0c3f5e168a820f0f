//! The places where a library may be, in order of search.
//!
//! Everything that the search depends on is in a [`SearchEnv`], so that tests can describe their own machine.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::folders::{self, TARGETS};
use super::library::Origin;

/// The variable that names folders to search first: roots or library folders, separated by `:`.
pub(crate) const CUDA_PATH_VARIABLE: &str = "WINDLASS_CUDA_PATH";

/// The variables that the search reads.
const VARIABLES: &[&str] = &[
    CUDA_PATH_VARIABLE,
    "CUDA_PATH",
    "CUDA_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PATH",
    "PYTHONPATH",
    "HOME",
    "LD_LIBRARY_PATH",
];

/// The inputs of the search.
#[derive(Clone, Debug)]
pub(crate) struct SearchEnv {
    /// Folders set by the program, before all others.
    pub(crate) explicit: Vec<PathBuf>,
    /// The environment variables that are set.
    pub(crate) vars: BTreeMap<&'static str, OsString>,
    /// The file of the running program, if it is known.
    pub(crate) program: Option<PathBuf>,
    /// The root of the system's folders: `/`.
    pub(crate) root: PathBuf,
    /// Whether to ask the dynamic linker for libraries already loaded and for bare names.
    pub(crate) ask_linker: bool,
}

impl SearchEnv {
    /// The environment of this process. A set-user-id program uses no variables and no program path, as with the
    /// dynamic linker.
    pub(crate) fn of_process() -> Self {
        let (vars, program) = if crate::system::process::is_secure() {
            (BTreeMap::new(), None)
        } else {
            let vars = VARIABLES.iter().filter_map(|&name| Some((name, std::env::var_os(name)?))).collect();
            (vars, std::env::current_exe().ok())
        };
        SearchEnv { explicit: Vec::new(), vars, program, root: PathBuf::from("/"), ask_linker: true }
    }

    /// The value of a variable; an empty one counts as not set.
    pub(super) fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    pub(super) fn system(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

/// One step of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SearchStep {
    /// An existing folder.
    Folder(PathBuf),
    /// The libraries that the process has already loaded.
    Resident,
    /// The dynamic linker's own search for a bare name.
    Linker,
    /// A source that gave no folder, with the reason.
    Nothing(String),
}

/// The steps for a library of this origin, in order. Each folder occurs once.
pub(crate) fn places(env: &SearchEnv, origin: Origin) -> Vec<SearchStep> {
    let mut steps = Steps::default();
    for path in &env.explicit {
        steps.add(&format!("the path set by the program, {}", path.display()), folders::of_any(path));
    }
    list_variable(env, CUDA_PATH_VARIABLE, folders::of_any, &mut steps);
    if env.ask_linker {
        steps.places.push(SearchStep::Resident);
        steps.places.push(SearchStep::Linker);
    }
    match origin {
        Origin::Driver => driver(env, &mut steps),
        Origin::Toolkit => toolkit(env, &mut steps),
    }
    steps.places
}

fn driver(env: &SearchEnv, steps: &mut Steps) {
    const FOLDERS: &[&str] = &[
        "usr/local/nvidia/lib64",
        "usr/local/nvidia/lib",
        "usr/lib/x86_64-linux-gnu",
        "usr/lib/aarch64-linux-gnu",
        "usr/lib64",
        "usr/lib/wsl/lib",
        "run/opengl-driver/lib",
    ];
    let existing = FOLDERS.iter().map(|path| env.system(path)).filter(|path| path.is_dir()).collect();
    steps.add("the driver's usual folders", existing);
}

fn toolkit(env: &SearchEnv, steps: &mut Steps) {
    for name in ["CUDA_PATH", "CUDA_HOME"] {
        one_variable(env, name, folders::of_toolkit, steps);
    }
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        one_variable(env, name, folders::of_prefix, steps);
    }
    own_environment(env, steps);
    python(env, steps);
    list_variable(env, "PYTHONPATH", folders::of_packages, steps);
    if let Some(home) = env.var("HOME").map(Path::new).filter(|home| home.is_absolute()) {
        let local = home.join(".local");
        steps.add(&format!("Python packages in {}", local.display()), folders::of_python(&local));
    }
    let local = env.system("usr/local");
    let roots = folders::toolkit_roots(&local);
    let found = roots.iter().flat_map(|root| folders::of_toolkit(root)).collect();
    steps.add(&format!("{}/cuda* ({})", local.display(), TARGETS.join(", ")), found);
}

/// The environment that contains the running program: `venv/bin/prog`, regardless of the variables.
fn own_environment(env: &SearchEnv, steps: &mut Steps) {
    let Some(program) = &env.program else {
        return steps.nothing("the program's own environment: the program's path is not known");
    };
    let mut found = beside(program);
    // A conda environment has the libraries directly in its `lib`.
    if let Some(prefix) = program.parent().and_then(Path::parent).filter(|prefix| prefix.join("conda-meta").is_dir()) {
        found.extend(folders::of_toolkit(prefix));
    }
    steps.add(&format!("the environment of {}", program.display()), found);
}

/// The packages beside the first `python3` on `PATH` that has any: those of its own prefix, then those of the prefix
/// that it is a link into. A wrapper script (pyenv's) has none beside it, so the next `python3` is tried.
fn python(env: &SearchEnv, steps: &mut Steps) {
    let Some(path) = env.var("PATH") else {
        return steps.nothing("PATH: not set, so no python3");
    };
    let pythons: Vec<PathBuf> = std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("python3"))
        .filter(|file| file.is_file())
        .collect();
    if pythons.is_empty() {
        return steps.nothing("python3: not on PATH");
    }
    for python in pythons {
        let found = beside(&python);
        let any = !found.is_empty();
        steps.add(&format!("packages of {}", python.display()), found);
        if any {
            return;
        }
    }
}

fn beside(python: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in [Some(python.to_path_buf()), python.canonicalize().ok()].into_iter().flatten() {
        if let Some(prefix) = file.parent().and_then(Path::parent) {
            found.extend(folders::of_python(prefix));
            // Debian's python3 in /usr also reads /usr/local.
            found.extend(folders::of_python(&prefix.join("local")));
        }
    }
    found
}

fn one_variable(env: &SearchEnv, name: &str, expand: fn(&Path) -> Vec<PathBuf>, steps: &mut Steps) {
    match env.var(name) {
        None => steps.nothing(format!("{name}: not set")),
        Some(value) => steps.variable(name, Path::new(value), expand),
    }
}

fn list_variable(env: &SearchEnv, name: &str, expand: fn(&Path) -> Vec<PathBuf>, steps: &mut Steps) {
    match env.var(name) {
        None => steps.nothing(format!("{name}: not set")),
        Some(value) => {
            for path in std::env::split_paths(value).filter(|path| !path.as_os_str().is_empty()) {
                steps.variable(name, &path, expand);
            }
        }
    }
}

#[derive(Default)]
struct Steps {
    places: Vec<SearchStep>,
}

impl Steps {
    fn nothing(&mut self, why: impl Into<String>) {
        self.places.push(SearchStep::Nothing(why.into()));
    }

    fn variable(&mut self, name: &str, path: &Path, expand: fn(&Path) -> Vec<PathBuf>) {
        if path.is_absolute() {
            self.add(&format!("{name}={}", path.display()), expand(path));
        } else {
            // The meaning of a relative path depends on where the process was started, so no code is loaded from it.
            self.nothing(format!("{name}={}: skipped, not an absolute path", path.display()));
        }
    }

    fn add(&mut self, source: &str, found: Vec<PathBuf>) {
        if found.is_empty() {
            return self.nothing(format!("{source}: no library folder found"));
        }
        for folder in found {
            let place = SearchStep::Folder(folder);
            if !self.places.contains(&place) {
                self.places.push(place);
            }
        }
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
