//! Seeing what happens: hooks around every operation, counters, and the features `tracing` and `nvtx`.

mod counters;
mod info;
mod sink;

pub(crate) use counters::Counters;
pub use counters::Stats;
pub use info::OpInfo;
pub(crate) use info::Told;
pub(crate) use sink::{Event, Sink};

use std::time::Duration;

/// Hooks around every operation of a device, set by [`DeviceBuilder::trace`](crate::DeviceBuilder::trace).
///
/// Called with no lock of the library held, on the thread that submits (the enqueue hooks) or on the one that first
/// learns of the completion (the completion hooks). After a failed enqueue no completion hook fires. A hook that panics
/// is caught. Unset, tracing costs one branch.
#[expect(unused_variables, reason = "the names are documentation")]
pub trait Trace: Send + Sync {
    /// Before an operation is enqueued.
    fn before_enqueue(&self, op: &OpInfo) {}
    /// After it was.
    fn after_enqueue(&self, op: &OpInfo) {}
    /// Its completion was seen; nobody was told yet.
    fn before_complete(&self, op: &OpInfo) {}
    /// It is complete. `latency` is the time from submission until its completion was seen.
    fn after_complete(&self, op: &OpInfo, latency: Duration) {}
}
