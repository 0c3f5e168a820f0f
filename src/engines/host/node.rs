//! One op in flight on the host engine.
//!
//! A node is the single allocation of a dispatch: state, op, operands and result. Linking it takes these steps:
//!
//! 1. it gets a place in the order of all nodes of the process;
//! 2. under each buffer's lock, it takes the completions that it must follow and publishes its own. It follows only
//!    nodes with an earlier place, so no cycle can form, even when two threads submit through aliases of the same
//!    buffers, or when one op gets a buffer and its alias. A completion that it does not follow stays in the buffer's
//!    history beside its own, for the next operation;
//! 3. it subscribes to each of these completions and counts them;
//! 4. it drops the guard count: at zero the node is ready.
//!
//! After it ran, its operands' keep-alives are dropped **before** it settles. Buffers refer to nodes, so a settled node
//! must not hold buffers (a reference cycle), and a waiter must find the memory freed.

use super::frame::{Frame, Share};
use super::hooked::{Hooked, waits_for_hook};
use crate::core::buffer::{Allocation, Elems, View};
use crate::core::clock::{Deadline, Timing};
use crate::core::dispatch::{Gate, Ongoing, Subscribed, Task, Wait};
use crate::core::error::{Error, Result};
#[cfg(target_os = "linux")]
use crate::core::op::raw::{Raw, RemoteResult, RemoteTarget};
use crate::core::op::{Contained, Made, Make, Spans};
use crate::core::order::Then;
use crate::core::order::{Completion, Follower, Parker, Runnable, Settle};
use crate::core::sync::{Arc, Mutex};
use crate::core::trace::{Event, OpInfo, OpMetadata};
use crate::engines::dispatch::Part;
use crate::engines::dispatch::Submission;
use crate::engines::host::HostEngine;
use crate::engines::op::SpansOf;
use crate::engines::op::{HostOf, Op, WritesOf};
use smallvec::SmallVec;
use std::ops::Deref;
use std::time::Duration;

/// One op in flight. The parts that do not depend on the op are in its `Frame`.
pub(crate) struct Node<O: Op> {
    frame: Frame,
    op: Contained<O>,
    operands: Mutex<Option<Operands<O>>>,
    outcome: Mutex<Outcome<O>>,
}

impl<O: Op> Deref for Node<O> {
    type Target = Frame;
    fn deref(&self) -> &Frame {
        &self.frame
    }
}

impl<O: Op> OpMetadata for Node<O> {
    fn names(&self) -> (&'static str, &'static str) {
        (O::NAME, O::LIBRARY)
    }
    fn info(&self) -> OpInfo {
        OpInfo::new(&*self.op, self.label, None)
    }
}

/// The op's operands, and what keeps their memory alive. Dropped before the node settles.
type Operands<O> = (SpansOf<O>, Keep);

/// The memory of the operands.
pub(crate) type Keep = SmallVec<[Arc<Allocation>; 4]>;

struct Outcome<O: Op> {
    raw: Option<O::Raw>,
    /// Buffers that the op made.
    made: Option<Box<Made>>,
    time: Option<Duration>,
    abandoned: bool,
}

impl HostEngine {
    /// Steps 3 to 6 of `device/dispatch/mod.rs`.
    pub(crate) fn submit(self: &Arc<Self>, s: &mut Submission<'_, '_>) -> Result<()> {
        self.submit_with(s, &[])
    }

    /// The same over several devices, of which this is the first. It is one node, in the histories of buffers of all of
    /// them, and counts as an operation of each.
    pub(crate) fn submit_across(self: &Arc<Self>, s: &mut Submission<'_, '_>, parts: &[Part<'_, '_>]) -> Result<()> {
        self.submit_with(s, parts.get(1..).unwrap_or_default())
    }

    fn submit_with(self: &Arc<Self>, s: &mut Submission<'_, '_>, others: &[Part<'_, '_>]) -> Result<()> {
        let epoch = s.epoch;
        epoch.remember(s.call.subject(), s.options.label);
        others.iter().for_each(|other| other.epoch.remember(s.call.subject(), s.options.label));
        let trace = epoch.counters.trace();
        // This calls the user's own code, which may panic: nothing is counted yet, and no later op follows this one
        // yet.
        let after = match trace {
            Some(trace) => Some((trace, s.info(None)?)),
            None => None,
        };
        // In a worker process this thread only submits, and it is already awake.
        #[cfg(target_os = "linux")]
        let here = s.relay.as_ref().is_some_and(|relay| relay.runs_here(s.call.cost()));
        #[cfg(not(target_os = "linux"))]
        let here = false;
        // Trace hooks and the delays of a fault plan must not run on the submitting thread.
        let prompt = trace.is_none() && self.plan().is_none() && others.is_empty() && s.call.is_prompt();
        let here = !self.is_inline() && (here || prompt);
        if let Some((trace, info)) = &after {
            trace.begin(info, (s.operands(), s.read_count));
        }
        let gate = Gate::enter(s.views, s.read_count, s.is_gated());
        // After the hook, because the hook may wait for everything in flight.
        let number = epoch.flow.enter();
        let traced = trace.map(|_| s.number);
        let elsewhere = others.iter().map(|other| Share::new(other.epoch)).collect();
        let frame = self.frame((epoch, number), elsewhere, (s.options, s.timed), traced, s.relay.take());
        let call = &mut *s.call;
        let me = match call.become_node(frame, kept(s.views)) {
            Ok(node) => node,
            Err(error) => {
                epoch.flow.leave(number);
                return Err(error);
            }
        };
        link(&me, s.views, s.read_count);
        drop(gate);
        if let Some((trace, info)) = after {
            let _hooked = Hooked::enter(me.clone());
            trace.emit(Event::AfterEnqueue, &info);
        }
        // Drop the guard count.
        if !here {
            me.dep_done();
        } else if me.core().dep_done() {
            self.run_here(me);
        }
        let inline = |part: &Part<'_, '_>| part.epoch.engine.as_host().is_some_and(|engine| engine.is_inline());
        if (self.is_inline() || others.iter().any(inline))
            && let Some(node) = call.ongoing()
        {
            node.wait(Wait::Adaptive, None);
        }
        Ok(())
    }
}

#[cold]
fn already_taken() -> Error {
    Error::library("the result was already taken")
}

fn kept(views: &[View<'_>]) -> Keep {
    views.iter().map(|v| v.region.allocation.clone()).collect()
}

fn start(engine: Arc<HostEngine>, node: Arc<dyn Runnable>) {
    engine.start(node);
}

/// Publishes first, then subscribes: see the head of this file.
fn link(me: &Arc<dyn Runnable>, views: &[View<'_>], read_count: usize) {
    let mut edges: SmallVec<[(Completion, bool); 6]> = SmallVec::new();
    let (completion, place) = (Completion::Host(me.clone()), me.place());
    let follows = |other: &Completion| !matches!(other, Completion::Host(node) if node.place() >= place);
    for (i, view) in views.iter().enumerate() {
        let mut track = view.region.history.lock();
        if i < read_count {
            edges.extend(track.writers.iter().filter(|c| follows(c)).cloned().map(|c| (c, true)));
            track.publish_read(&completion);
        } else {
            let data = view.needs_contents();
            if view.is_part() {
                edges.extend(track.all().filter(|c| follows(c)).map(|c| (c.clone(), false)));
                track.publish_part(&completion);
            } else {
                track.take_over(&completion, follows, |c, wrote| edges.push((c, wrote && data)));
            }
            view.written();
        }
    }
    for (completion, data) in edges {
        let dep = match completion {
            Completion::Host(dep) => dep,
            #[cfg(any(feature = "cuda", target_os = "linux"))]
            _ => continue, // a host device's buffer was never written by another engine
        };
        me.core().add_dep();
        let follower = Follower::Node { node: me.clone(), data };
        if !dep.core().subscribe(follower) {
            if data && dep.core().has_failed() {
                me.core().taint(dep.core().error());
            }
            me.core().dep_done(); // not the last one: the guard count is still held
        }
    }
}

/// Runs an op's host half; with `make`, the op may make buffers. It is not inlined, because it may be long and has
/// several callers.
///
/// # Safety
/// The spans lie in live memory of this process; no other code writes what is read, and no other code accesses what is
/// written.
#[inline(never)]
pub(crate) unsafe fn host_half<O: Op>(
    op: &O,
    reads: &Spans<O::Reads>,
    writes: &Spans<WritesOf<O>>,
    make: Option<&mut Make<'_>>,
) -> Result<O::Raw> {
    // SAFETY: the caller guarantees it.
    let (reads, writes) = unsafe { (O::Reads::slices(reads), <WritesOf<O>>::slices_mut(writes)) };
    match make {
        Some(make) => op.host_made(reads, writes, make),
        None => op.host(reads, writes),
    }
}

impl<O: Op> Runnable for Node<O> {
    fn core(&self) -> &Settle {
        &self.core
    }

    fn place(&self) -> u64 {
        self.place
    }

    fn dep_done(self: Arc<Self>) {
        if self.core.dep_done() {
            start(Arc::clone(&self.frame.engine), self);
        }
    }

    fn run(self: Arc<Self>) {
        let Some(operands) = self.operands.lock().take() else { return };
        let mut raw = None;
        let mut ran = self.frame.carry_out(&mut |make| {
            let (reads, writes) = &operands.0;
            // Earlier users of these regions have settled (their completions were dependencies), and later ones wait
            // for this node. Different operands of one op are different regions, because buffers are unique owners. If
            // an `alias` makes two buffers of one, and two threads submit through both, the code that made the alias
            // has promised that the windows do not overlap.
            // SAFETY: `operands` keeps the allocations, which are this process's memory; so no other code writes what
            // is read, and no other code accesses what is written.
            raw = Some(unsafe { host_half(&*self.op, reads, writes, Some(make)) }?);
            Ok(())
        });
        drop(operands);
        {
            let mut outcome = self.outcome.lock();
            outcome.time = ran.time;
            if !outcome.abandoned {
                outcome.raw = raw.take();
                outcome.made = ran.made.take();
            }
        }
        drop(raw);
        self.frame.conclude_with(&*self, ran);
    }
}

impl<O: Op> Task<HostOf<O>> for Node<O> {
    fn take(&self, made: &mut Made) -> Result<HostOf<O>> {
        let raw = self.raw()?;
        if let Some(kept) = self.outcome.lock().made.take() {
            *made = *kept;
        }
        match self.op.conclude(raw, made) {
            Err(error) => Err(self.frame.failed(self, error)),
            host => host,
        }
    }
}

impl<O: Op> Ongoing for Node<O> {
    fn failed(&self, error: Error) -> Error {
        self.frame.failed(self, error)
    }

    fn is_settled(&self) -> bool {
        self.frame.is_settled(self)
    }

    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.frame.wait(self, how, until)
    }

    fn waits_for_hook(&self) -> bool {
        waits_for_hook(self.place)
    }

    fn timing(&self) -> &'static Timing {
        self.frame.epoch.timing
    }

    #[cfg(target_os = "linux")]
    fn to_remote(&self, to: RemoteTarget) -> Result<RemoteResult> {
        self.raw()?.to_remote(to).map_err(|error| self.frame.failed(self, error))
    }

    fn abandon(&self) {
        let mut outcome = self.outcome.lock();
        outcome.abandoned = true;
        let left = (outcome.raw.take(), outcome.made.take());
        drop(outcome);
        drop(left);
    }

    fn device_time(&self) -> Option<Duration> {
        self.outcome.lock().time
    }

    fn subscribe(&self, parker: &Arc<Parker>) -> Subscribed {
        self.frame.subscribe(self, parker)
    }

    fn unsubscribe(&self, parker: &Arc<Parker>) {
        self.frame.unsubscribe(parker);
    }

    fn tell(&self, then: Then) -> Option<Then> {
        self.frame.tell(self, then);
        None
    }
}

impl<O: Op> Node<O> {
    pub(crate) fn new(frame: Frame, op: O, operands: (SpansOf<O>, Keep)) -> Arc<Self> {
        let outcome = Outcome { raw: None, made: None, time: None, abandoned: false };
        let (operands, outcome) = (Mutex::new(Some(operands)), Mutex::new(outcome));
        // Written in place and not through the stack, because a node is large.
        let place = Arc::<Self>::new_uninit();
        // SAFETY: the memory is large enough for a node and not shared yet; `Arc::get_mut` would check that with a
        // locked instruction.
        unsafe {
            Arc::as_ptr(&place).cast_mut().cast::<Self>().write(Node {
                frame,
                op: Contained::new(op),
                operands,
                outcome,
            });
            place.assume_init()
        }
    }

    /// Waits for the end, and takes the op's raw result.
    fn raw(&self) -> Result<O::Raw> {
        self.frame.end(self)?;
        match self.outcome.lock().raw.take() {
            Some(raw) => Ok(raw),
            None => Err(already_taken()),
        }
    }
}
