//! The end of a worker: its cause, its progress, and who is notified.
//!
//! ```text
//!   told: its epoch is dead ──> over: no more orders are accepted, what is in flight is settled ──> gone: it is reaped
//! ```
//!
//! **Race "early end"**: the worker may end before an epoch is made around it. [`bind`](Ending::bind) and
//! [`tell`](Ending::tell) take the same lock, so the second of them sees what the first one has left.

use super::standby::Standby;
use crate::core::epoch::Epoch;
use crate::core::error::Text;
use crate::core::sync::{Arc, AtomicBool, Mutex, Ordering};
use std::sync::{OnceLock, Weak};

/// Why a worker ended.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) message: String,
    pub(super) code: Option<(i32, Text)>,
}

/// The end of one worker.
#[derive(Default)]
pub(super) struct Ending {
    epoch: OnceLock<Weak<Epoch>>,
    /// The cause, once the worker has ended.
    end: Mutex<Option<End>>,
    /// No more orders are accepted.
    over: AtomicBool,
    /// The process was reaped.
    gone: AtomicBool,
    /// The standby that this worker waits in, if any.
    post: OnceLock<Weak<Standby>>,
}

impl Ending {
    /// Binds this to the epoch that was made around the worker.
    pub(super) fn bind(&self, epoch: &Arc<Epoch>) {
        let _ = self.epoch.set(Arc::downgrade(epoch));
        let end = self.end.lock().clone(); // race "early end"
        if let Some(End { message, code }) = end {
            epoch.fault(message, code);
        }
    }

    /// The worker waits in this standby.
    pub(super) fn wait_at(&self, standby: &Arc<Standby>) {
        let _ = self.post.set(Arc::downgrade(standby));
    }

    /// The worker has ended, or was killed: ends the epoch with the cause.
    pub(super) fn tell(&self, end: End) {
        *self.end.lock() = Some(end.clone());
        if let Some(epoch) = self.epoch.get().and_then(Weak::upgrade) {
            epoch.fault(end.message, end.code);
        }
    }

    /// The lanes are closed: no more orders are accepted, and what is in flight is to be settled now.
    pub(super) fn close(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// The worker was reaped, and everything that settles without calling the user's code is settled. `pid`: of the
    /// worker.
    pub(super) fn reap(&self, pid: u32) {
        self.gone.store(true, Ordering::Release);
        if let Some(standby) = self.post.get().and_then(Weak::upgrade) {
            standby.lost(pid);
        }
    }

    /// The worker has ended, or is known to be ending.
    pub(super) fn has_come(&self) -> bool {
        self.is_over() || self.end.lock().is_some()
    }

    /// The worker is gone, and no more orders are accepted.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The worker's process was reaped.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }
}
