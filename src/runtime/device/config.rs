//! The configuration of a device.

use super::Settings;
use crate::Error;
use crate::clock::Timing;
use crate::dispatch::{InFlight, Wait};
use crate::loader::Library;
use crate::supervisor::{Hook, RestartPolicy};
use crate::sync::Arc;
use crate::trace::Trace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Which device to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first healthy GPU, else the host.
    Best,
    Host,
    Cuda(usize),
}

/// Called with the number of missing bytes when an allocation fails; true when something was freed.
pub(crate) type OnOutOfMemory = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// Everything a device is opened with; kept, because a rebuild opens it again.
#[derive(Clone)]
pub(crate) struct Config {
    /// The libraries of this build.
    pub(crate) libraries: &'static [crate::library::Entry],
    pub(crate) settings: Settings,
    pub(crate) kind: Kind,
    /// What a GPU must have for [`Kind::Best`].
    pub(crate) needs: Vec<Library>,
    /// Why [`Kind::Best`] is not a better device.
    pub(crate) passed_over: Vec<String>,
    pub(crate) slots: usize,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) staging_limit: u64,
    pub(crate) wait: Wait,
    pub(crate) in_flight: InFlight,
    pub(crate) policy: RestartPolicy,
    pub(crate) trace: Option<Arc<dyn Trace>>,
    pub(crate) timeline: Option<crate::timeline::Timeline>,
    pub(crate) flight: Option<crate::trace::FlightPlan>,
    pub(crate) before: Vec<Hook>,
    pub(crate) after: Vec<Hook>,
    pub(crate) on_out_of_memory: Option<OnOutOfMemory>,
    #[cfg(feature = "host")]
    pub(crate) pool: crate::host::HostPool,
    #[cfg(feature = "host")]
    pub(crate) plan: Option<crate::host::FaultPlan>,
    /// The device runs in a child process.
    pub(crate) isolated: bool,
    pub(crate) worker: WorkerSettings,
    pub(crate) timing: &'static Timing,
    /// The device name that errors show, if another process sets it.
    pub(crate) label: Option<String>,
}

impl Config {
    /// If `error` is a lack of memory, asks the user's callback to free what is missing. True if it is worth another
    /// try.
    pub(crate) fn made_room(&self, error: &Error) -> bool {
        let (Some(callback), Error::OutOfMemory { requested, free, .. }) = (&self.on_out_of_memory, error) else {
            return false;
        };
        // Enough bytes are free, but not in one piece: it is unknown how many would help.
        let missing = if free < requested { requested - free } else { *requested };
        catch_unwind(AssertUnwindSafe(|| callback(missing))).unwrap_or(false)
    }
}

/// How often one allocation calls `on_out_of_memory` at most: a callback that frees one buffer at a time is called
/// repeatedly.
pub(crate) const MOST_ASKED: usize = 64;

/// How a worker process is started and watched.
#[derive(Clone, Debug)]
pub(crate) struct WorkerSettings {
    /// The program to start instead of this executable.
    pub(crate) program: Option<std::path::PathBuf>,
    /// A worker that sends no heartbeat for this long is killed.
    pub(crate) heartbeat: Duration,
    /// A worker that runs one operation for longer is killed.
    pub(crate) watchdog: Option<Duration>,
    /// A second worker is kept ready, with its device open.
    pub(crate) standby: bool,
    /// How long a worker may take to open its device.
    pub(crate) patience: Duration,
    /// Added to its `oom_score_adj`: how likely the system kills it when memory runs out.
    pub(crate) oom_score: u16,
}
