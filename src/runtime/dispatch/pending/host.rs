//! What is left of work in flight whose buffers were taken out.

use super::{PendingDispatch, Task, Timed, Work};
use crate::Result;
use crate::dispatch::Wait;
use crate::op::Output;
use crate::sync::Arc;
use std::time::Duration;

/// The verdict of a dispatch whose buffers were taken out by [`PendingDispatch::split`].
#[must_use = "the verdict says whether the buffers hold what they should"]
pub struct PendingHost<H> {
    pub(super) work: Work<H>,
}

impl<H> PendingHost<H> {
    /// The verdict is there.
    pub fn is_ready(&self) -> bool {
        self.work.is_ready()
    }

    /// Waits by this pending's policy instead of the device's.
    pub fn waiting(mut self, how: Wait) -> Self {
        self.work.how = how;
        self
    }

    /// Waits at most `limit`, and says whether it is ready.
    pub fn wait_timeout(&self, limit: Duration) -> bool {
        self.work.wait(self.work.timing().clock.after(limit))
    }

    /// Waits and gives the host's part: a scalar, or nothing.
    ///
    /// # Errors
    /// The failure of the work or its numerical verdict.
    pub fn await_result(mut self) -> Result<H> {
        self.work.eager = false; // what is left is looked at whenever its owner likes
        self.work.result()
    }

    /// Waits and gives the host's part with the time that the device spent on the work.
    ///
    /// # Errors
    /// As [`await_result`](Self::await_result).
    pub fn await_timed(self) -> Result<Timed<H>> {
        self.work.wait(None);
        let device = self.work.task.as_ref().and_then(|t| t.device_time());
        Ok(Timed { output: self.await_result()?, device })
    }

    /// Waits at most `limit`; gives itself back when that was not enough.
    ///
    /// # Errors
    /// Outer: still in flight. Inner: as [`await_result`](Self::await_result).
    pub fn await_timeout(self, limit: Duration) -> Result<Result<H>, Self> {
        if self.work.wait(self.work.timing().clock.after(limit)) { Ok(self.await_result()) } else { Err(self) }
    }
}

impl<H> PendingHost<H> {
    /// The task, whose result is asked for elsewhere.
    pub(crate) fn into_task(mut self) -> Option<Arc<dyn Task<H>>> {
        self.work.task.take()
    }
}

/// Of work that writes no buffers all that is left is the host's part.
impl<O: Output<Writes = ()>> From<PendingDispatch<O>> for PendingHost<O::Host> {
    fn from(pending: PendingDispatch<O>) -> Self {
        pending.split().1
    }
}

impl<H> std::fmt::Debug for PendingHost<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PendingHost(ready: {})", self.is_ready())
    }
}
