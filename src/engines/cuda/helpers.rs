//! Threads that enqueue what its submitter could not, and build plans.
//!
//! **Only what is ready is queued here**: nobody's work waits on a helper for other work, for a plan, or for a stream
//! that others hold. So a few threads are enough for any number of late operations, and they cannot wait for each other.
//! A call that blocks occupies its thread, and a stream of the pool (`members.rs`); builds may take long and are bounded
//! apart; and there are two threads more than all that can occupy, so that ready work is enqueued meanwhile.
//!
//! Threads start when there is something to do and end when there has been nothing for a while.

use crate::clock::{self, Timing};
use crate::engine::process;
use crate::host::Runnable;
use crate::sync::{Arc, Condvar, Mutex};
use parking_lot::MutexGuard;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Builds at a time.
const BUILDS: usize = 2;
/// Threads that neither blocking calls nor builds can occupy.
const SPARE: usize = 2;

/// Builds a plan.
pub(super) type Build = Box<dyn FnOnce() + Send>;

/// The helper threads of one epoch.
pub(crate) struct Helpers {
    state: Mutex<State>,
    wake: Condvar,
    /// Calls that may block at a time.
    blocking: usize,
    timing: &'static Timing,
    fork_generation: u32,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<dyn Runnable>>,
    builds: VecDeque<Build>,
    building: usize,
    threads: usize,
    idle: usize,
    closed: bool,
    /// A thread of somebody else's is at it: no helper could be started.
    lent: bool,
}

/// What a helper does next.
enum Turn {
    Job(Arc<dyn Runnable>),
    Build(Build),
}

impl State {
    fn next(&mut self) -> Option<Turn> {
        if let Some(job) = self.jobs.pop_front() {
            return Some(Turn::Job(job));
        }
        if self.building >= BUILDS {
            return None;
        }
        let build = self.builds.pop_front()?;
        self.building += 1;
        Some(Turn::Build(build))
    }

    /// Turns that somebody could take now.
    fn waiting(&self) -> usize {
        self.jobs.len() + self.builds.len().min(BUILDS - self.building)
    }
}

impl Helpers {
    /// For so many blocking calls at a time.
    pub(super) fn new(blocking: usize, timing: &'static Timing) -> Arc<Self> {
        Arc::new(Helpers {
            state: Mutex::default(),
            wake: Condvar::new(),
            blocking,
            timing,
            fork_generation: process::fork_generation(),
        })
    }

    /// All that it was to follow is bound: has it enqueued.
    pub(super) fn push(self: &Arc<Self>, job: Arc<dyn Runnable>) {
        self.queue(|state| state.jobs.push_back(job));
    }

    /// Has a plan built.
    pub(super) fn build(self: &Arc<Self>, build: Build) {
        self.queue(|state| state.builds.push_back(build));
    }

    fn queue(self: &Arc<Self>, push: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        push(&mut state);
        self.see_to(state);
    }

    /// Sees to it that somebody comes for what is queued: each of those who sleep for one turn, since one turn may last.
    fn see_to(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if state.waiting() == 0 {
            return;
        }
        if state.waiting() <= state.idle {
            drop(state);
            self.wake.notify_one();
            return;
        }
        if state.threads >= self.blocking + BUILDS + SPARE || state.lent {
            return; // two of them are not at anything that lasts, and come by
        }
        state.threads += 1;
        let me = self.clone();
        let spawned = std::thread::Builder::new().name("windlass helper".into()).spawn(move || me.help());
        if spawned.is_err() {
            state.threads -= 1;
            if state.threads == 0 {
                // Rather by the caller's own thread than never. Not deeper than once: what comes of it is queued.
                state.lent = true;
                drop(state);
                while let Some(turn) = self.take_lent() {
                    self.perform(turn);
                }
            }
        }
    }

    fn take_lent(&self) -> Option<Turn> {
        let mut state = self.state.lock();
        let turn = state.next();
        state.lent = turn.is_some();
        turn
    }

    fn help(self: Arc<Self>) {
        let mut state = self.state.lock();
        loop {
            if let Some(turn) = state.next() {
                drop(state);
                self.perform(turn);
                state = self.state.lock();
                continue;
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            let end = self.timing.clock.after(self.timing.sweeps.helper_idle);
            let is_over = || clock::is_over(end);
            while !is_over() && state.waiting() == 0 && !state.closed {
                match end {
                    Some(end) => drop(self.wake.wait_until(&mut state, end.wake_at())),
                    None => self.wake.wait(&mut state),
                }
            }
            state.idle -= 1;
            if is_over() && state.waiting() == 0 {
                break;
            }
        }
        state.threads -= 1;
    }

    fn perform(self: &Arc<Self>, turn: Turn) {
        let is_build = matches!(turn, Turn::Build(_));
        // An exit waits for who is in the driver. What is not done by then is of no use to anybody.
        let _ = process::unless_exiting(|| {
            catch_unwind(AssertUnwindSafe(|| match turn {
                Turn::Job(job) => job.run(),
                Turn::Build(build) => build(),
            }))
        });
        if is_build {
            let mut state = self.state.lock();
            state.building -= 1;
            self.see_to(state);
        }
    }

    /// Nothing more comes: the threads end when all is done.
    pub(super) fn close(&self) {
        if self.fork_generation != process::fork_generation() {
            return; // whoever held the lock is not here
        }
        self.state.lock().closed = true;
        self.wake.notify_all();
    }
}
