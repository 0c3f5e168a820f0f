//! How a device is opened.

use super::Device;
use super::config::Config;
use crate::core::clock::Timing;
use crate::core::dispatch::Wait;
use crate::core::error::{Error, Result};
use crate::core::settings::Settings;
use crate::core::sync::Arc;
use crate::core::trace::Trace;
use crate::device::dispatch::InFlight;
use crate::device::supervisor::RestartPolicy;
use crate::engines::config::{EngineConfig, Kind, WorkerSettings};
use crate::engines::loader::Library;
use std::path::PathBuf;
use std::time::Duration;

/// The variable that names the device of a program.
const DEVICE_VARIABLE: &str = "WINDLASS_DEVICE";

/// Opens a [`Device`] with settings of your own.
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Device, HostPool, Wait};
/// let device = Device::builder().host().host_pool(HostPool::Threads(2)).wait(Wait::Block).memory_limit(1 << 30).open()?;
/// assert!(device.zeros::<f32>(1 << 29).is_err()); // 2 GiB
/// # Ok(()) }
/// ```
#[must_use]
#[derive(Clone)]
pub struct DeviceBuilder {
    pub(super) config: Config,
}

/// Shows the settings; of the caller's callbacks only whether, or how many, there are.
impl std::fmt::Debug for DeviceBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Config { engine, wait, in_flight, policy, isolated, .. } = &self.config;
        let EngineConfig { kind, slots, memory_limit, staging_limit, .. } = engine;
        let mut all = f.debug_struct("DeviceBuilder");
        all.field("kind", kind).field("slots", slots).field("memory_limit", memory_limit);
        all.field("staging_limit", staging_limit).field("wait", wait).field("in_flight", in_flight);
        all.field("restart_policy", policy).field("isolated", isolated);
        if *isolated {
            all.field("worker", &self.config.engine.worker);
        }
        #[cfg(feature = "host")]
        all.field("host_pool", &self.config.engine.pool).field("fault_plan", &self.config.engine.plan.is_some());
        let hooks = self.config.before.len() + self.config.after.len();
        all.field("hooks", &hooks).field("trace", &self.config.trace.is_some()).finish_non_exhaustive()
    }
}

impl DeviceBuilder {
    /// A builder for devices that use these libraries. [`best`](Self::best) passes over a GPU without `needs`.
    pub(crate) fn new(libraries: &'static [crate::engines::library::Entry], needs: &[Library]) -> Self {
        DeviceBuilder {
            config: Config {
                engine: EngineConfig {
                    libraries,
                    kind: Kind::Best,
                    slots: 16,
                    memory_limit: None,
                    staging_limit: 4 << 30,
                    on_out_of_memory: None,
                    #[cfg(feature = "host")]
                    pool: crate::engines::host::HostPool::default(),
                    #[cfg(feature = "host")]
                    plan: None,
                    worker: WorkerSettings {
                        program: None,
                        heartbeat: Duration::from_secs(10),
                        watchdog: None,
                        standby: false,
                        patience: Duration::from_secs(60),
                        oom_score: 0,
                    },
                    label: None,
                    timing: Timing::standard(),
                },
                needs: needs.to_vec(),
                passed_over: Vec::new(),
                wait: Wait::default(),
                in_flight: InFlight::default(),
                policy: RestartPolicy::default(),
                trace: None,
                timeline: None,
                flight: None,
                before: Vec::new(),
                after: Vec::new(),
                settings: Settings::default(),
                isolated: false,
            },
        }
    }

    /// The settings of the libraries' fronts.
    pub(crate) fn settings(&mut self) -> &mut Settings {
        &mut self.config.settings
    }

    /// The libraries of this build.
    pub(crate) fn libraries(&self) -> &'static [crate::engines::library::Entry] {
        self.config.engine.libraries
    }

    /// Opens the CPU.
    pub fn host(mut self) -> Self {
        self.config.engine.kind = Kind::Host;
        self
    }

    /// Opens the GPU with this ordinal.
    pub fn cuda(mut self, ordinal: usize) -> Self {
        self.config.engine.kind = Kind::Cuda(ordinal);
        self
    }

    /// Opens the first healthy GPU, else the CPU. The default. See [`Device::best`].
    pub fn best(mut self) -> Self {
        self.config.engine.kind = Kind::Best;
        self
    }

    /// As [`best`](Self::best), but the GPUs count only if the files of all these libraries are found (cuBLAS alone, unless
    /// set). See [`Device::best_with`].
    pub fn best_with(mut self, libraries: &[Library]) -> Self {
        self.config.needs = libraries.to_vec();
        self.best()
    }

    /// Opens the device that `text` names: `host`, `cuda`, `cuda:N` or `best`. `:isolated` may follow
    /// ([`isolated`](Self::isolated)), and after it `:standby` ([`standby`](Self::standby)): `cuda:0:isolated:standby`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for any other text.
    pub fn named(self, text: &str) -> Result<Self> {
        self.named_by("device", text)
    }

    /// The argument or variable `argument` holds `text`.
    fn named_by(self, argument: &'static str, text: &str) -> Result<Self> {
        let name = text.trim();
        let unknown = || {
            let known = "`host`, `cuda`, `cuda:N` or `best`, optionally followed by `:isolated` or `:isolated:standby`";
            Error::invalid(argument, format!("`{name}` is not a device name; use {known}"))
        };
        let (rest, standby) = name.strip_suffix(":standby").map_or((name, false), |rest| (rest, true));
        let (device, isolated) = rest.strip_suffix(":isolated").map_or((rest, false), |rest| (rest, true));
        if standby && !isolated {
            return Err(unknown());
        }
        let builder = match device {
            "" | "best" => self.best(),
            "host" => self.host(),
            "cuda" => self.cuda(0),
            other => {
                let ordinal = other.strip_prefix("cuda:").and_then(|n| n.parse().ok());
                self.cuda(ordinal.ok_or_else(unknown)?)
            }
        };
        Ok(match (isolated, standby) {
            (false, _) => builder,
            (true, false) => builder.isolated(),
            (true, true) => builder.isolated().standby(true),
        })
    }

    /// Opens the device that the environment variable `WINDLASS_DEVICE` names, or [`best`](Self::best) when it is not
    /// set.
    ///
    /// # Errors
    /// As [`named`](Self::named); the argument that the error names is the variable.
    pub fn from_env(self) -> Result<Self> {
        match std::env::var_os(DEVICE_VARIABLE) {
            // What is not UTF-8 is no device's name either; the error shows what can be shown of it.
            Some(text) => self.named_by(DEVICE_VARIABLE, &text.to_string_lossy()),
            None => Ok(self.best()),
        }
    }

    /// The number of stream slots of a GPU; 16 unless set. Any number of dispatches may be in flight. Up to this many
    /// can each have a stream of their own; more share streams.
    pub fn slots(mut self, slots: usize) -> Self {
        self.config.engine.slots = slots;
        self
    }

    /// The most bytes that buffers may use; on a host device also what kernels on the CPU need for their checks and blocks. Unless
    /// set: all of a GPU's memory but 1 GiB (at least half of it), all of a host's memory.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.config.engine.memory_limit = Some(bytes);
        self
    }

    /// The most bytes of pinned host memory that staging may use (CUDA); 4 GiB unless set.
    pub fn staging_limit(mut self, bytes: u64) -> Self {
        self.config.engine.staging_limit = bytes;
        self
    }

    /// How threads wait for dispatches.
    pub fn wait(mut self, wait: Wait) -> Self {
        self.config.wait = wait;
        self
    }

    /// The bound on dispatches in flight.
    pub fn in_flight(mut self, bound: InFlight) -> Self {
        self.config.in_flight = bound;
        self
    }

    /// How often the supervisor may rebuild the device.
    pub fn restart_policy(mut self, policy: RestartPolicy) -> Self {
        self.config.policy = policy;
        self
    }

    /// Hooks around every operation.
    pub fn trace(mut self, trace: Arc<dyn Trace>) -> Self {
        self.config.trace = Some(trace);
        self
    }

    /// Records what the device does and when, as a timeline for Perfetto: see [`timeline`](crate::timeline). The hooks
    /// of [`trace`](Self::trace) still run.
    pub fn timeline(mut self, recorder: &crate::device::timeline::Timeline) -> Self {
        self.config.timeline = Some(recorder.clone());
        self
    }

    /// Remembers the last `operations` operations of the device, and writes them to a file when the device fails:
    /// names, kernels and labels, the types and lengths of their operands, and which of them were not known to be
    /// complete. It writes no data of the operands. A GPU fault does not name the operation that caused it; this list
    /// shows the candidates. Each failure replaces the file, before recovery begins, so it exists when the device is
    /// healthy again, but perhaps not yet when the first error is returned. A failure to write it is not reported. Only its owner
    /// can read the file.
    ///
    /// ```
    /// # #[cfg(feature = "host")] fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use windlass::{Device, FaultPlan};
    /// let file = std::env::temp_dir().join(format!("last-operations-{}.txt", std::process::id()));
    /// let plan = FaultPlan::new().poison(1); // the second operation ends the device, as an illegal address would
    /// let device = Device::builder().host().fault_plan(plan).flight_recorder(32, &file).open()?;
    /// let x = device.upload(vec![1.0f32; 8])?.into_output();
    /// assert!(device.labelled("layer 3").blas().scal(2.0, x)?.await_result().is_err());
    /// device.wait_healthy(std::time::Duration::from_secs(60))?; // rebuilt, so the file is there
    /// let told = std::fs::read_to_string(&file)?;
    /// assert!(told.contains("blas.scal \"layer 3\" writes f32[8]"), "{told}");
    /// # std::fs::remove_file(file)?;
    /// # Ok(()) }
    /// # #[cfg(not(feature = "host"))] fn main() {}
    /// ```
    pub fn flight_recorder(mut self, operations: usize, file: impl Into<PathBuf>) -> Self {
        self.config.flight = Some(crate::core::trace::FlightPlan { most: operations.max(1), path: file.into() });
        self
    }

    /// Adds a hook that is called after every rebuild, before any other code can use the new generation: it can upload
    /// data again. The handle that it gets works in the new generation. An error counts as a failed rebuild.
    ///
    /// The generation is not in use yet while the hook runs. A thread that still computes in the old generation may
    /// pick up what the hook stores; the buffer's [`generation`](crate::DeviceBuffer::generation) tells such a thread
    /// which one it has. A hook cannot wait for the device to be healthy, or rebuild it: that would wait for the hook
    /// itself, and is refused with [`Error::Unsupported`](crate::Error::Unsupported).
    pub fn before_admission(mut self, hook: impl Fn(&Device) -> Result<()> + Send + Sync + 'static) -> Self {
        self.config.before.push(Arc::new(hook));
        self
    }

    /// Adds a hook that is called after every rebuild, when the new generation is in use. An error is counted and
    /// otherwise ignored.
    pub fn after_admission(mut self, hook: impl Fn(&Device) -> Result<()> + Send + Sync + 'static) -> Self {
        self.config.after.push(Arc::new(hook));
        self
    }

    /// Called when an allocation fails, because device memory has run out or the [limit](Self::memory_limit) is
    /// reached, after cached memory was freed and work in flight was waited for, up to half a second. The argument is
    /// the number of missing bytes; where enough bytes are free but not in one piece, the number requested. Return true
    /// when something was freed: the allocation is tried again. If it fails again, the callback is called again, until
    /// it returns false or has been called 64 times. Called with no lock held, on the allocating thread: it may use the
    /// device. A panic counts as false.
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use std::sync::{Arc, Mutex};
    /// use windlass::{Device, Tensor};
    /// let cache: Arc<Mutex<Vec<Tensor<u8>>>> = Arc::default();
    /// let behind = cache.clone();
    /// let drop_one = move |_missing| behind.lock().is_ok_and(|mut cache| cache.pop().is_some());
    /// let device = Device::builder().host().memory_limit(1 << 20).on_out_of_memory(drop_one).open()?;
    /// for _ in 0..4 {
    ///     let kept = device.zeros(200_000)?;
    ///     cache.lock().unwrap().push(kept);
    /// }
    /// device.zeros::<u8>(600_000)?; // two of the four gave way
    /// assert_eq!(cache.lock().unwrap().len(), 2);
    /// # Ok(()) }
    /// ```
    ///
    /// On an isolated device it is called when the limit is reached. If the worker's GPU runs out of memory, the
    /// operation that uses the buffer fails instead.
    pub fn on_out_of_memory(mut self, callback: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        self.config.engine.on_out_of_memory = Some(Arc::new(callback));
        self
    }

    /// Where a host device runs its operations.
    #[cfg(feature = "host")]
    pub fn host_pool(mut self, pool: crate::engines::host::HostPool) -> Self {
        self.config.engine.pool = pool;
        self
    }

    /// Fault injection into a host device.
    #[cfg(feature = "host")]
    pub fn fault_plan(mut self, plan: crate::engines::host::FaultPlan) -> Self {
        self.config.engine.plan = Some(plan);
        self
    }

    /// Other limits, and another clock: for tests. Not part of the API.
    #[doc(hidden)]
    pub fn timing(mut self, timing: Timing) -> Self {
        self.config.engine.timing = timing.keep();
        self
    }

    /// The device name that errors show. In a worker it is the name in the parent process.
    #[allow(dead_code, reason = "for workers, and for libraries that open devices of their own")]
    pub(crate) fn labelled(mut self, label: Option<String>) -> Self {
        self.config.engine.label = label;
        self
    }

    /// Opens the device.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for settings that cannot work; [`Error::LibraryMissing`] when CUDA is asked for and
    /// not found; the driver's own errors.
    pub fn open(self) -> Result<Device> {
        #[cfg_attr(not(feature = "host"), expect(unused_mut, reason = "only a host device has a plan"))]
        let mut config = self.config;
        if config.engine.slots == 0 {
            return Err(Error::invalid("slots", "0 stream slots cannot run anything, at least 1 is needed"));
        }
        if config.engine.slots > 1024 {
            return Err(Error::invalid(
                "slots",
                format!("{} stream slots, at most 1024 are possible", config.engine.slots),
            ));
        }
        if config.engine.memory_limit == Some(0) {
            return Err(Error::invalid("memory_limit", "a limit of 0 bytes holds nothing, at least 1 is needed"));
        }
        if config.engine.staging_limit == 0 {
            return Err(Error::invalid("staging_limit", "a limit of 0 bytes cannot move data, at least 1 is needed"));
        }
        if matches!(config.in_flight, InFlight::Wait(0) | InFlight::Busy(0)) {
            return Err(Error::invalid("in_flight", "a bound of 0 allows no dispatch, at least 1 is needed"));
        }
        let worker = &config.engine.worker;
        for (name, limit) in [
            ("heartbeat", Some(worker.heartbeat)),
            ("watchdog", worker.watchdog),
            ("worker_patience", Some(worker.patience)),
        ] {
            if limit.is_some_and(|limit| limit < Duration::from_millis(1)) {
                return Err(Error::invalid(name, format!("{limit:?} is too short, at least 1 ms is needed")));
            }
        }
        #[cfg(feature = "host")]
        {
            config.engine.plan = config.engine.plan.as_ref().map(crate::engines::host::FaultPlan::afresh);
        }
        Device::open(config)
    }
}
