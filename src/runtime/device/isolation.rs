//! How the worker process of an isolated device is started and watched.

use super::DeviceBuilder;
use std::path::PathBuf;
use std::time::Duration;

impl DeviceBuilder {
    /// Runs the device in a child process, so that a device fault ends the child and not this program: the supervisor starts
    /// another (see [`worker`](crate::worker)). Nothing else changes. Linux only.
    ///
    /// The child is this very executable, when [`worker::init`](crate::worker::init) stands first in `main`; else the
    /// program named by [`worker_program`](Self::worker_program) or `WINDLASS_WORKER`.
    ///
    /// Once every handle of the device was dropped, the child ends as soon as nothing is in flight. Work whose pending exists
    /// (or was leaked) may take as long as it needs. Work without a pending has two seconds; then the child is killed, so that
    /// no endless operation holds the GPU's memory.
    pub fn isolated(mut self) -> Self {
        self.config.isolated = true;
        self
    }

    /// The program that an isolated device runs in: the crate's own `windlass-worker`, or one that calls
    /// [`worker::init`](crate::worker::init) first.
    pub fn worker_program(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.worker.program = Some(path.into());
        self
    }

    /// Kills the worker of an isolated device when it sends no heartbeat for `limit`; 10 s unless set. A thread of its own sends
    /// them, so this detects a process that is stopped or starved, not a long operation.
    pub fn heartbeat(mut self, limit: Duration) -> Self {
        self.config.worker.heartbeat = limit;
        self
    }

    /// Kills the worker of an isolated device when one operation runs for longer than `limit`; never unless set. The time starts
    /// when the device begins the operation; waiting for other operations does not count. Also kills a worker that for as long
    /// enqueues nothing while nothing in flight completes (it is stuck in a driver), or that is idle although an operation has no
    /// answer. The first use of a library and the loading of code may take two minutes more; time in which this program is
    /// stopped does not count.
    pub fn watchdog(mut self, limit: Duration) -> Self {
        self.config.worker.watchdog = Some(limit);
        self
    }

    /// Keeps a second worker waiting with its device open and tested, so that it takes over at once; off unless set. One
    /// that is lost while it waits is replaced. On a GPU it costs a second context (about half a GiB) and its libraries;
    /// where there can be none, recovery is cold, [`Stats::standby_failed`](crate::Stats::standby_failed) says why, and
    /// another is tried for after pauses that double.
    pub fn standby(mut self, on: bool) -> Self {
        self.config.worker.standby = on;
        self
    }

    /// How long the worker of an isolated device may take to start and open its device; 60 s unless set.
    pub fn worker_patience(mut self, limit: Duration) -> Self {
        self.config.worker.patience = limit;
        self
    }

    /// Adds to the `oom_score_adj` that the worker of an isolated device has of this process, up to 1000 in all; nothing
    /// unless set. Where the system runs out of memory, it then kills the worker before this program, which goes on with
    /// another.
    pub fn worker_oom_score(mut self, more: u16) -> Self {
        self.config.worker.oom_score = more;
        self
    }
}
