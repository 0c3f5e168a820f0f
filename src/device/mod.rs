//! The third floor: devices, cheap handles that stay valid through every rebuild, and what is made of them: the path of a
//! dispatch, copies, tensors, programs, pipelines, placement, timelines, supervision, and the worker process (`worker`). It may use the
//! engines and the core, and no library.
//!
//! A [`Device`] is a handle to an `Inner`, which holds one pointer to the current epoch; the supervisor swaps it. The
//! handle also carries per-call options, so every front made from it (`device.timed().blas()`) has them.
//!
//! `builder.rs` and `isolation.rs`: the settings. `open.rs`: functions that open a device. `inner.rs`: what all handles
//! share. `engine.rs`: the enum of engines. `libraries.rs`: the versions of its libraries. `memory.rs`: allocation
//! of buffers; `memory_report.rs`: what memory is used for. `managed`, `growing`: memory with properties of its own.

mod builder;
mod config;
pub(crate) mod copy;
pub(crate) mod dispatch;
pub(crate) mod engine;
#[cfg(feature = "external")]
pub mod external;
pub mod growing;
mod inner;
mod isolation;
#[cfg(feature = "cuda")]
mod libraries;
pub(crate) mod library;
pub mod managed;
mod memory;
pub mod memory_report;
pub(crate) mod mirrored;
mod open;
pub mod pipeline;
pub mod placement;
pub mod program;
pub(crate) mod supervisor;
pub mod tensor;
pub mod timeline;
pub mod worker;

use crate::core::device_info::{DeviceInfo, DeviceKind, MemoryInfo};
use crate::core::dispatch::Options;
use crate::core::dispatch::Wait;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::health::{Health, Phase};
use crate::core::sync::{Arc, Ordering};
use crate::core::trace::{Stats, refuse_inside_hook};
pub use builder::DeviceBuilder;
pub(crate) use config::Config;
pub(crate) use inner::Inner;
#[cfg(all(feature = "cuda", target_os = "linux"))]
pub(crate) use libraries::here as library_here;

use std::time::Duration;

/// A handle to one device: a GPU, or the CPU.
///
/// Cheap to clone, `Send + Sync`, and valid through every rebuild of the device. Several devices may be open at once,
/// even several host devices, or the same GPU twice (their buffers cannot be mixed).
///
/// ```
/// # fn main() -> Result<(), windlass::Error> {
/// use windlass::{Device, Gemm};
/// let device = Device::best()?; // the first healthy GPU, else the CPU
/// let a = device.tensor([2, 2], [1.0f32, 2.0, 3.0, 4.0])?;
/// let c = device.uninit([2, 2])?;
/// let c = device.blas().gemm(Gemm::new(), &a, &a, c)?.await_result()?;
/// assert_eq!(device.to_vec(&c)?, [7.0, 10.0, 15.0, 22.0]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
    options: Options,
    /// The epoch that this handle is bound to. For the supervisor's handle while it restores data: an epoch that is not
    /// admitted yet. For a recorder's handle: the recording.
    bound: Option<Arc<Epoch>>,
}

/// What it is, and how it is.
impl Device {
    pub(crate) fn from_inner(inner: Arc<Inner>) -> Self {
        Device { inner, options: Options::default(), bound: None }
    }

    /// A handle that works in `epoch` although it is not admitted yet.
    pub(crate) fn bound_to(inner: Arc<Inner>, epoch: Arc<Epoch>) -> Self {
        Device { inner, options: Options::default(), bound: Some(epoch) }
    }

    /// A handle that works in `epoch`; `None` if its device was dropped.
    pub(crate) fn of_epoch(epoch: &Arc<Epoch>) -> Option<Self> {
        let inner = epoch.owner.upgrade()?.into_any().downcast::<Inner>().ok()?;
        Some(Self::bound_to(inner, epoch.clone()))
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

    /// The epoch that queries go to. For a recorder's handle, the real epoch that it records for.
    #[cfg(feature = "cuda")]
    pub(crate) fn asked(&self) -> Arc<Epoch> {
        let epoch = self.epoch();
        match engine::Engine::for_epoch(&epoch) {
            engine::Engine::Tape(tape) => tape.real().clone(),
            _ => epoch,
        }
    }

    /// A handle whose calls use one of the streams for programs.
    #[cfg(feature = "cuda")]
    pub(crate) fn seated(&self, seat: u8) -> Self {
        Device { options: Options { seat: Some(seat), ..self.options }, ..self.clone() }
    }

    /// A handle whose calls are recorded in `epoch`.
    pub(crate) fn recording_in(&self, epoch: Arc<Epoch>) -> Self {
        Device { bound: Some(epoch), ..self.clone() }
    }

    /// The epoch in which its calls are recorded, if they are.
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

    /// A handle for the later pieces of a transfer in pieces.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    pub(crate) fn going_on(&self) -> Self {
        Device { options: Options { goes_on: true, ..self.options }, ..self.clone() }
    }

    /// A handle whose calls measure the time they take on the device; see
    /// [`PendingDispatch::await_timed`](crate::PendingDispatch::await_timed).
    #[must_use = "this returns a new handle and leaves the original one unchanged"]
    pub fn timed(&self) -> Self {
        Device { options: Options { timed: true, ..self.options }, ..self.clone() }
    }

    /// A handle whose waits follow `how` instead of the device's policy.
    #[must_use = "this returns a new handle and leaves the original one unchanged"]
    pub fn waiting(&self, how: Wait) -> Self {
        Device { options: Options { wait: Some(how), ..self.options }, ..self.clone() }
    }

    /// A handle whose operations carry `label` in traces, NVTX ranges, and the last operations that an error lists; and
    /// whose buffers carry it in [`memory_report`](Self::memory_report), [`Error::OutOfMemory`] and timelines.
    #[must_use = "this returns a new handle and leaves the original one unchanged"]
    pub fn labelled(&self, label: &'static str) -> Self {
        Device { options: Options { label: Some(crate::core::intern::name(label)), ..self.options }, ..self.clone() }
    }

    /// The device's name: `host:0`, `cuda:1`. A shared value, which outlives the handle.
    pub fn name(&self) -> Arc<str> {
        self.inner.label.clone()
    }

    /// Whether the device runs in a child process: see [`DeviceBuilder::isolated`].
    pub fn is_isolated(&self) -> bool {
        self.inner.config.isolated
    }

    /// The process that an isolated device runs in now. It changes when the device is rebuilt. `None` for any other
    /// device.
    pub fn worker_pid(&self) -> Option<u32> {
        #[cfg(target_os = "linux")]
        return self.epoch().engine.as_worker().map(crate::engines::worker::WorkerEngine::pid);
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// What kind of device it is.
    pub fn kind(&self) -> DeviceKind {
        self.inner.info.kind
    }

    /// Name, compute capability, memory, UUID, PCI address, the driver's version. For the version of a library, see
    /// `library_version`. A shared value, which outlives the handle.
    pub fn info(&self) -> Arc<DeviceInfo> {
        self.inner.info.clone()
    }

    /// The generation: how often the device was rebuilt.
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
    /// [`Error::DeviceLost`] when the device cannot be recovered; [`Error::Timeout`]; [`Error::Unsupported`] from
    /// inside an operation's host half, and from a hook that a rebuild of this device waits for.
    pub fn wait_healthy(&self, limit: Duration) -> Result<Health> {
        crate::core::inside::refuse_inside("a wait for the device")?;
        self.inner.supervisor.wait_healthy(&self.inner, limit)
    }

    /// Runs `work`; when the device fails in the middle of it, waits until the device is healthy again and runs `work`
    /// from its beginning. So `work` must start from data in host memory, and make its buffers itself.
    ///
    /// Runs it again only if the error says that [data was lost](Error::is_data_lost) and the device has in fact failed
    /// or been rebuilt since `work` began. The restart policy limits how often. Each recovery may take up to a minute.
    ///
    /// # Errors
    /// Any other error of `work`; [`Error::DeviceLost`] when the device cannot be recovered; [`Error::Timeout`] when a
    /// recovery takes too long.
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
            self.wait_healthy(self.inner.config.engine.timing.recovery.retrying)?;
        }
    }

    /// Rebuilds the device: waits for what is in flight (at most `deadline`), releases all that the device owns, and
    /// makes it again in the next generation. Handles of the device stay valid. Data does not survive: using an old
    /// buffer fails with [`Error::GpuRefStale`]. The hooks run as after a fault.
    ///
    /// The worker of an isolated device ends before the next one is started, which may need the same GPU. If the next
    /// one fails, further attempts follow as the restart policy allows.
    ///
    /// On CUDA this never resets the primary context, which other code in the process may be using.
    ///
    /// # Errors
    /// [`Error::Timeout`] when the work in flight did not end in time; then nothing has changed. [`Error::DeviceLost`]
    /// when the device is lost, which a rebuild in this process cannot repair. [`Error::ContextPoisoned`] when another
    /// rebuild is under way. [`Error::Unsupported`] from inside an operation's host half, and from a hook that a
    /// rebuild of this device waits for, and from the hooks [`after_enqueue`](crate::trace::Trace::after_enqueue) and
    /// [`before_complete`](crate::trace::Trace::before_complete) of this device.
    pub fn rebuild(&self, deadline: Duration) -> Result<()> {
        crate::core::inside::refuse_inside("a rebuild")?;
        refuse_inside_hook("a rebuild", self.inner.counters.trace())?;
        self.inner.supervisor.rebuild(&self.inner, deadline)
    }

    /// The counters of the device.
    pub fn stats(&self) -> Stats {
        self.inner.stats()
    }

    /// The device's memory: free, total, in use, limit; for a GPU also what its pool holds.
    ///
    /// # Errors
    /// The device's own error when it cannot be queried.
    pub fn memory(&self) -> Result<MemoryInfo> {
        self.inner.memory(&self.epoch())
    }

    /// Waits until everything submitted so far is complete, at most `limit`. It does not wait for work that other
    /// threads submit meanwhile, nor for work of a generation that a fault has ended. It spins as the handle's [`Wait`]
    /// says ([`waiting`](Self::waiting)), and then polls with pauses.
    ///
    /// # Errors
    /// [`Error::Timeout`], or the device's own error when it died; [`Error::Unsupported`] from inside an operation's
    /// host half, and from the hooks [`after_enqueue`](crate::trace::Trace::after_enqueue) and
    /// [`before_complete`](crate::trace::Trace::before_complete) of this device, whose operation is still in flight.
    pub fn synchronize(&self, limit: Duration) -> Result<()> {
        crate::core::inside::refuse_inside("a wait for the device")?;
        refuse_inside_hook("a wait for the device", self.inner.counters.trace())?;
        let epoch = self.epoch();
        if self.inner.synchronize(&epoch, limit, self.wait_policy())? {
            Ok(())
        } else {
            Err(Error::Timeout { waited: limit, site: crate::core::error::Site::none() })
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

// Every public handle can move between threads and be shared by them.
const _: () = {
    const fn anywhere<T: Send + Sync>() {}
    anywhere::<Device>();
    anywhere::<DeviceBuilder>();
    anywhere::<crate::core::buffer::DeviceBuffer<f32>>();
    anywhere::<crate::core::buffer::GpuRef<f32>>();
    anywhere::<crate::core::dispatch::PendingDispatch<crate::core::buffer::DeviceBuffer<f32>>>();
    anywhere::<crate::core::dispatch::PendingDispatch<Vec<f32>>>();
    anywhere::<crate::core::dispatch::PendingHost<f32>>();
    anywhere::<crate::core::error::Rejected<(crate::core::buffer::DeviceBuffer<f32>,)>>();
    anywhere::<Error>();
};
