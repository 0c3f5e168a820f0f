//! Wakes the monitor of a worker.
//!
//! **Race "falling asleep"**: the monitor sets its idle flag and then checks once more whether there is work. A thread
//! that leaves work checks the idle flag afterwards. Both have a full fence in between, so one of them sees the other.

use crate::core::sync::{Arc, AtomicBool, Mutex, Ordering, fence};
use std::os::fd::OwnedFd;

/// The sending end, for every thread but the monitor.
pub(super) struct Bell {
    /// `None` once the worker is gone: a handle of an ended generation may stay for long.
    fd: Mutex<Option<Arc<OwnedFd>>>,
    /// The monitor sleeps until the bell rings.
    idle: AtomicBool,
}

impl Bell {
    pub(super) fn new(fd: Arc<OwnedFd>) -> Self {
        Bell { fd: Mutex::new(Some(fd)), idle: AtomicBool::new(false) }
    }

    /// For the monitor: whether it sleeps until the bell rings.
    pub(super) fn set_idle(&self, idle: bool) {
        self.idle.store(idle, Ordering::Release);
    }

    /// Wakes the monitor, if it is in its long sleep.
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

    /// The worker is gone: releases the descriptor.
    pub(super) fn close(&self) {
        *self.fd.lock() = None;
    }
}
