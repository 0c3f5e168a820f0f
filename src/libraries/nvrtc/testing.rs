//! A separate folder for each test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Removed when it is dropped.
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("windlass-nvrtc-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        Folder { root: root.canonicalize().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    pub(crate) fn join(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        let file = self.root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, contents).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}
