//! Devices: cheap handles that live through every rebuild.
//!
//! A [`Device`] is a handle to an `Inner`, which holds one pointer to the current epoch; the supervisor swaps it. The
//! handle also carries per-call options, so every front made from it (`device.timed().blas()`) has them.
//!
//! `builder.rs` has the settings, `open.rs` the ways to a device, `inner.rs` what all handles share, `info.rs` what a device
//! says of itself, `libraries.rs` which libraries it works with, `memory.rs` how buffers are made.

mod builder;
mod config;
mod info;
mod inner;
mod isolation;
#[cfg(feature = "cuda")]
mod libraries;
mod memory;
mod open;
mod settings;

pub use builder::DeviceBuilder;
pub(crate) use config::{Config, Kind, MOST_ASKED, WorkerSettings};
pub use info::{DeviceInfo, DeviceKind, MemoryInfo, PoolInfo};
pub(crate) use inner::{Inner, Opened};
#[cfg(all(feature = "cuda", target_os = "linux"))]
pub(crate) use libraries::here as library_here;
pub(crate) use memory::is_patient;
pub(crate) use settings::Settings;

use crate::dispatch::Wait;
use crate::engine::Epoch;
use crate::supervisor::{Health, Phase};
use crate::sync::{Arc, Ordering};
use crate::trace::Stats;
use crate::{Error, Result};
use std::time::Duration;

/// What one handle asks of its calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) wait: Option<Wait>,
    pub(crate) timed: bool,
    pub(crate) label: Option<&'static str>,
    /// It goes on with what was admitted already, which the bound on work in flight has let in as a whole.
    pub(crate) goes_on: bool,
    /// Of a program, which keeps to one stream of a GPU.
    pub(crate) seat: Option<u8>,
}

/// A handle to one device: a GPU, or the CPU.
///
/// Cheap to clone, `Send + Sync`, and good through every rebuild of the device. Several devices may be open at once,
/// also several host devices, and also the same GPU twice (their buffers do not mix).
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Device, Gemm};
/// let device = Device::best()?; // the first healthy GPU, else the CPU
/// let a = device.upload(vec![1.0f32, 3.0, 2.0, 4.0])?.into_output(); // column-major: [[1, 2], [3, 4]]
/// let c = device.zeros::<f32>(4)?;
/// let c = device.blas().gemm(Gemm::new(2, 2, 2), &a, &a, c)?.await_result()?;
/// assert_eq!(device.download(&c)?.await_result()?, [7.0, 15.0, 10.0, 22.0]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
    options: Options,
    /// Bound to one epoch, admitted or not: the supervisor's own handle while it puts data back. Or a recorder's.
    bound: Option<Arc<Epoch>>,
}

impl Device {
    pub(crate) fn from_inner(inner: Arc<Inner>) -> Self {
        Device { inner, options: Options::default(), bound: None }
    }

    /// A handle that works in `epoch` although it is not admitted yet.
    pub(crate) fn bound_to(inner: Arc<Inner>, epoch: Arc<Epoch>) -> Self {
        Device { inner, options: Options::default(), bound: Some(epoch) }
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    pub(crate) fn epoch(&self) -> Arc<Epoch> {
        match &self.bound {
            // Until it is installed; from then on this is a handle like any other.
            Some(epoch) if epoch.generation > self.inner.now.load(Ordering::SeqCst) => epoch.clone(),
            Some(epoch) if epoch.engine.is_tape() => epoch.clone(),
            _ => self.inner.epoch(),
        }
    }

    /// The life that questions are put to: of a recorder, that which it records for.
    #[cfg(feature = "cuda")]
    pub(crate) fn asked(&self) -> Arc<Epoch> {
        let epoch = self.epoch();
        match &epoch.engine {
            crate::engine::Engine::Tape(tape) => tape.real().clone(),
            _ => epoch,
        }
    }

    /// A handle whose calls keep to one of the streams for programs.
    #[cfg(feature = "cuda")]
    pub(crate) fn seated(&self, seat: u8) -> Self {
        Device { options: Options { seat: Some(seat), ..self.options }, ..self.clone() }
    }

    /// A handle whose calls are recorded in `epoch`.
    pub(crate) fn recording_in(&self, epoch: Arc<Epoch>) -> Self {
        Device { bound: Some(epoch), ..self.clone() }
    }

    /// Where its calls are recorded.
    #[inline]
    pub(crate) fn recording(&self) -> Option<&Arc<Epoch>> {
        self.bound.as_ref().filter(|epoch| epoch.engine.is_tape())
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn wait_policy(&self) -> Wait {
        self.options.wait.unwrap_or(self.inner.config.wait)
    }

    /// A handle for the later pieces of what goes in pieces.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    pub(crate) fn going_on(&self) -> Self {
        Device { options: Options { goes_on: true, ..self.options }, ..self.clone() }
    }

    /// A handle whose calls measure the time they take on the device; see
    /// [`PendingDispatch::await_timed`](crate::PendingDispatch::await_timed).
    #[must_use = "it is another handle, and this one is as it was"]
    pub fn timed(&self) -> Self {
        Device { options: Options { timed: true, ..self.options }, ..self.clone() }
    }

    /// A handle whose waits follow `how` instead of the device's policy.
    #[must_use = "it is another handle, and this one is as it was"]
    pub fn waiting(&self, how: Wait) -> Self {
        Device { options: Options { wait: Some(how), ..self.options }, ..self.clone() }
    }

    /// A handle whose operations carry `label` in traces and NVTX ranges.
    #[must_use = "it is another handle, and this one is as it was"]
    pub fn labelled(&self, label: &'static str) -> Self {
        Device { options: Options { label: Some(label), ..self.options }, ..self.clone() }
    }

    /// `host:0`, `cuda:1`.
    pub fn name(&self) -> &str {
        &self.inner.label
    }

    /// It lives in a child process: see [`DeviceBuilder::isolated`].
    pub fn is_isolated(&self) -> bool {
        self.inner.config.isolated
    }

    /// The process that an isolated device lives in now. It changes when the device is rebuilt.
    pub fn worker_pid(&self) -> Option<u32> {
        #[cfg(target_os = "linux")]
        return self.epoch().engine.as_worker().map(crate::worker::WorkerEngine::pid);
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// What kind of device it is.
    pub fn kind(&self) -> DeviceKind {
        self.inner.info.kind
    }

    /// Name, compute capability, memory, UUID, PCI address, the driver's version. A library is asked for its own by
    /// `library_version`.
    pub fn info(&self) -> &DeviceInfo {
        &self.inner.info
    }

    /// The generation: how often it was rebuilt.
    pub fn generation(&self) -> u64 {
        self.epoch().generation
    }

    /// Its state: healthy, being rebuilt, or lost and why.
    pub fn health(&self) -> Health {
        self.inner.supervisor.health(&self.inner)
    }

    /// Waits until the device is healthy, at most `limit`.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] when it will not be; [`Error::Timeout`]; [`Error::Unsupported`] from inside an operation's
    /// host half, and in a hook that a rebuild of it waits for.
    pub fn wait_healthy(&self, limit: Duration) -> Result<Health> {
        crate::host::refuse_inside("a wait for the device")?;
        self.inner.supervisor.wait_healthy(&self.inner, limit)
    }

    /// Runs `work`; when the device fails in the middle of it, waits until the device is healthy again and runs `work`
    /// from its beginning. So `work` starts from what the caller has in host memory: it makes its buffers again.
    ///
    /// Runs it again only where the error says that [data was lost](Error::is_data_lost) and the device has in fact left
    /// the generation in which `work` began; how often that can be, the restart policy says. Each recovery may take up to
    /// a minute.
    ///
    /// # Errors
    /// Any other error of `work`; [`Error::DeviceLost`] when the device will not come back; [`Error::Timeout`].
    ///
    /// ```
    /// # #[cfg(feature = "host")] fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, FaultPlan};
    /// // The second operation poisons the context, as an illegal address does on a GPU.
    /// let device = Device::builder().host().fault_plan(FaultPlan::new().poison(1)).open()?;
    /// let norm = device.retrying(|device| {
    ///     let x = device.upload(vec![3.0f32, 4.0])?.into_output();
    ///     Ok(device.blas().nrm2(&x)?.await_result()?)
    /// })?;
    /// assert_eq!((norm, device.generation()), (5.0, 1));
    /// # Ok(()) }
    /// # #[cfg(not(feature = "host"))] fn main() {}
    /// ```
    pub fn retrying<T>(&self, mut work: impl FnMut(&Device) -> Result<T>) -> Result<T> {
        loop {
            let generation = self.generation();
            let error = match work(self) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let has_failed = || self.generation() != generation || self.health().phase != Phase::Healthy;
            if !error.is_data_lost() || !has_failed() {
                return Err(error);
            }
            self.wait_healthy(self.inner.config.timing.recovery.retrying)?;
        }
    }

    /// Rebuilds the device: drains what is in flight (at most `deadline`), gives back all that it owns and makes it
    /// anew in the next generation. Handles go on working; data does not survive, so old buffers answer
    /// [`Error::GpuRefStale`]. The hooks run as after a fault.
    ///
    /// The worker of an isolated device is gone before the next is started, which may need its GPU; should that one fail,
    /// it is tried again as the restart policy allows.
    ///
    /// On CUDA this never resets the primary context, which other code in the process may be using.
    ///
    /// # Errors
    /// [`Error::Timeout`] when the work in flight did not end in time; then nothing changed. [`Error::DeviceLost`] when
    /// the device is lost, which a rebuild in this process cannot repair. [`Error::Unsupported`] from inside an operation's
    /// host half, and in a hook that a rebuild of it waits for.
    pub fn rebuild(&self, deadline: Duration) -> Result<()> {
        crate::host::refuse_inside("a rebuild")?;
        self.inner.supervisor.rebuild(&self.inner, deadline)
    }

    /// Its counters.
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    /// Memory: free, total, in use, limit; of a GPU also what its pool holds.
    ///
    /// # Errors
    /// The device's own error when it cannot be asked.
    pub fn memory(&self) -> Result<MemoryInfo> {
        self.inner.memory(&self.epoch())
    }

    /// Waits until everything submitted so far is complete, at most `limit`. What others submit meanwhile is not waited
    /// for, nor what may still run of a generation that a fault has ended. It spins as the handle's [`Wait`] says
    /// ([`waiting`](Self::waiting)), and then looks now and then.
    ///
    /// # Errors
    /// [`Error::Timeout`], or the device's own error when it died; [`Error::Unsupported`] from inside an operation's host
    /// half.
    pub fn synchronize(&self, limit: Duration) -> Result<()> {
        crate::host::refuse_inside("a wait for the device")?;
        let epoch = self.epoch();
        if self.inner.synchronize(&epoch, limit, self.wait_policy())? {
            Ok(())
        } else {
            Err(Error::Timeout { waited: limit, site: crate::error::Site::none() })
        }
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Device {}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({}, generation {})", self.name(), self.generation())
    }
}
