//! Replays of programs as CUDA graphs. What a dispatch would enqueue is captured once for each set of addresses, and
//! from then on it is launched as one graph.
//!
//! ```text
//!   addresses seen before? ──no──> enqueued as ever
//!          │yes
//!   an instance for them? ──yes──> launched
//!          │no
//!   captured, and: an instance to spare? ──> made       all in use ──> the one used the longest ago is updated, or made anew
//! ```
//!
//! - A capture is [`RELAXED`], on the stream of a seat (`members.rs`), under its lease: no other thread enqueues there.
//!   The workspaces of libraries belong to the seat, and every launch is on its stream. So no two launches use a
//!   workspace at the same time.
//! - **A capture has the driver for itself** (`quiet.rs`): no other thread of this process is inside the driver or a
//!   library during it. If other threads stay inside for too long, the capture is put off, each time for longer, and
//!   the replay is enqueued in the ordinary way.
//! - **What a graph refers to lasts as long as its instance is used.** The addresses of operands are in the program's
//!   key, so an instance is launched only with operands that exist. Plans and whatever the CUDA halves keep are in
//!   [`Instance::kept`]. A capture refuses what does not last or would be a node of its own: scratch, staging, tables,
//!   a handle that is not made or a kernel that is not loaded yet ([`Queue::not_in_a_graph`]). Then the dispatch is
//!   enqueued in the ordinary way. After [`ATTEMPTS`] such failures all later ones are too.
//! - The first dispatch with new addresses is not captured: it lets the CUDA halves make their handles and workspaces
//!   and load their kernels on the seat. Addresses that are never used again are never captured.

use crate::core::error::{Error, Result};
use crate::core::op::guarded;
use crate::core::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};
use crate::engines::cuda::api::{Code, Driver};
use crate::engines::cuda::code::Object;
use crate::engines::cuda::dispatch::Queue;
use crate::engines::cuda::wait::Kept;
use crate::engines::cuda::{Core, Native};
use cudarc::driver::sys::{CUgraph, CUgraphExec, CUstream};
use std::any::Any;
use std::collections::VecDeque;

/// `CU_STREAM_CAPTURE_MODE_RELAXED`: the capture mode that itself forbids nothing to other threads.
const RELAXED: u32 = 2;
/// The most instances of one program.
const MOST: usize = 4;
/// How many sets of addresses are remembered.
const KNOWN: usize = 8;
/// After so many failed captures of a program, no more are tried.
const ATTEMPTS: usize = 2;
/// A capture is put off by 1 replay, the next time by 2, then by 4, and so on: at most by 2 to the power of this.
const MOST_PUT_OFF: u64 = 6;

/// The graphs of one program.
#[derive(Default)]
pub(crate) struct Graphs {
    state: Mutex<State>,
    /// Whether graphs are asked for. If not, everything is enqueued in the ordinary way.
    pub(crate) wanted: AtomicBool,
    pub(crate) launches: AtomicU64,
    pub(crate) instantiations: AtomicU64,
    pub(crate) updates: AtomicU64,
    pub(crate) put_off: AtomicU64,
}

#[derive(Default)]
struct State {
    known: VecDeque<Vec<u64>>,
    instances: Vec<Instance>,
    failed: usize,
    now: u64,
    /// No capture is tried before `now` reaches this: other threads would wait for it in vain.
    not_before: u64,
}

struct Instance {
    key: Vec<u64>,
    exec: Object<Native<CUgraphExec>>,
    kept: Kept,
    used: u64,
}

/// A captured graph, until it is instantiated.
struct Captured {
    graph: CUgraph,
    core: Arc<Core>,
    kept: Kept,
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: the graph is from the end of a capture and is destroyed once; instances do not need it. This runs
        // under the lease, with the context current.
        let code = unsafe { self.core.context.api.graph_destroy(self.graph) };
        if !code.is_some_and(|code| code.is_success()) {
            self.core.counters.leaked.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn missing() -> Error {
    Error::unsupported("this driver does not support graph capture")
}

impl Graphs {
    /// Enqueues the work of `half`, as a graph if that is possible. `key`: all addresses in the work that may change
    /// from replay to replay, then its version. A version that was replaced is never asked for again. `keep`: what the
    /// graph refers to.
    pub(crate) fn run<K: Any + Send + Sync>(
        &self,
        queue: &mut Queue<'_>,
        key: &[u64],
        keep: &Arc<K>,
        half: &mut dyn FnMut(&mut Queue<'_>) -> Result<()>,
    ) -> Result<()> {
        if !self.wanted.load(Ordering::Relaxed) || !queue.is_on_a_seat() {
            return half(queue);
        }
        let state = &mut *self.state.lock(); // no contention: submissions of one program wait at its gate
        state.now += 1;
        let found = state.instances.iter().position(|instance| instance.key == key);
        let index = match found {
            Some(index) => index,
            None if state.failed >= ATTEMPTS || !state.has_seen(key) => return half(queue),
            None if state.now < state.not_before => return half(queue),
            None => {
                let Some(silence) = super::inside::silence(queue.core.timing.waits.quiet) else {
                    let before = self.put_off.fetch_add(1, Ordering::Relaxed);
                    state.not_before = state.now + (1 << before.min(MOST_PUT_OFF));
                    return half(queue);
                };
                let graph = capture(queue, half);
                drop(silence);
                match graph.and_then(|graph| self.install(state, queue, key, graph, keep)) {
                    Ok(index) => index,
                    Err(_) => {
                        // Nothing was enqueued. If the cause remains, the ordinary calls report it.
                        state.failed += 1;
                        return half(queue);
                    }
                }
            }
        };
        let Some(instance) = state.instances.get_mut(index) else { return half(queue) };
        instance.used = state.now;
        let stream = queue.stream();
        // SAFETY: instance and stream are alive under the lease, and the stream is the one of the capture; the caller
        // vouches for what the graph refers to.
        let code = unsafe { queue.core.context.api.graph_launch(instance.exec.0, stream) };
        queue.check("cuGraphLaunch", code.unwrap_or(Code::SUCCESS))?;
        self.launches.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Makes or updates an instance for these addresses. Returns its index.
    fn install<K: Any + Send + Sync>(
        &self,
        state: &mut State,
        queue: &mut Queue<'_>,
        key: &[u64],
        mut graph: Captured,
        keep: &Arc<K>,
    ) -> Result<usize> {
        let mut kept = std::mem::take(&mut graph.kept);
        kept.push(keep.clone());
        for plan in queue.plans {
            kept.push(plan.clone());
        }
        let used = state.now;
        // An instance of another version will not be used again.
        let obsolete = state.instances.iter().position(|instance| instance.key.last() != key.last());
        if state.instances.len() < MOST && obsolete.is_none() {
            let exec = self.instantiate(queue, &graph)?;
            state.instances.push(Instance { key: key.to_vec(), exec, kept, used });
            return Ok(state.instances.len() - 1);
        }
        let oldest = state.instances.iter().enumerate().min_by_key(|(_, instance)| instance.used);
        let index = obsolete.or(oldest.map(|(index, _)| index)).unwrap_or_default();
        let Some(instance) = state.instances.get_mut(index) else { return Err(missing()) };
        let exec = if update(&instance.exec, &graph) {
            self.updates.fetch_add(1, Ordering::Relaxed);
            None
        } else {
            Some(self.instantiate(queue, &graph)?)
        };
        // Launches of the former graph may be in flight: what they refer to is kept until this dispatch has completed.
        let former = std::mem::replace(&mut instance.kept, kept);
        queue.left.keep_value(Arc::new(former));
        if let Some(exec) = exec {
            queue.left.keep_value(Arc::new(std::mem::replace(&mut instance.exec, exec)));
        }
        instance.key = key.to_vec();
        Ok(index)
    }

    fn instantiate(&self, queue: &Queue<'_>, graph: &Captured) -> Result<Object<Native<CUgraphExec>>> {
        let (api, mut exec) = (graph.core.context.api, std::ptr::null_mut());
        // SAFETY: `exec` is valid for the write; the graph is alive.
        let code = unsafe { api.graph_instantiate(&mut exec, graph.graph, 0) }.ok_or_else(missing)?;
        queue.check("cuGraphInstantiateWithFlags", code)?;
        self.instantiations.fetch_add(1, Ordering::Relaxed);
        let destroy = move |exec: Native<CUgraphExec>| {
            // SAFETY: made above; the epoch destroys it once.
            unsafe { api.graph_exec_destroy(exec.0) }.unwrap_or(Code::SUCCESS)
        };
        Ok(queue.core.object(Native(exec), destroy))
    }
}

/// Updates the instance with the parameters of the graph. False if the driver cannot, because the graph has other
/// nodes.
fn update(exec: &Native<CUgraphExec>, graph: &Captured) -> bool {
    /// The layout of `CUgraphExecUpdateResultInfo`: the result, and which node prevented the update.
    #[repr(C)]
    struct Outcome(u32, [usize; 2]);
    let mut outcome = Outcome(0, [0; 2]);
    // SAFETY: instance and graph are alive; `outcome` has the layout that the call writes.
    let code = unsafe { graph.core.context.api.graph_exec_update(exec.0, graph.graph, (&raw mut outcome).cast()) };
    let _ = (outcome.0, outcome.1);
    code.is_some_and(|code| code.is_success())
}

impl State {
    /// Whether these addresses were seen before. Remembers them if not.
    fn has_seen(&mut self, key: &[u64]) -> bool {
        let seen = self.known.iter().any(|known| known == key);
        if !seen {
            if self.known.len() >= KNOWN {
                self.known.pop_front();
            }
            self.known.push_back(key.to_vec());
        }
        seen
    }
}

/// Captures what `half` enqueues. Nothing of it is on the stream afterwards.
fn capture(queue: &mut Queue<'_>, half: &mut dyn FnMut(&mut Queue<'_>) -> Result<()>) -> Result<Captured> {
    let (api, stream) = (queue.core.context.api, queue.stream_of_handles());
    // SAFETY: the stream is this slot's, under its lease.
    let code = unsafe { api.stream_begin_capture(stream, RELAXED) }.ok_or_else(missing)?;
    queue.check("cuStreamBeginCapture", code)?;
    let (untouched, before) = (queue.left.untouched, queue.left.replace_values(Kept::new()));
    queue.left.capturing = true;
    let outcome = guarded(&mut || half(queue));
    queue.left.capturing = false;
    queue.left.untouched = untouched;
    let kept = queue.left.replace_values(before);
    let graph = end(api, stream).map(|graph| Captured { graph, core: queue.core.clone(), kept });
    outcome?;
    graph.map_err(|code| crate::engines::cuda::context::error(code, "cuStreamEndCapture"))
}

/// Ends the capture. The stream accepts work again, also after an error.
fn end(api: &'static Driver, stream: CUstream) -> Result<CUgraph, Code> {
    let mut first = None;
    for _ in 0..2 {
        let mut graph: CUgraph = std::ptr::null_mut();
        // SAFETY: `graph` is valid for the write; the stream is leased by the caller.
        let code = unsafe { api.stream_end_capture(stream, &mut graph) }.unwrap_or(Code::SUCCESS);
        if code.is_success() && !graph.is_null() {
            return Ok(graph);
        }
        // The first code is the reason. The second one only says that there is no capture any more.
        first.get_or_insert(code);
    }
    Err(first.unwrap_or(Code::SUCCESS))
}

impl Queue<'_> {
    /// Call before the use of something (`what`) that is valid for this dispatch only. Fails while a graph is captured,
    /// because the graph would refer to it again.
    pub(crate) fn not_in_a_graph(&self, what: &str) -> Result<()> {
        if self.left.capturing {
            return Err(Error::unsupported(format!("{what} cannot be used while a CUDA graph is captured")));
        }
        Ok(())
    }
}
