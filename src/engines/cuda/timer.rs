//! The time that work took on the device.

use super::Native;
use super::api::{Code, Driver};
use super::context::Context;
use crate::sync::{Arc, Mutex, RwLock};
use crossbeam_queue::SegQueue;
use cudarc::driver::sys::CUevent;
use std::sync::Weak;
use std::time::Duration;

/// Two events with time, around the work.
pub(super) struct Timer {
    pub(super) start: Native<CUevent>,
    pub(super) end: Native<CUevent>,
    timers: Weak<TimerPool>,
}

/// The events of timers.
pub(crate) struct Timers(Arc<TimerPool>);

#[derive(Default)]
struct TimerPool {
    free: SegQueue<(Native<CUevent>, Native<CUevent>)>,
    all: Mutex<Vec<Native<CUevent>>>,
    /// The events are gone. Who asks for a time holds it meanwhile, beside others who do.
    torn: RwLock<bool>,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Timers(Arc::default())
    }

    /// A pair to record. The context is current.
    pub(super) fn timer(&self, api: &Driver) -> Result<Timer, Code> {
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

    /// Events held.
    pub(crate) fn held(&self) -> usize {
        self.0.all.lock().len()
    }

    /// For the end of the epoch.
    pub(crate) fn destroy(&self, api: &Driver, gone: &mut dyn FnMut(Code)) {
        let mut torn = self.0.torn.write();
        *torn = true;
        while self.0.free.pop().is_some() {}
        for event in std::mem::take(&mut *self.0.all.lock()) {
            // SAFETY: ours, idle, and the epoch is closed: `elapsed` uses none from here on.
            gone(unsafe { api.event_destroy(event.0) });
        }
    }
}

impl Timer {
    /// Time between the two, once both have passed.
    pub(super) fn elapsed(&self, context: &Context) -> Option<Duration> {
        // The pool outlives the events: gone means that the epoch was torn down.
        let pool = self.timers.upgrade()?;
        let torn = pool.torn.read(); // keeps `destroy` out
        if *torn {
            return None;
        }
        let _bound = context.bind().ok()?;
        let mut milliseconds = 0f32;
        // SAFETY: both events are alive while `destroy` is kept out, and both were recorded.
        let code = unsafe { context.api.event_elapsed_time(&mut milliseconds, self.start.0, self.end.0) };
        code.is_success().then(|| Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) * 1e-3))
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(pool) = self.timers.upgrade() {
            pool.free.push((self.start, self.end));
        }
    }
}
