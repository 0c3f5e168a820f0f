//! A gate that work in a worker process stands at until the test opens it. A file, for a closure does not cross.

use crate::common::{LONG, eventually};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The test's end: open when it was opened, or dropped.
pub(crate) struct Gate(Pass);

/// What crosses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pass(PathBuf);

impl Gate {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("windlass-gate-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let gate = Gate(Pass(std::env::temp_dir().join(name)));
        std::fs::write(gate.0.closed(), "").unwrap();
        gate
    }

    pub(crate) fn pass(&self) -> Pass {
        self.0.clone()
    }

    /// Waits until somebody stands there.
    #[track_caller]
    pub(crate) fn await_arrival(&self) {
        assert!(eventually(10, || self.0.arrived().exists()), "nobody came to the gate");
    }

    pub(crate) fn open(&self) {
        let _ = std::fs::remove_file(self.0.closed());
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
        let _ = std::fs::remove_file(self.0.arrived());
    }
}

impl Pass {
    /// For another process of the test's.
    pub(crate) fn path(&self) -> &PathBuf {
        &self.0
    }

    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Pass(path.into())
    }

    fn closed(&self) -> PathBuf {
        self.0.with_extension("closed")
    }

    fn arrived(&self) -> PathBuf {
        self.0.with_extension("arrived")
    }

    /// Not for ever: a test that hangs tells nothing.
    pub(crate) fn stand(&self) {
        let start = Instant::now();
        let _ = std::fs::write(self.arrived(), "");
        while self.closed().exists() && start.elapsed() < 2 * LONG {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
