//! The rest of a pending whose buffers were taken out.

use super::pending::Work;
use crate::core::dispatch::{PendingDispatch, Task, Timed, Wait};
use crate::core::error::Result;
use crate::core::op::Output;
use std::time::Duration;

/// The verdict of a dispatch whose buffers were taken out by [`PendingDispatch::into_parts`]; still a pending.
#[must_use = "this tells whether the operation succeeded and its buffers are valid"]
pub struct PendingHost<H> {
    pub(super) work: Work<H>,
}

impl<H> PendingHost<H> {
    /// Whether the verdict is available.
    pub fn is_ready(&self) -> bool {
        self.work.is_ready()
    }

    /// Waits with the policy `how` instead of the device's.
    pub fn waiting(mut self, how: Wait) -> Self {
        self.work.how = how;
        self
    }

    /// Waits at most `limit`. True if the verdict is available.
    pub fn wait_timeout(&self, limit: Duration) -> bool {
        self.work.wait(self.work.timing().clock.after(limit))
    }

    /// Waits and returns the host part: a scalar, or nothing.
    ///
    /// # Errors
    /// The failure of the work or its numerical verdict.
    pub fn await_result(mut self) -> Result<H> {
        self.work.eager = false; // the caller may look at it any time later, so it must be complete
        self.work.result()
    }

    /// Waits and returns the host part, with the time that the device spent on the work.
    ///
    /// # Errors
    /// As [`await_result`](Self::await_result).
    pub fn await_timed(self) -> Result<Timed<H>> {
        self.work.wait(None);
        let device = self.work.task.as_ref().and_then(|task| task.hold.device_time());
        Ok(Timed { output: self.await_result()?, device })
    }

    /// Waits at most `limit`. Returns the pending if the work is still in flight after that.
    ///
    /// # Errors
    /// Outer: still in flight. Inner: as [`await_result`](Self::await_result).
    pub fn await_timeout(self, limit: Duration) -> Result<Result<H>, Self> {
        if self.work.wait(self.work.timing().clock.after(limit)) { Ok(self.await_result()) } else { Err(self) }
    }
}

impl<H> PendingHost<H> {
    /// Takes out the task; its result is taken elsewhere.
    pub(crate) fn into_task(mut self) -> Option<Task<H>> {
        self.work.task.take()
    }
}

/// If the work writes no buffers, the host part is all there is.
impl<O: Output<Writes = ()>, V> From<PendingDispatch<O, V>> for PendingHost<O::Host> {
    fn from(pending: PendingDispatch<O, V>) -> Self {
        pending.into_parts().1
    }
}

impl<H> std::fmt::Debug for PendingHost<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PendingHost(ready: {})", self.is_ready())
    }
}
