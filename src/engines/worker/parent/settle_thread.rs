//! The thread that settles what no thread waits for, so that the monitor need not.
//!
//! Settling calls the user's code: a trace's hooks, the drop of what an operation owns. That code may take long, or
//! wait for an operation whose answer only the monitor can read, or for a lock that is held until the monitor has seen
//! the worker's end. So the monitor does not call the user's code while it watches. When it sees that something has
//! finished, it calls this thread, which ends after the monitor, once its current work is done.

use super::link::Link;
use crate::core::sync::Arc;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};

/// The monitor's end of the channel to the thread.
pub(super) struct SettleThread {
    /// At most one call is queued: it covers all that has finished by the time it is received.
    calls: SyncSender<()>,
}

impl SettleThread {
    /// Starts the thread.
    pub(super) fn new(link: &Arc<Link>) -> std::io::Result<Self> {
        let (calls, heard) = sync_channel(1);
        let link = link.clone();
        let thread = std::thread::Builder::new().name(format!("windlass settle {}", link.pid));
        thread.spawn(move || {
            while heard.recv().is_ok() {
                let _ = catch_unwind(AssertUnwindSafe(|| link.reap()));
            }
        })?;
        Ok(SettleThread { calls })
    }

    /// Something has finished. Does not wait.
    pub(super) fn call(&self) {
        let _ = self.calls.try_send(());
    }
}
