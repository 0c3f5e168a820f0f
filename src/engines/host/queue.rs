//! Runs the ops that are ready.
//!
//! Ready ops are in the engine's queue; at most `n` runners drain it in the device's own rayon pool. `runners.rs`
//! decides when a runner is hired, and explains why no op is forgotten.

use super::fault_plan::FaultPlan;
use super::runners::{Ready, Runners};
use crate::core::error::{Error, Result};
use crate::core::inside::mark_thread;
use crate::core::order::Runnable;
use crate::core::sync::Arc;
use crossbeam_queue::SegQueue;

/// Where a host device runs its ops.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum HostPool {
    /// A pool of its own with as many threads as the machine has cores.
    #[default]
    Cores,
    /// A pool of its own with this many threads.
    Threads(usize),
    /// A pool shared with other host devices. It must run nothing but device ops: give it none of your own jobs.
    Shared(Arc<rayon::ThreadPool>),
    /// One thread, and a dispatch returns when its work is done. Deterministic: the ops of one submitting thread run in
    /// the order of their submission, and rayon inside them is sequential. (The op does not run on the caller's thread:
    /// if that is a worker thread of a rayon pool, an op that uses rayon would steal the caller's jobs, and one of
    /// those may wait for this very op.)
    Inline,
}

/// The engine of a host device; it is kept through every rebuild.
pub(crate) struct HostEngine {
    pool: Arc<rayon::ThreadPool>,
    inline: bool,
    ready: SegQueue<Arc<dyn Runnable>>,
    runners: Runners,
    plan: Option<FaultPlan>,
}

impl HostEngine {
    pub(crate) fn new(pool: HostPool, label: &str, plan: Option<FaultPlan>) -> Result<Self> {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let inline = matches!(pool, HostPool::Inline);
        let (pool, max) = match pool {
            HostPool::Inline => (own_pool(1, label)?, 1),
            HostPool::Shared(pool) => {
                let max = pool.current_num_threads();
                // This is not waited for, because the threads may be busy with another device's work. No thread takes a
                // later job before it ran this.
                pool.spawn_broadcast(|_| mark_thread());
                (pool, max)
            }
            HostPool::Threads(0) => return Err(Error::invalid("threads", "0 threads cannot run anything; use Inline")),
            HostPool::Threads(n) if n > 1024 => {
                return Err(Error::invalid("threads", format!("{n} threads, at most 1024 are possible")));
            }
            HostPool::Threads(n) => (own_pool(n, label)?, n),
            HostPool::Cores => (own_pool(cores(), label)?, cores()),
        };
        Ok(HostEngine { pool, inline, ready: SegQueue::new(), runners: Runners::new(max), plan })
    }

    pub(crate) fn plan(&self) -> Option<&FaultPlan> {
        self.plan.as_ref()
    }

    /// Whether a dispatch returns only when its work is done.
    pub(super) fn is_inline(&self) -> bool {
        self.inline
    }

    /// The number of threads that run ops.
    pub(crate) fn threads(&self) -> usize {
        self.runners.max()
    }

    /// The number of threads that are running ops now.
    pub(crate) fn runners(&self) -> usize {
        self.runners.busy()
    }

    /// Called when all dependencies of `node` are done, for work that takes less time than waking a thread. Runs it on
    /// this thread, unless the maximum number of runners is already at work.
    pub(super) fn run_here(self: &Arc<Self>, node: Arc<dyn Runnable>) {
        if self.runners.hire() {
            node.run();
            self.runners.leave(&self.ready, || self.send_runner());
        } else {
            self.start(node);
        }
    }

    /// Called when all dependencies of `node` are done: queues it.
    pub(super) fn start(self: &Arc<Self>, node: Arc<dyn Runnable>) {
        self.ready.push(node);
        if self.runners.hire() {
            self.send_runner();
        }
    }

    /// Starts a runner that was hired.
    fn send_runner(self: &Arc<Self>) {
        let engine = self.clone();
        self.pool.spawn(move || engine.runners.drain(&engine.ready, |node| node.run()));
    }
}

impl Ready for SegQueue<Arc<dyn Runnable>> {
    type Item = Arc<dyn Runnable>;
    fn pop(&self) -> Option<Self::Item> {
        SegQueue::pop(self)
    }
    fn is_empty(&self) -> bool {
        SegQueue::is_empty(self)
    }
}

fn own_pool(threads: usize, label: &str) -> Result<Arc<rayon::ThreadPool>> {
    let name = format!("windlass {label}");
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(move |i| format!("{name} {i}"))
        .start_handler(|_| mark_thread())
        .build()
        .map(Arc::new)
        .map_err(|e| Error::library(format!("a pool of {threads} threads could not be started: {e}")))
}
