//! A second worker that has its device open and tested, to take over at once.
//!
//! It is started behind the first one's back, and again after each loss. It costs what a worker costs: on a GPU a context
//! and the libraries. Where there can be none (a GPU in exclusive mode, no memory for a second context) there is none, and
//! the next worker is started cold.

use super::engine::WorkerEngine;
use crate::sync::{Arc, Mutex};

/// The place of the one that waits.
#[derive(Default)]
pub(super) struct Spare(Mutex<State>);

#[derive(Default)]
struct State {
    ready: Option<WorkerEngine>,
    starting: bool,
    /// The device is closed: no more are started.
    closed: bool,
}

impl Spare {
    /// Starts one, unless there is one or the device is closed. Returns at once.
    pub(super) fn prepare(self: &Arc<Self>, start: impl FnOnce() -> crate::Result<WorkerEngine> + Send + 'static) {
        {
            let mut state = self.0.lock();
            if state.closed || state.starting || state.ready.is_some() {
                return;
            }
            state.starting = true;
        }
        let spare = self.clone();
        let spawned = std::thread::Builder::new().name("windlass standby".into()).spawn(move || {
            let made = start().ok();
            let mut state = spare.0.lock();
            state.starting = false;
            let unwanted = if state.closed { made } else { std::mem::replace(&mut state.ready, made) };
            drop(state);
            drop(unwanted);
        });
        if spawned.is_err() {
            self.0.lock().starting = false;
        }
    }

    /// The one that waits, if it is alive.
    pub(super) fn take(&self) -> Option<WorkerEngine> {
        let ready = self.0.lock().ready.take();
        ready.filter(WorkerEngine::is_there)
    }

    /// Its process.
    pub(super) fn pid(&self) -> Option<u32> {
        self.0.lock().ready.as_ref().filter(|engine| engine.is_there()).map(WorkerEngine::pid)
    }

    /// Ends it; no more are started.
    pub(super) fn close(&self) {
        let ready = {
            let mut state = self.0.lock();
            state.closed = true;
            state.ready.take()
        };
        drop(ready);
    }
}
