//! What a device is opened with.

use super::Settings;
use crate::Error;
use crate::clock::Timing;
use crate::dispatch::{InFlight, Wait};
use crate::supervisor::{Hook, RestartPolicy};
use crate::sync::Arc;
use crate::trace::Trace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Which device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first healthy GPU, else the host.
    Best,
    Host,
    Cuda(usize),
}

/// Asked for memory when there is none left: `requested` bytes; true when something was given back.
pub(crate) type OnOutOfMemory = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// Everything a device is opened with; kept, because a rebuild opens it again.
#[derive(Clone)]
pub(crate) struct Config {
    /// The libraries there are.
    pub(crate) libraries: &'static [crate::library::Entry],
    pub(crate) settings: Settings,
    pub(crate) kind: Kind,
    pub(crate) slots: usize,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) staging_limit: u64,
    pub(crate) wait: Wait,
    pub(crate) in_flight: InFlight,
    pub(crate) policy: RestartPolicy,
    pub(crate) trace: Option<Arc<dyn Trace>>,
    pub(crate) timeline: Option<crate::timeline::Recorder>,
    pub(crate) flight: Option<crate::trace::FlightPlan>,
    pub(crate) before: Vec<Hook>,
    pub(crate) after: Vec<Hook>,
    pub(crate) on_out_of_memory: Option<OnOutOfMemory>,
    #[cfg(feature = "host")]
    pub(crate) pool: crate::host::HostPool,
    #[cfg(feature = "host")]
    pub(crate) plan: Option<crate::host::FaultPlan>,
    /// In a child process.
    pub(crate) isolated: bool,
    pub(crate) worker: WorkerSettings,
    pub(crate) timing: &'static Timing,
    /// The name that errors give the device, where another process says it.
    pub(crate) label: Option<String>,
}

impl Config {
    /// Asks the user to give back what is missing, if it is memory that is. Whether another try is worth it.
    pub(crate) fn made_room(&self, error: &Error) -> bool {
        let (Some(callback), Error::OutOfMemory { requested, free, .. }) = (&self.on_out_of_memory, error) else {
            return false;
        };
        // Enough bytes, but not in one piece: how many would help, nobody knows.
        let missing = if free < requested { requested - free } else { *requested };
        catch_unwind(AssertUnwindSafe(|| callback(missing))).unwrap_or(false)
    }
}

/// How often one allocation calls `on_out_of_memory`: a callback that frees one buffer at a time is called again.
pub(crate) const MOST_ASKED: usize = 64;

/// How a worker process is started and watched.
#[derive(Clone, Debug)]
pub(crate) struct WorkerSettings {
    /// The program to start instead of this very executable.
    pub(crate) program: Option<std::path::PathBuf>,
    /// A worker whose heart does not beat for this long is killed.
    pub(crate) heartbeat: Duration,
    /// A worker that is at one operation for longer is killed.
    pub(crate) watchdog: Option<Duration>,
    /// A second one waits with its device open.
    pub(crate) standby: bool,
    /// How long a worker may take to open its device.
    pub(crate) patience: Duration,
    /// What is added to the likelihood that it is killed for want of memory.
    pub(crate) oom_score: u16,
}
