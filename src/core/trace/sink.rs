//! Where events go: the user's hooks, and `tracing` if that feature is on.

use super::hook::{Hook, Inside};
use super::{AllocationInfo, FlightRecorder, Loss, OpInfo, Recovery, Trace};
use crate::core::buffer::View;
use crate::core::sync::Arc;
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The events that hooks are called for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    BeforeEnqueue,
    AfterEnqueue,
    BeforeComplete,
    AfterComplete(Duration),
}

/// All listeners of a device's events.
pub(crate) struct Sink {
    users: SmallVec<[Arc<dyn Trace>; 2]>,
    /// Whether a hook asks when the device executed an operation.
    timed: bool,
    flight: Option<FlightRecorder>,
}

impl Sink {
    /// `None` if there are no listeners: then the hot path has only one branch.
    pub(crate) fn new(users: SmallVec<[Arc<dyn Trace>; 2]>, flight: Option<FlightRecorder>) -> Option<Self> {
        let wants =
            |user: &Arc<dyn Trace>| catch_unwind(AssertUnwindSafe(|| user.wants_device_times())).unwrap_or(false);
        let timed = users.iter().any(wants);
        let heard = !users.is_empty() || flight.is_some() || cfg!(feature = "tracing");
        heard.then_some(Sink { users, timed, flight })
    }

    /// An operation is about to be enqueued on these operands. The first ones are read; the number says how many.
    pub(crate) fn begin(&self, info: &OpInfo, operands: (&[View<'_>], usize)) {
        if let Some(flight) = &self.flight {
            flight.begun(info, operands);
        }
        self.emit(Event::BeforeEnqueue, info);
    }

    /// The device has failed.
    pub(crate) fn failed(&self, cause: &str) {
        if let Some(flight) = &self.flight {
            flight.write(cause);
        }
    }

    /// Whether device times must be measured.
    pub(crate) fn is_timed(&self) -> bool {
        self.timed
    }

    /// Whether there is a listener for operations. A `tracing` subscriber may come and go; without one, nothing is
    /// computed.
    pub(crate) fn is_heard(&self) -> bool {
        #[cfg(feature = "tracing")]
        let subscribed = tracing::level_filters::LevelFilter::current() >= tracing::Level::TRACE;
        #[cfg(not(feature = "tracing"))]
        let subscribed = false;
        !self.users.is_empty() || self.flight.is_some() || subscribed
    }

    /// Calls all listeners. No lock is held. A panic in a hook or a subscriber is caught: on a pool thread it would end
    /// the process, and in the middle of a completion the dispatch would never settle.
    pub(crate) fn emit(&self, event: Event, info: &OpInfo) {
        let _inside = match event {
            Event::AfterEnqueue => Some(Inside::enter(self, Hook::AfterEnqueue)),
            Event::BeforeComplete => Some(Inside::enter(self, Hook::BeforeComplete)),
            Event::BeforeEnqueue | Event::AfterComplete(_) => None,
        };
        #[cfg(feature = "tracing")]
        let _ = catch_unwind(AssertUnwindSafe(|| match event {
            Event::AfterEnqueue => tracing::trace!(
                target: "windlass", op = info.op, library = info.library, stream = info.stream, flops = info.flops,
                bytes = info.bytes, label = info.label, "enqueued"
            ),
            Event::AfterComplete(latency) => tracing::trace!(
                target: "windlass", op = info.op, library = info.library, stream = info.stream,
                latency_ns = latency.as_nanos() as u64, label = info.label, "complete"
            ),
            Event::BeforeEnqueue | Event::BeforeComplete => {}
        }));
        if let (Some(flight), Event::BeforeComplete) = (&self.flight, event) {
            flight.over(info.number);
        }
        self.tell(|user| match event {
            Event::BeforeEnqueue => user.before_enqueue(info),
            Event::AfterEnqueue => user.after_enqueue(info),
            Event::BeforeComplete => user.before_complete(info),
            Event::AfterComplete(latency) => user.after_complete(info, latency),
        });
    }
}

impl Sink {
    /// Calls the user's hooks for a failure; the feature `tracing` reports failures as phases.
    pub(crate) fn lost(&self, loss: &Loss<'_>) {
        self.tell(|user| user.lost(loss));
    }

    /// The same for a recovery.
    pub(crate) fn recovered(&self, recovery: &Recovery<'_>) {
        self.tell(|user| user.recovered(recovery));
    }

    /// A buffer was allocated.
    pub(crate) fn allocated(&self, buffer: &AllocationInfo) {
        self.tell(|user| user.allocated(buffer));
    }

    fn tell(&self, what: impl Fn(&dyn Trace)) {
        for user in &self.users {
            let _ = catch_unwind(AssertUnwindSafe(|| what(&**user)));
        }
    }
}

/// Reports a phase of a device to `tracing`.
#[cfg(feature = "tracing")]
pub(crate) fn tell_phase(device: &str, phase: crate::core::health::Phase, reason: Option<&str>) {
    use crate::core::health::Phase;
    let _ = catch_unwind(AssertUnwindSafe(|| match phase {
        Phase::Healthy => tracing::info!(target: "windlass", device, reason, "healthy"),
        Phase::Poisoned => tracing::warn!(target: "windlass", device, reason, "poisoned"),
        Phase::Rebuilding => tracing::info!(target: "windlass", device, reason, "rebuilding"),
        Phase::Lost => tracing::error!(target: "windlass", device, reason, "lost"),
    }));
}

/// Reports to `tracing` that the CPU is used for want of a GPU.
#[cfg(feature = "tracing")]
pub(crate) fn tell_fallback(device: &str, reasons: &[String]) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        reasons.iter().for_each(|reason| tracing::warn!(target: "windlass", device, reason, "the CPU is used"));
    }));
}
