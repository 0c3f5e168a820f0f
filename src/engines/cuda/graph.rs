//! Replays by CUDA graphs: what a dispatch would enqueue is captured once for each set of addresses, and launched as one
//! from then on.
//!
//! ```text
//!   addresses seen before? ──no──> enqueued as ever
//!          │yes
//!   an instance for them? ──yes──> launched
//!          │no
//!   captured, and: an instance to spare? ──> made       all in use ──> the one used the longest ago is updated, or made anew
//! ```
//!
//! - A capture is [`RELAXED`], on the stream of a seat (`members.rs`), under its lease: nobody else enqueues there. What a
//!   library works in belongs to the seat, and every launch is on its stream, so no two use it at a time.
//! - **It has the driver for itself** (`quiet.rs`): nobody else of this process is inside the driver or a library meanwhile. Where
//!   others stay inside for too long it is put off, the longer the more often that happens; a replay never waits for it.
//! - **What a graph refers to lasts as long as its instance**: operands by the program's key, plans and whatever the halves
//!   keep by [`Instance::kept`]. What a capture cannot have, because it does not last or would be a node of its own (scratch,
//!   staging, tables, a handle or a kernel not loaded yet), is refused ([`Queue::not_in_a_graph`]); then the dispatch is enqueued
//!   as ever, and after [`ATTEMPTS`] so are all that follow.
//! - Halves that ran once on the seat have made their handles and workspaces and loaded their kernels: that is why the first
//!   time with new addresses is no capture. Addresses that never come again are never captured.

use super::api::{Code, Driver};
use super::queue::Queue;
use super::task_core::Kept;
use super::{Core, Native};
use crate::library::Object;
use crate::op::guarded;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};
use crate::{Error, Result};
use cudarc::driver::sys::{CUgraph, CUgraphExec, CUstream};
use std::any::Any;
use std::collections::VecDeque;

/// Mode of a capture that forbids nothing to other threads.
const RELAXED: u32 = 2;
/// Instances of one program.
const MOST: usize = 4;
/// Sets of addresses that are remembered.
const KNOWN: usize = 8;
/// Captures that may fail.
const ATTEMPTS: usize = 2;
/// A capture is put off to the next replay, to the second after it, and so on; at most by 2 to the power of this.
const MOST_PUT_OFF: u64 = 6;

/// The graphs of one program.
#[derive(Default)]
pub(crate) struct Graphs {
    state: Mutex<State>,
    /// Asked for: without it everything is enqueued as ever.
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
    /// No capture before this replay, by `now`: the others would wait for nothing.
    not_before: u64,
}

struct Instance {
    key: Vec<u64>,
    exec: Object<Native<CUgraphExec>>,
    kept: Kept,
    used: u64,
}

/// A graph that was captured, until it is instantiated.
struct Captured {
    graph: CUgraph,
    core: Arc<Core>,
    kept: Kept,
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: from the end of a capture, destroyed once; instances do not need it. Under the lease, the context current.
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
    /// Does what `half` enqueues, as a graph where that is possible. `key`: all addresses in it that may differ from time to
    /// time, and last its version: what has another is never asked for again. `keep`: what it refers to.
    pub(crate) fn run(
        &self,
        queue: &mut Queue<'_>,
        key: &[u64],
        keep: &Arc<dyn Any + Send + Sync>,
        half: &mut dyn FnMut(&mut Queue<'_>) -> Result<()>,
    ) -> Result<()> {
        if !self.wanted.load(Ordering::Relaxed) || !queue.is_on_a_seat() {
            return half(queue);
        }
        let state = &mut *self.state.lock(); // who enqueues the same program waits at its gate
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
                        // Nothing was enqueued. What stands in its way, if it does, is told by the calls themselves.
                        state.failed += 1;
                        return half(queue);
                    }
                }
            }
        };
        let Some(instance) = state.instances.get_mut(index) else { return half(queue) };
        instance.used = state.now;
        let stream = queue.stream();
        // SAFETY: instance and stream are alive under the lease, and the stream is the one it was captured on; the caller
        // vouches for what the graph refers to.
        let code = unsafe { queue.core.context.api.graph_launch(instance.exec.0, stream) };
        queue.check("cuGraphLaunch", code.unwrap_or(Code::SUCCESS))?;
        self.launches.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// An instance for these addresses.
    fn install(
        &self,
        state: &mut State,
        queue: &mut Queue<'_>,
        key: &[u64],
        mut graph: Captured,
        keep: &Arc<dyn Any + Send + Sync>,
    ) -> Result<usize> {
        let mut kept = std::mem::take(&mut graph.kept);
        kept.push(keep.clone());
        kept.extend(queue.plans.iter().cloned());
        let used = state.now;
        // One of another version will not come again.
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
        // Launches of the former one may be in flight: what they refer to goes behind this dispatch.
        let former = std::mem::replace(&mut instance.kept, kept);
        queue.left.kept.push(Arc::new(former));
        if let Some(exec) = exec {
            queue.left.kept.push(Arc::new(std::mem::replace(&mut instance.exec, exec)));
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

/// Gives the instance what the graph has. False: it has other nodes.
fn update(exec: &Native<CUgraphExec>, graph: &Captured) -> bool {
    /// As `CUgraphExecUpdateResultInfo`: which node stood in the way.
    #[repr(C)]
    struct Outcome(u32, [usize; 2]);
    let mut outcome = Outcome(0, [0; 2]);
    // SAFETY: instance and graph are alive; `outcome` has the layout that the call writes.
    let code = unsafe { graph.core.context.api.graph_exec_update(exec.0, graph.graph, (&raw mut outcome).cast()) };
    let _ = (outcome.0, outcome.1);
    code.is_some_and(|code| code.is_success())
}

impl State {
    /// These addresses came before.
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

/// Captures what `half` enqueues. Nothing is on the stream afterwards.
fn capture(queue: &mut Queue<'_>, half: &mut dyn FnMut(&mut Queue<'_>) -> Result<()>) -> Result<Captured> {
    let (api, stream) = (queue.core.context.api, queue.stream_of_handles());
    // SAFETY: the stream is this slot's, under its lease.
    let code = unsafe { api.stream_begin_capture(stream, RELAXED) }.ok_or_else(missing)?;
    queue.check("cuStreamBeginCapture", code)?;
    let (untouched, before) = (queue.left.untouched, std::mem::take(&mut queue.left.kept));
    queue.left.capturing = true;
    let outcome = guarded(&mut || half(queue));
    queue.left.capturing = false;
    queue.left.untouched = untouched;
    let kept = std::mem::replace(&mut queue.left.kept, before);
    let graph = end(api, stream).map(|graph| Captured { graph, core: queue.core.clone(), kept });
    outcome?;
    graph.map_err(|code| super::fault::error(code, "cuStreamEndCapture"))
}

/// Ends the capture; the stream takes work again, whatever is answered.
fn end(api: &'static Driver, stream: CUstream) -> Result<CUgraph, Code> {
    let mut first = None;
    for _ in 0..2 {
        let mut graph: CUgraph = std::ptr::null_mut();
        // SAFETY: `graph` is valid for the write; the stream is leased by the caller.
        let code = unsafe { api.stream_end_capture(stream, &mut graph) }.unwrap_or(Code::SUCCESS);
        if code.is_success() && !graph.is_null() {
            return Ok(graph);
        }
        // The first answer is the reason; what comes after it is that there is no capture any more.
        first.get_or_insert(code);
    }
    Err(first.unwrap_or(Code::SUCCESS))
}

impl Queue<'_> {
    /// What is had here is for this time alone: refused while a graph is captured, which would refer to it again.
    pub(crate) fn not_in_a_graph(&self, what: &str) -> Result<()> {
        if self.left.capturing {
            return Err(Error::unsupported(format!("{what} in a graph")));
        }
        Ok(())
    }
}
