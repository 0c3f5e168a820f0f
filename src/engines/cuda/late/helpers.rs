//! Helper threads: they enqueue work that the submitting thread could not enqueue, and build plans.
//!
//! **Only work that is ready is queued here**: a helper never waits for other work, for a plan, or for a stream that is
//! held elsewhere. So a few threads are enough for any number of late operations, and they cannot wait for each other.
//! A call that blocks occupies its thread and a stream of the pool (`members.rs`). Builds may take long; their number
//! is bounded separately. There are two threads more than blocking calls and builds can occupy, so that ready work is
//! enqueued meanwhile.
//!
//! Threads start when there is something to do and end when there has been nothing for a while.

use crate::core::clock::{self, Timing};
use crate::core::order::Runnable;
use crate::core::process;
use crate::core::sync::{Arc, Condvar, Mutex};
use parking_lot::MutexGuard;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most builds at a time.
const BUILDS: usize = 2;
/// Threads that neither blocking calls nor builds can occupy.
const SPARE: usize = 2;

thread_local! {
    /// The helpers whose task this thread performs, and whether it is about to end the task.
    static TURN: Cell<(*const Helpers, bool)> = const { Cell::new((std::ptr::null(), false)) };
}

/// A job that builds a plan.
pub(super) type Build = Box<dyn FnOnce() + Send>;

/// The helper threads of one epoch.
pub(crate) struct Helpers {
    state: Mutex<State>,
    wake: Condvar,
    /// How many calls may block at a time.
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
    /// A calling thread does the helpers' work, because no helper could be started.
    lent: bool,
}

/// What a helper does next.
enum Task {
    Job(Arc<dyn Runnable>),
    Build(Build),
}

impl State {
    fn next(&mut self) -> Option<Task> {
        if let Some(job) = self.jobs.pop_front() {
            return Some(Task::Job(job));
        }
        if self.building >= BUILDS {
            return None;
        }
        let build = self.builds.pop_front()?;
        self.building += 1;
        Some(Task::Build(build))
    }

    /// How many turns could be taken now.
    fn waiting(&self) -> usize {
        self.jobs.len() + self.builds.len().min(BUILDS - self.building)
    }
}

impl Helpers {
    /// `blocking`: how many calls may block at a time.
    pub(crate) fn new(blocking: usize, timing: &'static Timing) -> Arc<Self> {
        Arc::new(Helpers {
            state: Mutex::default(),
            wake: Condvar::new(),
            blocking,
            timing,
            fork_generation: process::fork_generation(),
        })
    }

    /// Queues a job to be enqueued on the device. All that it must follow is bound.
    pub(crate) fn push(self: &Arc<Self>, job: Arc<dyn Runnable>) {
        self.queue(|state| state.jobs.push_back(job));
    }

    /// Queues the build of a plan.
    pub(crate) fn build(self: &Arc<Self>, build: Build) {
        self.queue(|state| state.builds.push_back(build));
    }

    fn queue(self: &Arc<Self>, push: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        push(&mut state);
        if state.waiting() == 1 && TURN.get() == (Arc::as_ptr(self), true) {
            return; // this thread takes it
        }
        self.see_to(state);
    }

    /// The end of a task: `f` queues what follows it, and nothing comes after that on this thread which could wait for any of
    /// it. Then this thread takes one job itself, and wakes no other for it.
    pub(crate) fn at_end_of_turn(self: &Arc<Self>, f: impl FnOnce()) {
        let (helpers, _) = TURN.get();
        TURN.set((helpers, helpers == Arc::as_ptr(self)));
        f();
        TURN.set((helpers, false));
    }

    /// Makes sure that a thread takes what is queued: wakes a sleeping helper or starts one. A sleeping helper counts
    /// for one task only, because a task may take long.
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
            return; // at least `SPARE` threads, or the lent one, do nothing that takes long, and will take it
        }
        state.threads += 1;
        let me = self.clone();
        let spawned = std::thread::Builder::new().name("windlass helper".into()).spawn(move || me.help());
        if spawned.is_err() {
            state.threads -= 1;
            if state.threads == 0 {
                // Better on the caller's own thread than never. This does not recurse: what it causes is only queued.
                state.lent = true;
                drop(state);
                while let Some(task) = self.take_lent() {
                    self.perform(task);
                }
            }
        }
    }

    fn take_lent(&self) -> Option<Task> {
        let mut state = self.state.lock();
        let task = state.next();
        state.lent = task.is_some();
        task
    }

    fn help(self: Arc<Self>) {
        let mut state = self.state.lock();
        loop {
            if let Some(task) = state.next() {
                drop(state);
                self.perform(task);
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

    fn perform(self: &Arc<Self>, task: Task) {
        let is_build = matches!(task, Task::Build(_));
        let outer = TURN.replace((Arc::as_ptr(self), false));
        // An exit waits for threads that are in the driver. Turns that are not taken by then are not needed any more.
        let _ = process::unless_exiting(|| {
            catch_unwind(AssertUnwindSafe(|| match task {
                Task::Job(job) => job.run(),
                Task::Build(build) => build(),
            }))
        });
        TURN.set(outer);
        if is_build {
            let mut state = self.state.lock();
            state.building -= 1;
            self.see_to(state);
        }
    }

    /// Call when nothing more will be queued: the threads end when all turns are done.
    pub(crate) fn close(&self) {
        if self.fork_generation != process::fork_generation() {
            return; // in a forked child the thread that holds the lock may not exist
        }
        self.state.lock().closed = true;
        self.wake.notify_all();
    }
}
