//! Observing a device: hooks around every operation, counters, and the features `tracing` and `nvtx`.
//!
//! The feature `tracing` emits events with the target `windlass`: `enqueued` and `complete` for every operation, at the
//! level `TRACE`; and the phases of a device: `poisoned` (`WARN`), `rebuilding`, `healthy` again (`INFO`), `lost`
//! (`ERROR`). The feature `nvtx`, if its library is found, marks a range around each CUDA half, named after the label,
//! the kernel or the operation.

mod compile_stats;
mod counters;
mod flight;
mod hook;
mod info;
mod loss;
mod sink;

pub use compile_stats::CompileStats;
pub(crate) use counters::Counters;
pub use counters::Stats;
pub(crate) use flight::{FlightPlan, FlightRecorder};
pub(crate) use hook::{Hook, is_inside, refusal, refuse_inside_hook};
pub use info::{AllocationInfo, DeviceTime, OpInfo};
pub(crate) use info::{OpMetadata, next_number};
pub use loss::{Loss, Recovery};
pub(crate) use sink::{Event, Sink};
#[cfg(feature = "tracing")]
pub(crate) use sink::{tell_fallback, tell_phase};

use std::time::Duration;

/// Hooks around every operation of a device and on its failures, set by
/// [`DeviceBuilder::trace`](crate::DeviceBuilder::trace).
///
/// Hooks are called with no lock of the library held (but see below for collectives): the enqueue hooks on the thread
/// that submits, or on a helper for an operation that is enqueued later, and the completion hooks on the thread that
/// first sees the completion. After a failed enqueue no completion hook is called. A hook that panics is caught. On a
/// GPU and on an isolated device a short operation may complete, and another thread may call its completion hooks,
/// before [`after_enqueue`](Self::after_enqueue) is called. Without a trace the cost is one branch.
///
/// A hook may submit operations, for which the hooks are called as well, and may query the device. Whether it may wait
/// depends on the hook:
///
/// | hook | waits |
/// |---|---|
/// | [`before_enqueue`](Self::before_enqueue) | for everything: its operation does not count yet |
/// | [`after_enqueue`](Self::after_enqueue) | for other dispatches, but for nothing that includes its operation |
/// | [`before_complete`](Self::before_complete) | the same; for nothing on a thread of the host engine's pool |
/// | [`after_complete`](Self::after_complete) | for everything; for nothing on a thread of the host engine's pool |
///
/// In the two hooks in the middle the operation is in flight, and on the host engine it begins only when
/// [`after_enqueue`](Self::after_enqueue) has returned. So a wait that cannot end there fails at once with
/// [`Error::Unsupported`](crate::Error::Unsupported): [`Device::synchronize`](crate::Device::synchronize) and
/// [`Device::rebuild`](crate::Device::rebuild) of the same device; in [`after_enqueue`](Self::after_enqueue) a submission
/// at the bound of [`InFlight::Wait`](crate::op::InFlight::Wait); and on the host engine a wait for a dispatch that follows
/// the operation. A wait with a timeout for such a dispatch says at once that it is not ready.
///
/// Around the submission of a collective (feature `collective`) no other thread can submit one, so the hooks that are called
/// there must not wait for a thread that does; and to submit another, or to make or rebuild a communicator, fails in them
/// with [`Error::Unsupported`](crate::Error::Unsupported).
///
/// A hook must not wait for a lock that is held by a thread that waits for the same operation: that thread sees the
/// completion only after [`before_complete`](Self::before_complete). If a hook of an isolated device waits, or submits
/// under back-pressure, it may be called for other operations on the same thread before it returns.
#[expect(unused_variables, reason = "the names are documentation")]
pub trait Trace: Send + Sync {
    /// Before an operation is enqueued.
    fn before_enqueue(&self, op: &OpInfo) {}
    /// After an operation was enqueued. It is still in flight: see above for what the hook may wait for.
    fn after_enqueue(&self, op: &OpInfo) {}
    /// The completion of an operation was seen; no waiter has been woken yet.
    fn before_complete(&self, op: &OpInfo) {}
    /// An operation is complete. `latency` is the time from submission until its completion was seen.
    fn after_complete(&self, op: &OpInfo, latency: Duration) {}
    /// A buffer was allocated; called on the thread that asked for it, which may wait in this hook. Not called for buffers
    /// that an operation makes while it runs.
    fn allocated(&self, buffer: &AllocationInfo) {}
    /// Whether [`OpInfo::ran`] is needed at the end of an operation; it costs two events on the device for each
    /// operation. Called once, when the device is opened.
    fn wants_device_times(&self) -> bool {
        false
    }
    /// The device has failed, or its worker was lost, and recovery begins. Called on the supervisor's thread. (For a
    /// device that cannot recover, such as a GPU in this process, see [`health`](crate::Device::health).)
    fn lost(&self, loss: &Loss<'_>) {}
    /// The next generation was admitted. Called on the supervisor's thread, before the hooks that run after a rebuild.
    fn recovered(&self, recovery: &Recovery<'_>) {}
}
