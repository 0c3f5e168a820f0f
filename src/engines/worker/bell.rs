//! What wakes the monitor of a worker.
//!
//! **Race "falling asleep"**: the monitor says that it is idle and looks once more whether there is anything; who leaves
//! something looks afterwards whether it is idle. Both with a full fence in between.

use crate::sync::{Arc, AtomicBool, Mutex, Ordering, fence};
use std::os::fd::OwnedFd;

/// The end of it that everybody but the monitor has.
pub(super) struct Bell {
    /// Closed with the worker: a handle of a life that is over may stay for long.
    fd: Mutex<Option<Arc<OwnedFd>>>,
    /// The monitor sleeps until somebody rings.
    idle: AtomicBool,
}

impl Bell {
    pub(super) fn new(fd: Arc<OwnedFd>) -> Self {
        Bell { fd: Mutex::new(Some(fd)), idle: AtomicBool::new(false) }
    }

    /// For the monitor: whether it sleeps until somebody rings.
    pub(super) fn set_idle(&self, idle: bool) {
        self.idle.store(idle, Ordering::Release);
    }

    /// Wakes the monitor, if it sleeps for long.
    pub(super) fn nudge(&self) {
        fence(Ordering::SeqCst); // race "falling asleep"
        if self.idle.load(Ordering::Relaxed) && self.idle.swap(false, Ordering::AcqRel) {
            self.ring();
        }
    }

    /// Wakes the monitor.
    pub(super) fn ring(&self) {
        if let Some(fd) = &*self.fd.lock() {
            let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
        }
    }

    /// The worker is gone.
    pub(super) fn close(&self) {
        *self.fd.lock() = None;
    }
}
