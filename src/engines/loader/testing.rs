//! Fake machines for the tests: each has its own folder, with folders, files and tiny shared libraries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::search::SearchEnv;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder that is removed when this is dropped.
pub(crate) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("windlass-loader-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        Tree { root: root.canonicalize().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    pub(crate) fn join(&self, path: &str) -> String {
        self.root.join(path).display().to_string()
    }

    pub(crate) fn folder(&self, path: &str) {
        std::fs::create_dir_all(self.root.join(path)).unwrap();
    }

    pub(crate) fn file(&self, path: &str) {
        self.folder(Path::new(path).parent().unwrap().to_str().unwrap());
        std::fs::write(self.root.join(path), "not a library").unwrap();
    }

    /// Compiles `source` into a shared library at `path`.
    ///
    /// Its soname is unique to this tree. A library that a test loads stays in the process; under its real name it
    /// would be found instead of the real library in every later test.
    pub(crate) fn library(&self, path: &str, source: &str, needs: &[&str]) {
        let soname = format!("{}{}", self.root.display(), path).replace('/', "_");
        self.library_named(path, &soname, source, needs);
    }

    /// As [`Tree::library`], with a soname that the caller chooses.
    pub(crate) fn library_named(&self, path: &str, soname: &str, source: &str, needs: &[&str]) {
        let file = self.root.join(path);
        self.folder(Path::new(path).parent().unwrap().to_str().unwrap());
        let code = self.root.join(format!("{}.c", path.replace('/', "_")));
        std::fs::write(&code, source).unwrap();
        let done = Command::new("cc")
            .args(["-shared", "-fPIC", "-Wl,--no-as-needed"])
            .arg(format!("-Wl,-soname,{soname}"))
            .arg("-o")
            .arg(&file)
            .arg(&code)
            .args(needs.iter().map(|need| self.root.join(need)))
            .output()
            .unwrap();
        assert!(done.status.success(), "cc: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// A machine with this tree as its root and no variables, where the dynamic linker is not used.
    pub(crate) fn env(&self) -> SearchEnv {
        SearchEnv {
            explicit: Vec::new(),
            vars: std::collections::BTreeMap::new(),
            program: None,
            root: self.root.clone(),
            ask_linker: false,
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}
