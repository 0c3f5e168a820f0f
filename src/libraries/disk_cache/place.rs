//! The location of the disk cache.

use std::ffi::OsString;
use std::path::PathBuf;

/// The location of the disk cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiskCache {
    /// The folder in the variable `WINDLASS_CACHE_DIR` (empty or `off`: no disk cache). Without the variable: the
    /// user's cache, `windlass` in `$XDG_CACHE_HOME` or `~/.cache` on Linux, in `~/Library/Caches` on macOS, in
    /// `%LOCALAPPDATA%` on Windows.
    #[default]
    Default,
    /// This folder; it is created if it does not exist.
    At(PathBuf),
    /// No disk cache.
    Off,
}

impl DiskCache {
    /// The folder, if there is one.
    pub(in crate::libraries) fn folder(&self) -> Option<PathBuf> {
        match self {
            // In a set-user-id program another user controls the environment variables.
            DiskCache::Default if crate::system::process::is_privileged() => None,
            DiskCache::Default => default_folder(&|name| std::env::var_os(name)),
            DiskCache::At(folder) => Some(folder.clone()),
            DiskCache::Off => None,
        }
        .map(|folder| std::path::absolute(&folder).unwrap_or(folder))
    }
}

fn default_folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(set) = variable("WINDLASS_CACHE_DIR") {
        return (!set.is_empty() && set != "off").then(|| PathBuf::from(set));
    }
    let from = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = if cfg!(windows) {
        from("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        from("HOME").map(|home| home.join("Library/Caches"))
    } else {
        // The XDG base directory specification says that relative paths are ignored.
        from("XDG_CACHE_HOME").or_else(|| from("HOME").map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("windlass"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)]) -> Option<PathBuf> {
        default_folder(&|name| set.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value)))
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_variable_comes_first_then_the_platforms_cache() {
        let home = [("HOME", "/home/a"), ("XDG_CACHE_HOME", "/var/x")];
        assert_eq!(with(&home), Some("/var/x/windlass".into()));
        assert_eq!(with(&home[..1]), Some("/home/a/.cache/windlass".into()));
        assert_eq!(with(&[home[0], ("XDG_CACHE_HOME", "relative")]), Some("/home/a/.cache/windlass".into()));
        assert_eq!(with(&[home[0], ("WINDLASS_CACHE_DIR", "/mine")]), Some("/mine".into()));
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn the_variable_switches_it_off() {
        for value in ["", "off"] {
            assert_eq!(with(&[("HOME", "/home/a"), ("WINDLASS_CACHE_DIR", value)]), None);
        }
    }
}
