//! A second worker that has its device open and tested, to take over at once.
//!
//! It is started behind the first one's back, again after each loss, and again when it is lost itself while it waits. It
//! costs what a worker costs: on a GPU a context and the libraries. Where there can be none (a GPU in exclusive mode, no
//! memory for a second context) there is none, and the next worker is started cold.

use super::engine::WorkerEngine;
use crate::Result;
use crate::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// How one is started.
type Start = Arc<dyn Fn() -> Result<WorkerEngine> + Send + Sync>;

/// The pause before one is replaced that was lost while it waited; it doubles with each in a row.
const PAUSE: Duration = Duration::from_millis(100);

/// The place of the one that waits.
#[derive(Default)]
pub(super) struct Spare {
    state: Mutex<State>,
    closing: Condvar,
}

#[derive(Default)]
struct State {
    ready: Option<WorkerEngine>,
    start: Option<Start>,
    starting: bool,
    /// Why there is none.
    failed: Option<String>,
    /// How many were lost here since one was taken.
    lost: u32,
    /// The device is closed: no more are started.
    closed: bool,
}

impl Spare {
    /// Starts one, unless there is one or the device is closed. Returns at once.
    pub(super) fn prepare(self: &Arc<Self>, start: impl Fn() -> Result<WorkerEngine> + Send + Sync + 'static) {
        self.state.lock().start = Some(Arc::new(start));
        self.fill(Duration::ZERO);
    }

    fn fill(self: &Arc<Self>, pause: Duration) {
        let start = {
            let mut state = self.state.lock();
            if state.closed || state.starting || state.ready.is_some() {
                return;
            }
            let Some(start) = state.start.clone() else { return };
            state.starting = true;
            start
        };
        let spare = self.clone();
        let run = move || {
            let wanted = {
                let mut state = spare.state.lock();
                if !state.closed && !pause.is_zero() {
                    spare.closing.wait_for(&mut state, pause);
                }
                !state.closed
            };
            let (made, failed) = match wanted.then(|| start()) {
                Some(Ok(engine)) => (Some(engine), None),
                Some(Err(error)) => (None, Some(error.to_string())),
                None => (None, None),
            };
            if let Some(engine) = &made {
                engine.wait_at(&spare);
            }
            let mut state = spare.state.lock();
            state.starting = false;
            state.failed = failed;
            let unwanted = if state.closed { made } else { std::mem::replace(&mut state.ready, made) };
            let stillborn = state.ready.as_ref().filter(|engine| !engine.is_there()).map(WorkerEngine::pid);
            drop(state);
            drop(unwanted);
            if let Some(pid) = stillborn {
                spare.lost(pid); // before it was in its place, so that nobody found it there
            }
        };
        if std::thread::Builder::new().name("windlass standby".into()).spawn(run).is_err() {
            self.state.lock().starting = false;
        }
    }

    /// A worker has ended: if it is the one that waits, another takes its place.
    pub(super) fn lost(self: &Arc<Self>, pid: u32) {
        let (engine, pause) = {
            let mut state = self.state.lock();
            let engine = state.ready.take_if(|engine| engine.pid() == pid);
            if engine.is_none() {
                return;
            }
            let pause = PAUSE.saturating_mul(1 << state.lost.min(8));
            state.lost += 1;
            (engine, pause)
        };
        drop(engine);
        self.fill(pause);
    }

    /// The one that waits, if it is alive.
    pub(super) fn take(&self) -> Option<WorkerEngine> {
        let ready = {
            let mut state = self.state.lock();
            state.lost = 0;
            state.ready.take()
        };
        ready.filter(WorkerEngine::is_there)
    }

    /// Its process.
    pub(super) fn pid(&self) -> Option<u32> {
        self.state.lock().ready.as_ref().filter(|engine| engine.is_there()).map(WorkerEngine::pid)
    }

    /// Why there is none, if the last attempt has failed.
    pub(super) fn failed(&self) -> Option<String> {
        self.state.lock().failed.clone()
    }

    /// Ends it; no more are started.
    pub(super) fn close(&self) {
        let ready = {
            let mut state = self.state.lock();
            state.closed = true;
            state.start = None;
            state.ready.take()
        };
        self.closing.notify_all();
        drop(ready);
    }
}
