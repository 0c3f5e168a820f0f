//! The thread that settles what nobody waits for, so that the keeper need not.
//!
//! To settle is to call the user's code: a trace's hooks, the drop of what an operation owns. That may take long, or wait
//! for an operation whose answer only the keeper can read, or for a lock that is held until the keeper has seen the
//! worker's end. So the keeper calls nobody while it keeps watch: it sees that something has finished, and calls the
//! janitor, whose thread ends with the keeper, after what it is at.

use super::link::Link;
use crate::sync::Arc;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};

/// The keeper's end of it.
pub(super) struct Janitor {
    /// One call may wait: it is for all that has finished by the time it is heard.
    calls: SyncSender<()>,
}

impl Janitor {
    /// Starts the thread.
    pub(super) fn new(link: &Arc<Link>) -> std::io::Result<Self> {
        let (calls, heard) = sync_channel(1);
        let link = link.clone();
        let thread = std::thread::Builder::new().name(format!("windlass janitor {}", link.pid));
        thread.spawn(move || {
            while heard.recv().is_ok() {
                let _ = catch_unwind(AssertUnwindSafe(|| link.reap()));
            }
        })?;
        Ok(Janitor { calls })
    }

    /// Something has finished. No wait.
    pub(super) fn call(&self) {
        let _ = self.calls.try_send(());
    }
}
