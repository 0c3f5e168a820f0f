//! Who runs what is ready.
//!
//! Ready ops sit in our queue; at most `n` runners drain it in the device's own rayon pool.
//!
//! **Race "last look"**: a push that finds all runners busy relies on one of them to look again. So a runner that found
//! the queue empty resigns first and then looks once more; if there is something it hires itself again. Either the
//! pusher sees the resignation and hires, or the runner sees the push.

use super::fault_plan::FaultPlan;
use super::inside::mark_thread;
use super::node::Runnable;
use crate::sync::{Arc, AtomicUsize, Ordering};
use crate::{Error, Result};
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
    /// One thread, and a dispatch returns when its work is done. Deterministic: ops of one thread run in the order of
    /// their submission, and rayon inside them is sequential. (Not on the caller's own thread: if that is a worker of a
    /// rayon pool, an op that uses rayon would steal the caller's jobs, and one of those may wait for this very op.)
    Inline,
}

/// The engine of a host device; lives through every rebuild.
pub(crate) struct HostEngine {
    pool: Arc<rayon::ThreadPool>,
    inline: bool,
    max: usize,
    ready: SegQueue<Arc<dyn Runnable>>,
    runners: AtomicUsize,
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
                (pool, max)
            }
            HostPool::Threads(0) => return Err(Error::invalid("threads", "0 threads cannot run anything; use Inline")),
            HostPool::Threads(n) => (own_pool(n, label)?, n),
            HostPool::Cores => (own_pool(cores(), label)?, cores()),
        };
        Ok(HostEngine { pool, inline, max, ready: SegQueue::new(), runners: AtomicUsize::new(0), plan })
    }

    pub(crate) fn plan(&self) -> Option<&FaultPlan> {
        self.plan.as_ref()
    }

    /// A dispatch returns when its work is done.
    pub(super) fn is_inline(&self) -> bool {
        self.inline
    }

    /// Threads that run ops.
    pub(crate) fn threads(&self) -> usize {
        self.max
    }

    /// Threads that are running ops now.
    pub(crate) fn runners(&self) -> usize {
        self.runners.load(Ordering::Relaxed)
    }

    /// All dependencies of `node` are done.
    pub(super) fn start(self: &Arc<Self>, node: Arc<dyn Runnable>) {
        self.ready.push(node);
        if self.hire() {
            let engine = self.clone();
            self.pool.spawn(move || engine.drain());
        }
    }

    fn hire(&self) -> bool {
        self.runners.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < self.max).then_some(n + 1)).is_ok()
    }

    fn drain(&self) {
        loop {
            while let Some(node) = self.ready.pop() {
                node.run();
            }
            self.runners.fetch_sub(1, Ordering::SeqCst);
            if self.ready.is_empty() || !self.hire() {
                return; // race "last look"
            }
        }
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
        .map_err(|e| Error::library(format!("no thread pool of {threads} threads could be started: {e}")))
}
