//! The end of a worker: how it came, how far it is, and who is told.
//!
//! ```text
//!   told: its epoch is dead ──> over: nothing more is taken, what is in flight is settled ──> gone: it is reaped
//! ```
//!
//! **Race "early end"**: the worker may end before an epoch is made around it; whoever comes second, [`bind`](Ending::bind)
//! or [`tell`](Ending::tell), sees what the other has left, since both pass the same lock.

use super::standby::Standby;
use crate::engine::Epoch;
use crate::error::Text;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
use std::sync::{OnceLock, Weak};

/// Why a worker ended.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) message: String,
    pub(super) code: Option<(i32, Text)>,
}

/// What there is to its end.
#[derive(Default)]
pub(super) struct Ending {
    epoch: OnceLock<Weak<Epoch>>,
    /// How the worker ended.
    end: Mutex<Option<End>>,
    /// Nothing more is taken.
    over: AtomicBool,
    /// Its process is no more.
    gone: AtomicBool,
    /// Where it waits as a standby.
    post: OnceLock<Weak<Standby>>,
}

impl Ending {
    /// Binds it to the epoch that was made around the worker.
    pub(super) fn bind(&self, epoch: &Arc<Epoch>) {
        let _ = self.epoch.set(Arc::downgrade(epoch));
        let end = self.end.lock().clone(); // race "early end"
        if let Some(End { message, code }) = end {
            epoch.fault(message, code);
        }
    }

    /// It waits there as a standby.
    pub(super) fn wait_at(&self, standby: &Arc<Standby>) {
        let _ = self.post.set(Arc::downgrade(standby));
    }

    /// The worker has ended, or was killed: ends the epoch.
    pub(super) fn tell(&self, end: End) {
        *self.end.lock() = Some(end.clone());
        if let Some(epoch) = self.epoch.get().and_then(Weak::upgrade) {
            epoch.fault(end.message, end.code);
        }
    }

    /// Its lanes are closed: nothing more is taken, and what is in flight is to be settled now.
    pub(super) fn close(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// The worker was reaped, and what settles without a call of the user's code was settled before. `pid`: its own.
    pub(super) fn reap(&self, pid: u32) {
        self.gone.store(true, Ordering::Release);
        if let Some(standby) = self.post.get().and_then(Weak::upgrade) {
            standby.lost(pid);
        }
    }

    /// The worker has ended, however far that is.
    pub(super) fn has_come(&self) -> bool {
        self.is_over() || self.end.lock().is_some()
    }

    /// The worker is gone, and nothing more is taken.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The worker's process is no more.
    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }
}
