//! How the worker process of an isolated device is started and watched.

use super::DeviceBuilder;
use std::path::PathBuf;
use std::time::Duration;

impl DeviceBuilder {
    /// Runs the device in a child process, so that a device fault ends the child and not this program: the supervisor
    /// then starts another child (see [`worker`](crate::worker)). Nothing else changes. Linux only.
    ///
    /// The child runs the same executable as this process if [`worker::init`](crate::worker::init) is the first call in
    /// `main`; otherwise the program named by [`worker_program`](Self::worker_program) or `WINDLASS_WORKER`.
    ///
    /// After every handle of the device was dropped, the child ends as soon as nothing is in flight. Work whose pending
    /// exists (or was leaked) may take as long as it needs. Work without a pending gets two seconds; then the child is
    /// killed, so that an endless operation does not hold the GPU's memory.
    pub fn isolated(mut self) -> Self {
        self.config.isolated = true;
        self
    }

    /// The program that an isolated device runs in: the crate's own `windlass-worker`, or one that calls
    /// [`worker::init`](crate::worker::init) first.
    pub fn worker_program(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.engine.worker.program = Some(path.into());
        self
    }

    /// Kills the worker of an isolated device when it sends no heartbeat for `limit`; 10 s unless set. A separate
    /// thread sends them, so this detects a process that is stopped or starved, not a long operation.
    pub fn heartbeat(mut self, limit: Duration) -> Self {
        self.config.engine.worker.heartbeat = limit;
        self
    }

    /// Kills the worker of an isolated device when one operation runs for longer than `limit`; off unless set. The time
    /// starts when the device begins the operation; waiting for other operations does not count. Also kills a worker
    /// that for `limit` enqueues nothing while nothing in flight completes (it is stuck in the driver), or that for
    /// `limit` is idle although an operation has no result. The first use of a library and the loading of code may take
    /// two minutes more.
    ///
    /// Not counted: time in which this program is stopped; up to ten seconds in which a GPU's driver does not answer the
    /// worker; the second around a fault on another isolated GPU of this program, which stalls the driver for all GPUs;
    /// and, on a GPU, time in which an operation that had begun earlier was still running beside this one.
    ///
    /// Counted, since nothing tells it apart: time in which the GPU works for other programs, and a stall after a fault in
    /// another program (some 350 ms). So the limit must exceed the longest operation by that: one second at least for
    /// a GPU that no other program uses, and five seconds for one that is shared.
    pub fn watchdog(mut self, limit: Duration) -> Self {
        self.config.engine.worker.watchdog = Some(limit);
        self
    }

    /// Keeps a second worker ready, with its device open and tested, so that it can take over at once; off unless set.
    /// A standby that is lost is replaced. On a GPU it costs a second context (about half a GiB) and its libraries. If
    /// no standby can be started, recovery starts a worker from scratch,
    /// [`Stats::standby_failed`](crate::Stats::standby_failed) tells why, and new attempts follow after pauses that
    /// double.
    pub fn standby(mut self, on: bool) -> Self {
        self.config.engine.worker.standby = on;
        self
    }

    /// How long the worker of an isolated device may take to start and open its device; 60 s unless set.
    pub fn worker_patience(mut self, limit: Duration) -> Self {
        self.config.engine.worker.patience = limit;
        self
    }

    /// Adds `more` to the `oom_score_adj` that the worker of an isolated device inherits from this process, up to 1000
    /// in total; 0 unless set. If the system runs out of memory, it then kills the worker before this program, which
    /// continues with a new worker.
    pub fn worker_oom_score(mut self, more: u16) -> Self {
        self.config.engine.worker.oom_score = more;
        self
    }
}
