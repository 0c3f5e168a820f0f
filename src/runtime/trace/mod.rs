//! Seeing what happens: hooks around every operation, counters, and the features `tracing` and `nvtx`.
//!
//! With the feature `tracing`, events of the target `windlass`: `enqueued` and `complete` of every operation, at the level
//! `TRACE`; and what becomes of a device: `poisoned` (`WARN`), `rebuilding`, `healthy` again (`INFO`), `lost` (`ERROR`).
//! With `nvtx`, where its library is found, a range around each CUDA half, named for the label, the kernel or the
//! operation.

mod compile_stats;
mod counters;
mod flight;
mod info;
mod loss;
mod sink;

pub use compile_stats::CompileStats;
pub(crate) use counters::Counters;
pub use counters::Stats;
pub(crate) use flight::{FlightPlan, FlightRecorder};
pub use info::{DeviceTime, OpInfo};
pub(crate) use info::{OpMetadata, next_number};
pub use loss::{Loss, Recovery};
#[cfg(feature = "tracing")]
pub(crate) use sink::tell_phase;
pub(crate) use sink::{Event, Sink};

use std::time::Duration;

/// Hooks around every operation of a device and on its failures, set by [`DeviceBuilder::trace`](crate::DeviceBuilder::trace).
///
/// Called with no lock of the library held, on the thread that submits (the enqueue hooks) or on the one that first
/// learns of the completion (the completion hooks). After a failed enqueue no completion hook fires. A hook that panics
/// is caught. A hook may wait, but not for a lock of a thread that waits for the same operation: that thread learns of the
/// completion only after [`before_complete`](Self::before_complete). On a GPU and on an isolated device a short operation may
/// complete, and another thread may call its completion hooks, before the submitting thread calls
/// [`after_enqueue`](Self::after_enqueue). A hook of an isolated device that waits, or that submits under back-pressure, may be
/// called for other operations on the same thread before it returns. Without a trace the cost is one branch.
#[expect(unused_variables, reason = "the names are documentation")]
pub trait Trace: Send + Sync {
    /// Before an operation is enqueued.
    fn before_enqueue(&self, op: &OpInfo) {}
    /// After it was.
    fn after_enqueue(&self, op: &OpInfo) {}
    /// Its completion was seen, and no waiter has been woken yet.
    fn before_complete(&self, op: &OpInfo) {}
    /// It is complete. `latency` is the time from submission until its completion was seen.
    fn after_complete(&self, op: &OpInfo, latency: Duration) {}
    /// Whether [`OpInfo::ran`] is to be known at the end of an operation, which takes the device two events for each. Asked when
    /// the device is opened.
    fn wants_device_times(&self) -> bool {
        false
    }
    /// The device has failed, or its worker was lost, and recovery begins. On the supervisor's thread. (For a device that
    /// cannot recover, as a GPU in this process, see [`health`](crate::Device::health).)
    fn lost(&self, loss: &Loss<'_>) {}
    /// The next generation was admitted. On the supervisor's thread, before the hooks that run after a rebuild.
    fn recovered(&self, recovery: &Recovery<'_>) {}
}
