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
use crate::core::buffer::{Allocation, View};
use crate::core::clock::{Deadline, Timing};
use crate::core::dispatch::{Gate, Ongoing, Subscribed, TaskHold, Wait};
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landing;
#[cfg(target_os = "linux")]
use crate::core::op::raw::{RemoteResult, RemoteTarget};
use crate::core::op::{AnyOp, Made};
use crate::core::order::Then;
use crate::core::order::{Completion, Follower, Parker, Runnable, Settle};
use crate::core::sync::{Arc, Mutex};
use crate::core::trace::{Event, OpInfo, OpMetadata};
use crate::engines::dispatch::{Call, Part, Submission};
use crate::engines::host::HostEngine;
use crate::engines::op::{Content, Facts, OpMemory, OpRef, Operation, Payload, in_class, taken};
use smallvec::SmallVec;
use std::time::Duration;

/// The memory of the operands.
type Keep = SmallVec<[Arc<Allocation>; 4]>;

/// One op in flight.
pub(super) struct Node<const WORDS: usize> {
    body: Body,
    /// The op and its operands' spans.
    op: Payload<WORDS>,
}

/// All of a node but the op, whose number of bytes is not known here.
struct Body {
    frame: Frame,
    /// Dropped before the node settles.
    keep: Mutex<Option<Keep>>,
    outcome: Mutex<Outcome>,
}

struct Outcome {
    landing: Option<Landing>,
    /// Buffers that the op made.
    made: Option<Box<Made>>,
    time: Option<Duration>,
    abandoned: bool,
}

/// A node as the engine submits it, and as its pending holds it.
type Handles = (Arc<dyn Runnable>, Arc<dyn Ongoing>);

impl Call<'_> {
    /// Becomes a node of the host engine. Fails if the op and its operands are not there.
    fn become_node(&mut self, frame: Frame, keep: Keep) -> Result<Arc<dyn Runnable>> {
        let from = &mut self.memory;
        if from.operation().is_none() {
            return Err(taken());
        }
        let (node, task) = in_class!(from.facts(), Content::Both, WORDS => Node::<WORDS>::handles(frame, keep, from));
        self.task = Some(TaskHold::Shared(task));
        Ok(node)
    }
}

impl HostEngine {
    /// Steps 3 to 6 of `device/dispatch/mod.rs`.
    pub(crate) fn submit(self: &Arc<Self>, s: &mut Submission<'_, '_, '_>) -> Result<()> {
        self.submit_with(s, &[])
    }

    /// The same over several devices, of which this is the first. It is one node, in the histories of buffers of all of
    /// them, and counts as an operation of each.
    pub(crate) fn submit_across(
        self: &Arc<Self>,
        s: &mut Submission<'_, '_, '_>,
        parts: &[Part<'_, '_>],
    ) -> Result<()> {
        self.submit_with(s, parts.get(1..).unwrap_or_default())
    }

    fn submit_with(self: &Arc<Self>, s: &mut Submission<'_, '_, '_>, others: &[Part<'_, '_>]) -> Result<()> {
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

/// A node for code that is compiled once for all of them.
#[derive(Clone, Copy)]
struct NodeRef<'n> {
    body: &'n Body,
    facts: &'static Facts,
    op: Option<OpRef<'n>>,
}

impl OpMetadata for NodeRef<'_> {
    fn names(&self) -> (&'static str, &'static str) {
        (self.facts.name, self.facts.library)
    }
    fn info(&self) -> OpInfo {
        self.facts.info(self.op, self.body.frame.label, None)
    }
}

impl<const WORDS: usize> Node<WORDS> {
    /// Written in place and not through the stack, because a node is large.
    fn handles(frame: Frame, keep: Keep, from: &mut OpMemory<'_>) -> Handles {
        let place = Arc::<Self>::new_uninit();
        let to = Arc::as_ptr(&place).cast_mut().cast::<Self>();
        // SAFETY: the memory is large enough for a node and not shared yet; `Arc::get_mut` would check that with a
        // locked instruction. Both fields are written.
        let node = unsafe {
            (&raw mut (*to).body).write(Body::new(frame, keep));
            Payload::fill(&raw mut (*to).op, from, Content::Both);
            place.assume_init()
        };
        (node.clone(), node)
    }

    #[inline]
    fn node_ref(&self) -> NodeRef<'_> {
        NodeRef { body: &self.body, facts: self.op.facts(), op: self.op.op() }
    }
}

impl<const WORDS: usize> Runnable for Node<WORDS> {
    fn core(&self) -> &Settle {
        &self.body.frame.core
    }

    fn place(&self) -> u64 {
        self.body.frame.place
    }

    fn dep_done(self: Arc<Self>) {
        if self.body.frame.core.dep_done() {
            start(Arc::clone(&self.body.frame.engine), self);
        }
    }

    fn run(self: Arc<Self>) {
        if let Some(operation) = self.op.operation() {
            self.node_ref().run(operation);
        }
    }
}

impl NodeRef<'_> {
    fn run(self, operation: Operation<'_>) {
        let body = self.body;
        let Some(keep) = body.keep.lock().take() else { return };
        let mut landing = None;
        let mut ran = body.frame.carry_out(&mut |make| {
            // Earlier users of these regions have settled (their completions were dependencies), and later ones wait
            // for this node. Different operands of one op are different regions, because buffers are unique owners. If
            // an `alias` makes two buffers of one, and two threads submit through both, the code that made the alias
            // has promised that the windows do not overlap.
            // SAFETY: `keep` keeps the allocations, which are this process's memory; so no other code writes what
            // is read, and no other code accesses what is written.
            landing = Some(unsafe { operation.host(Some(make)) }?);
            Ok(())
        });
        drop(keep);
        {
            let mut outcome = body.outcome.lock();
            outcome.time = ran.time;
            if !outcome.abandoned {
                outcome.landing = landing.take();
                outcome.made = ran.made.take();
            }
        }
        drop(landing);
        body.frame.conclude_with(&self, ran);
    }

    /// Waits for the end, and takes what the op has left.
    fn land(self) -> Result<Landing> {
        self.body.frame.end(&self)?;
        self.body.outcome.lock().landing.take().ok_or_else(already_taken)
    }

    fn answer(self, landing: &mut Landing, made: &mut Made) -> Result<()> {
        *landing = self.land()?;
        if let Some(kept) = self.body.outcome.lock().made.take() {
            *made = *kept;
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn to_remote(self, to: RemoteTarget) -> Result<RemoteResult> {
        self.land()?.into_remote(to).map_err(|error| self.body.frame.failed(&self, error))
    }
}

impl Body {
    fn new(frame: Frame, keep: Keep) -> Self {
        let outcome = Outcome { landing: None, made: None, time: None, abandoned: false };
        Body { frame, keep: Mutex::new(Some(keep)), outcome: Mutex::new(outcome) }
    }

    fn abandon(&self) {
        let mut outcome = self.outcome.lock();
        outcome.abandoned = true;
        let left = (outcome.landing.take(), outcome.made.take());
        drop(outcome);
        drop(left);
    }
}

impl<const WORDS: usize> Ongoing for Node<WORDS> {
    fn answer(&self, landing: &mut Landing, made: &mut Made) -> Result<AnyOp<'_>> {
        self.node_ref().answer(landing, made)?;
        self.op().ok_or_else(taken)
    }

    fn op(&self) -> Option<AnyOp<'_>> {
        Some(self.op.op()?.any())
    }

    fn failed(&self, error: Error) -> Error {
        self.body.frame.failed(&self.node_ref(), error)
    }

    fn is_settled(&self) -> bool {
        self.body.frame.is_settled(&self.node_ref())
    }

    fn wait(&self, how: Wait, until: Option<Deadline>) -> bool {
        self.body.frame.wait(&self.node_ref(), how, until)
    }

    fn waits_for_hook(&self) -> bool {
        waits_for_hook(self.body.frame.place)
    }

    fn timing(&self) -> &'static Timing {
        self.body.frame.epoch.timing
    }

    #[cfg(target_os = "linux")]
    fn to_remote(&self, to: RemoteTarget) -> Result<RemoteResult> {
        self.node_ref().to_remote(to)
    }

    fn abandon(&self) {
        self.body.abandon();
    }

    fn device_time(&self) -> Option<Duration> {
        self.body.outcome.lock().time
    }

    fn subscribe(&self, parker: &Arc<Parker>) -> Subscribed {
        self.body.frame.subscribe(&self.node_ref(), parker)
    }

    fn unsubscribe(&self, parker: &Arc<Parker>) {
        self.body.frame.unsubscribe(parker);
    }

    fn tell(&self, then: Then) -> Option<Then> {
        self.body.frame.tell(&self.node_ref(), then);
        None
    }
}
