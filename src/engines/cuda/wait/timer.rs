//! The time that work takes on the device.

use crate::core::clock::{Clock, Stopwatch};
use crate::core::sync::{Arc, Mutex, RwLock};
use crate::engines::cuda::Native;
use crate::engines::cuda::api::{Code, Driver};
use crate::engines::cuda::context::Context;
use crossbeam_queue::SegQueue;
use cudarc::driver::sys::{CUevent, CUstream};
use std::sync::Weak;
use std::time::Duration;

/// Two events with timing, one before and one after the work.
pub(crate) struct Timer {
    pub(crate) start: Native<CUevent>,
    pub(crate) end: Native<CUevent>,
    timers: Weak<TimerPool>,
}

/// The pool of timer events of one epoch.
pub(crate) struct Timers(Arc<TimerPool>);

#[derive(Default)]
struct TimerPool {
    free: SegQueue<(Native<CUevent>, Native<CUevent>)>,
    all: Mutex<Vec<Native<CUevent>>>,
    anchor: Mutex<Option<Anchor>>,
    /// Whether the events are destroyed. Threads that ask for a time hold it for reading, so several may ask at once.
    torn: RwLock<bool>,
}

/// An event whose host time is known: the start of other events is measured from it. It is recorded anew each second,
/// because the clocks of host and device drift apart and the driver's times are floats with 24 bits of precision.
struct Anchor {
    event: Native<CUevent>,
    at: Stopwatch,
}

/// How long an anchor is valid.
const ANCHORED: Duration = Duration::from_secs(1);

impl Timers {
    pub(crate) fn new() -> Self {
        Timers(Arc::default())
    }

    /// Returns a pair of events to record. The context must be current.
    pub(crate) fn timer(&self, api: &Driver) -> Result<Timer, Code> {
        let (start, end) = match self.0.free.pop() {
            Some(pair) => pair,
            None => {
                let make = || {
                    let mut event: CUevent = std::ptr::null_mut();
                    // SAFETY: `event` is valid for the write; the context is current.
                    unsafe { api.event_create(&mut event, 0) }.ok()?;
                    self.0.all.lock().push(Native(event));
                    Ok(Native(event))
                };
                (make()?, make()?)
            }
        };
        Ok(Timer { start, end, timers: Arc::downgrade(&self.0) })
    }

    /// Records the anchor on an idle stream, unless the last one is still valid. Call under the lease, with the context
    /// current. If it fails, times have no start.
    pub(crate) fn anchor(&self, api: &Driver, stream: Native<CUstream>, clock: Clock) {
        let mut anchor = self.0.anchor.lock();
        let event = match &*anchor {
            Some(anchor) if anchor.at.elapsed() < ANCHORED => return,
            Some(anchor) => anchor.event,
            None => {
                let mut event: CUevent = std::ptr::null_mut();
                // SAFETY: `event` is valid for the write; the context is current.
                if !unsafe { api.event_create(&mut event, 0) }.is_success() {
                    return;
                }
                self.0.all.lock().push(Native(event));
                Native(event)
            }
        };
        // SAFETY: event and stream are alive under the lease; the context is current.
        let recorded = unsafe { api.event_record(event.0, stream.0) };
        *anchor = recorded.is_success().then(|| Anchor { event, at: clock.start() });
    }

    /// The number of events held.
    pub(crate) fn held(&self) -> usize {
        self.0.all.lock().len()
    }

    /// Destroys all events, at the end of the epoch.
    pub(crate) fn destroy(&self, api: &Driver, gone: &mut dyn FnMut(Code)) {
        let mut torn = self.0.torn.write();
        *torn = true;
        while self.0.free.pop().is_some() {}
        *self.0.anchor.lock() = None;
        for event in std::mem::take(&mut *self.0.all.lock()) {
            // SAFETY: ours and idle. The epoch is closed: `elapsed` uses no event from here on.
            gone(unsafe { api.event_destroy(event.0) });
        }
    }
}

impl Timer {
    /// The time between the two events, once both have completed.
    pub(super) fn elapsed(&self, context: &Context) -> Option<Duration> {
        // The pool outlives the events. If it is gone, the epoch was torn down.
        let pool = self.timers.upgrade()?;
        let torn = pool.torn.read(); // keeps `destroy` out
        if *torn {
            return None;
        }
        let _bound = context.bind().ok()?;
        let mut milliseconds = 0f32;
        // SAFETY: `destroy` is kept out, so both events are alive. Both were recorded.
        let code = unsafe { context.api.event_elapsed_time(&mut milliseconds, self.start.0, self.end.0) };
        code.is_success().then(|| Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) * 1e-3))
    }
}

impl Timer {
    /// The time from `submitted` to the first event, once that has completed. `None` if there is no anchor, or the
    /// driver refuses.
    pub(super) fn began_after(&self, submitted: Stopwatch, context: &Context) -> Option<Duration> {
        let pool = self.timers.upgrade()?;
        let torn = pool.torn.read(); // keeps `destroy` out
        let anchor = pool.anchor.lock();
        let anchor = anchor.as_ref().filter(|_| !*torn)?;
        let _bound = context.bind().ok()?;
        let mut milliseconds = 0f32;
        // SAFETY: as in `elapsed`; the anchor's event is one of the pool's.
        let code = unsafe { context.api.event_elapsed_time(&mut milliseconds, anchor.event.0, self.start.0) };
        if !code.is_success() {
            return None;
        }
        let anchored = submitted.elapsed().as_secs_f64() - anchor.at.elapsed().as_secs_f64();
        Duration::try_from_secs_f64((anchored + f64::from(milliseconds) * 1e-3).max(0.0)).ok()
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(pool) = self.timers.upgrade() {
            pool.free.push((self.start, self.end));
        }
    }
}
