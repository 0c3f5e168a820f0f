//! What an engine is opened with.

use crate::core::clock::{Stopwatch, Timing};
use crate::core::device_info::DeviceInfo;
use crate::core::error::Error;
use crate::core::sync::Arc;
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

/// The part of a device's configuration that its engine is opened with.
#[derive(Clone)]
pub(crate) struct EngineConfig {
    /// The libraries of this build.
    pub(crate) libraries: &'static [crate::engines::ffi::Entry],
    pub(crate) kind: Kind,
    pub(crate) slots: usize,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) staging_limit: u64,
    pub(crate) on_out_of_memory: Option<OnOutOfMemory>,
    #[cfg(feature = "host")]
    pub(crate) pool: crate::engines::host::HostPool,
    #[cfg(feature = "host")]
    pub(crate) plan: Option<crate::engines::host::FaultPlan>,
    pub(crate) worker: WorkerSettings,
    pub(crate) timing: &'static Timing,
    /// The device name that errors show, if another process sets it.
    pub(crate) label: Option<String>,
}

/// The result of opening an engine for the first time.
pub(crate) struct Opened<E> {
    pub(crate) engine: E,
    pub(crate) info: DeviceInfo,
    pub(crate) label: String,
    pub(crate) limit: u64,
}

impl<E> Opened<E> {
    /// The same with the engine as another type.
    pub(crate) fn map<F>(self, as_engine: impl FnOnce(E) -> F) -> Opened<F> {
        let Opened { engine, info, label, limit } = self;
        Opened { engine: as_engine(engine), info, label, limit }
    }
}

impl EngineConfig {
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

/// How often an allocation that found no memory polls at least: its time ([`Memory`](clock::Memory)) may have passed
/// while its thread did not run.
const LOOKS: usize = 100;

/// Whether an allocation that has waited since `start` and polled `looks` times polls again.
pub(crate) fn is_patient(timing: &Timing, start: Stopwatch, looks: usize) -> bool {
    looks < LOOKS || start.elapsed() < timing.memory.patience
}
