//! The thread that settles what nobody waits for, so that the monitor need not.
//!
//! To settle is to call the user's code: a trace's hooks, the drop of what an operation owns. That may take long, or wait
//! for an operation whose answer only the monitor can read, or for a lock that is held until the monitor has seen the
//! worker's end. So the monitor calls nobody while it keeps watch: it sees that something has finished, and calls the
//! settle thread, whose thread ends with the monitor, after what it is at.

use super::link::Link;
use crate::sync::Arc;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};

/// The monitor's end of it.
pub(super) struct SettleThread {
    /// One call may wait: it is for all that has finished by the time it is heard.
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

    /// Something has finished. No wait.
    pub(super) fn call(&self) {
        let _ = self.calls.try_send(());
    }
}
