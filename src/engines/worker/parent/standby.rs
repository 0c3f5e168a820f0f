//! A second worker that has its device open and tested, to take over at once.
//!
//! It is started in the background: beside the first worker, after each loss, and when it is itself lost while it
//! waits. It costs what a worker costs: on a GPU a context and the libraries. If there can be none (a GPU in exclusive
//! mode, no memory for a second context), the next worker is started cold. Another standby is tried after a pause that
//! doubles each time, and at once after a loss, because what was missing may be available by then.

use super::engine::WorkerEngine;
use crate::core::clock::{self, Timing};
use crate::core::error::Result;
use crate::core::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Starts a worker.
type Start = Arc<dyn Fn() -> Result<WorkerEngine> + Send + Sync>;

/// The pause doubles at most this often: then it is nearly two minutes.
const DOUBLINGS: u32 = 10;

/// Holds the standby of a device.
pub(super) struct Standby {
    state: Mutex<State>,
    /// Wakes the thread that pauses: the state has changed.
    news: Condvar,
    timing: &'static Timing,
}

#[derive(Default)]
struct State {
    ready: Option<WorkerEngine>,
    start: Option<Start>,
    /// A thread is starting one, or pauses before it does.
    starting: bool,
    /// That thread must not pause.
    hurry: bool,
    /// Why there is none.
    failed: Option<String>,
    /// How many were lost while they waited, or could not be started, since one was last taken.
    lost: u32,
    /// The device is closed: no more are started.
    closed: bool,
}

impl State {
    /// One more was lost or could not be started: returns the pause before the next attempt.
    fn pause(&mut self, timing: &Timing) -> Duration {
        let pause = timing.watch.standby_pause.saturating_mul(1 << self.lost.min(DOUBLINGS));
        self.lost = self.lost.saturating_add(1);
        pause
    }
}

impl Standby {
    pub(super) fn new(timing: &'static Timing) -> Self {
        Standby { state: Mutex::default(), news: Condvar::new(), timing }
    }

    /// Starts one, unless there is one or the device is closed. Returns at once.
    pub(super) fn prepare(self: &Arc<Self>, start: impl Fn() -> Result<WorkerEngine> + Send + Sync + 'static) {
        {
            let mut state = self.state.lock();
            state.start = Some(Arc::new(start));
            state.hurry = state.starting;
        }
        self.news.notify_all();
        self.fill(Duration::ZERO);
    }

    fn fill(self: &Arc<Self>, pause: Duration) {
        {
            let mut state = self.state.lock();
            if state.closed || state.starting || state.ready.is_some() {
                return;
            }
            state.starting = true;
        }
        let standby = self.clone();
        let run = move || standby.try_after(pause);
        if let Err(error) = std::thread::Builder::new().name("windlass standby".into()).spawn(run) {
            let mut state = self.state.lock();
            state.starting = false;
            state.failed = Some(format!("its thread could not be started: {error}"));
        }
    }

    /// Tries until one is ready or the device is closed.
    fn try_after(self: &Arc<Self>, mut pause: Duration) {
        loop {
            let start = {
                let mut state = self.state.lock();
                let end = self.timing.clock.after(pause);
                while !state.closed && !state.hurry && !clock::is_over(end) {
                    match end {
                        Some(end) => drop(self.news.wait_until(&mut state, end.wake_at())),
                        None => self.news.wait(&mut state),
                    }
                }
                state.hurry = false;
                match state.start.clone() {
                    Some(start) => start,
                    None => {
                        state.starting = false;
                        return;
                    }
                }
            };
            match start() {
                Ok(engine) => return self.place(engine),
                Err(error) => {
                    let mut state = self.state.lock();
                    state.failed = Some(error.to_string());
                    pause = state.pause(self.timing);
                }
            }
        }
    }

    /// One was started: makes it the standby, unless the device is closed.
    fn place(self: &Arc<Self>, made: WorkerEngine) {
        made.wait_at(self);
        let mut state = self.state.lock();
        (state.starting, state.hurry, state.failed) = (false, false, None);
        let unwanted = if state.closed { Some(made) } else { state.ready.replace(made) };
        let stillborn = state.ready.as_ref().filter(|engine| !engine.is_there()).map(WorkerEngine::pid);
        drop(state);
        drop(unwanted);
        if let Some(pid) = stillborn {
            self.lost(pid); // it ended before it was placed, so `lost` did not find it
        }
    }

    /// A worker has ended: if it is the standby, starts another.
    pub(super) fn lost(self: &Arc<Self>, pid: u32) {
        let (engine, pause) = {
            let mut state = self.state.lock();
            let engine = state.ready.take_if(|engine| engine.pid() == pid);
            if engine.is_none() {
                return;
            }
            (engine, state.pause(self.timing))
        };
        drop(engine);
        self.fill(pause);
    }

    /// Takes the standby, if it is alive.
    pub(super) fn take(&self) -> Option<WorkerEngine> {
        let ready = {
            let mut state = self.state.lock();
            state.lost = 0;
            state.ready.take()
        };
        ready.filter(WorkerEngine::is_there)
    }

    /// The process id of the standby.
    pub(super) fn pid(&self) -> Option<u32> {
        self.state.lock().ready.as_ref().filter(|engine| engine.is_there()).map(WorkerEngine::pid)
    }

    /// Why there is none, if the last attempt has failed.
    pub(super) fn failed(&self) -> Option<String> {
        self.state.lock().failed.clone()
    }

    /// Ends the standby. No more are started.
    pub(super) fn close(&self) {
        let ready = {
            let mut state = self.state.lock();
            state.closed = true;
            state.start = None;
            state.ready.take()
        };
        self.news.notify_all();
        drop(ready);
    }
}
