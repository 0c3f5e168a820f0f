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
use std::cell::RefCell;
use std::collections::VecDeque;

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
    /// No pool: an op runs on the thread that makes it ready, before the dispatch returns. Deterministic.
    Inline,
}

/// The engine of a host device; lives through every rebuild.
pub(crate) struct HostEngine {
    pool: Option<Arc<rayon::ThreadPool>>,
    max: usize,
    ready: SegQueue<Arc<dyn Runnable>>,
    runners: AtomicUsize,
    plan: Option<FaultPlan>,
}

impl HostEngine {
    pub(crate) fn new(pool: HostPool, label: &str, plan: Option<FaultPlan>) -> Result<Self> {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let (pool, max) = match pool {
            HostPool::Inline => (None, 1),
            HostPool::Shared(pool) => {
                let max = pool.current_num_threads();
                (Some(pool), max)
            }
            HostPool::Threads(0) => return Err(Error::invalid("threads", "0 threads cannot run anything; use Inline")),
            HostPool::Threads(n) => (Some(own_pool(n, label)?), n),
            HostPool::Cores => (Some(own_pool(cores(), label)?), cores()),
        };
        Ok(HostEngine { pool, max, ready: SegQueue::new(), runners: AtomicUsize::new(0), plan })
    }

    pub(crate) fn plan(&self) -> Option<&FaultPlan> {
        self.plan.as_ref()
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
        let Some(pool) = &self.pool else { return Self::run_inline(node) };
        self.ready.push(node);
        if self.hire() {
            let engine = self.clone();
            pool.spawn(move || engine.drain());
        }
    }

    /// Inline: the thread that makes an op ready runs it. What that op makes ready is left to the loop, so nothing
    /// recurses; each thread has a loop of its own, so none waits for another's.
    fn run_inline(node: Arc<dyn Runnable>) {
        thread_local! {
            static READY: RefCell<Option<VecDeque<Arc<dyn Runnable>>>> = const { RefCell::new(None) };
        }
        let left = READY.with_borrow_mut(|ready| match ready {
            Some(queue) => {
                queue.push_back(node);
                None
            }
            None => {
                *ready = Some(VecDeque::new());
                Some(node)
            }
        });
        let mut next = left;
        while let Some(node) = next {
            node.run();
            drop(node);
            next = READY.with_borrow_mut(|ready| {
                let next = ready.as_mut().and_then(VecDeque::pop_front);
                if next.is_none() {
                    *ready = None;
                }
                next
            });
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
