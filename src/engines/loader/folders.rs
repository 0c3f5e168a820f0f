//! The folders of libraries inside a toolkit, a Python environment or a conda environment.
//!
//! Each function returns the existing folders, in the order to search them; the list is empty if there are none.

use std::path::{Path, PathBuf};

/// The folders of a toolkit's root that hold its libraries on this architecture.
#[cfg(not(target_arch = "aarch64"))]
pub(crate) const TARGETS: &[&str] = &["lib64", "lib", "targets/x86_64-linux/lib"];
/// The folders of a toolkit's root that hold its libraries on this architecture.
#[cfg(target_arch = "aarch64")]
pub(crate) const TARGETS: &[&str] = &["lib64", "lib", "targets/sbsa-linux/lib", "targets/aarch64-linux/lib"];

/// For a path of unknown kind: a folder of libraries, a toolkit, an environment, or a folder of packages.
pub(crate) fn of_any(path: &Path) -> Vec<PathBuf> {
    let mut found = existing([path.to_path_buf()]);
    found.extend(of_prefix(path));
    found.extend(of_packages(path));
    found
}

/// For a toolkit's root.
pub(crate) fn of_toolkit(root: &Path) -> Vec<PathBuf> {
    existing(TARGETS.iter().map(|target| root.join(target)))
}

/// For the prefix of a virtual or conda environment.
pub(crate) fn of_prefix(prefix: &Path) -> Vec<PathBuf> {
    let mut found = of_python(prefix);
    found.extend(of_toolkit(prefix));
    found
}

/// For the Python packages under a prefix.
pub(crate) fn of_python(prefix: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for lib in ["lib", "lib64"] {
        for python in names(&prefix.join(lib), |name| name.starts_with("python3")) {
            for packages in ["site-packages", "dist-packages"] {
                found.extend(of_packages(&prefix.join(lib).join(&python).join(packages)));
            }
        }
    }
    found
}

/// For a `site-packages` folder: `nvidia/*/lib`, the whole toolkit of a major version (`cu13`) before single libraries,
/// and cuTENSOR's folder, which is at the top level.
pub(crate) fn of_packages(packages: &Path) -> Vec<PathBuf> {
    let nvidia = packages.join("nvidia");
    let is_toolkit =
        |name: &str| name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let toolkits = names(&nvidia, is_toolkit);
    let single = names(&nvidia, |name| !is_toolkit(name));
    let libs = toolkits.iter().chain(&single).map(|name| nvidia.join(name).join("lib"));
    existing(libs.chain([packages.join("cutensor").join("lib")]))
}

/// The toolkits in a folder such as `/usr/local`: `cuda`, which the administrator chose, then `cuda-*` newest first.
pub(crate) fn toolkit_roots(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<String> = names(folder, |name| name == "cuda" || name.starts_with("cuda-"));
    found.sort_by_key(|name| (name != "cuda", std::cmp::Reverse(version(name))));
    found.iter().map(|name| folder.join(name)).collect()
}

fn version(name: &str) -> Vec<u32> {
    name.split(['-', '.']).filter_map(|part| part.parse().ok()).collect()
}

/// The names in a folder, the greatest version first (`python3.12` before `python3.9`), so that the result does not
/// depend on the order of the directory entries.
pub(crate) fn names(folder: &Path, keep: impl Fn(&str) -> bool) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| keep(name)).collect();
    found.sort_by(|a, b| digits(b).cmp(&digits(a)).then_with(|| a.cmp(b)));
    found
}

fn digits(name: &str) -> Vec<u32> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn existing(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().filter(|path| path.is_dir()).collect()
}
