//! One op in flight on the host engine.
//!
//! A node is the one allocation of a dispatch: state, op, operands and result. Linking it:
//!
//! 1. under each buffer's lock, take the completions it must follow and publish its own: only what was published
//!    earlier is followed, so no cycle can form;
//! 2. subscribe to each of them, counting;
//! 3. drop the guard count: at zero the node is ready.
//!
//! When it ran, its operands' keep-alives are dropped **before** it settles: buffers remember nodes, so a node must not
//! hold buffers (a cycle), and a waiter sees the memory back.

use crate::Error;
use crate::dispatch::{Parker, Settle, Then, Waiter};
use crate::sync::{Arc, Mutex};

/// The state of a node, without its types.
pub(crate) type Core = Settle<Error, Follower>;

/// A node without its types: what completions hold.
pub(crate) trait Runnable: Send + Sync {
    fn core(&self) -> &Core;
    /// Runs the op and settles. Called once.
    fn run(&self);
    /// A dependency is done; the last one starts the work.
    fn dep_done(self: Arc<Self>);
}

/// Who is told when a node settles.
pub(crate) enum Follower {
    /// A later op; a failure flows on along data edges only.
    Node { node: Arc<dyn Runnable>, data: bool },
    /// A sleeping thread.
    Thread(Arc<Parker>),
    /// Something to call, unless somebody took it back.
    #[cfg_attr(not(feature = "host"), expect(dead_code, reason = "made by the host engine only"))]
    Call(Arc<Mutex<Option<Then>>>),
}

impl Waiter for Follower {
    fn settled(self, failed: bool) {
        match self {
            Follower::Thread(parker) => parker.wake(),
            Follower::Call(then) => {
                if let Some(then) = { then.lock().take() } {
                    then();
                }
            }
            Follower::Node { node, data } => {
                if failed && data {
                    node.core().taint();
                }
                node.dep_done();
            }
        }
    }

    fn same(&self, other: &Self) -> bool {
        matches!((self, other), (Follower::Thread(a), Follower::Thread(b)) if Arc::ptr_eq(a, b))
    }
}

#[cfg(feature = "host")]
mod typed {
    use super::{Core, Follower, Runnable};
    use crate::buffer::{Allocation, Elems, View};
    use crate::device::Options;
    #[cfg(target_os = "linux")]
    use crate::dispatch::raw::{Leaving, Left, Raw};
    use crate::dispatch::{
        Backoff, Parker, SPIN, Submission, Subscribed, Task, TaskOf, Then, Wait, is_stealing, steal_one,
    };
    use crate::engine::{Completion, Epoch};
    use crate::error::Site;
    use crate::host::HostEngine;
    use crate::host::fault_plan::Fault;
    use crate::host::inside::Inside;
    use crate::op::{HostOf, Op, Spans, WritesOf};
    use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
    use crate::trace::{Event, OpInfo, Told};
    use crate::worker::Relay;
    use crate::{Error, Result};
    use smallvec::SmallVec;
    use std::ops::Deref;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::{Duration, Instant};

    struct Node<O: Op> {
        frame: Frame,
        op: O,
        cargo: Mutex<Option<Cargo<O>>>,
        outcome: Mutex<Outcome<O>>,
    }

    /// All of a node that does not depend on its op: what is done with that is compiled once.
    struct Frame {
        core: Core,
        epoch: Arc<Epoch>,
        engine: Arc<HostEngine>,
        claimed: AtomicBool,
        submitted: Option<Instant>,
        fault: Option<Fault>,
        timed: bool,
        label: Option<&'static str>,
        relay: Option<Relay>,
    }

    impl<O: Op> Deref for Node<O> {
        type Target = Frame;
        fn deref(&self) -> &Frame {
            &self.frame
        }
    }

    impl<O: Op> Told for Node<O> {
        fn names(&self) -> (&'static str, &'static str) {
            (O::NAME, O::LIBRARY)
        }
        fn info(&self) -> OpInfo {
            OpInfo::of(&self.op, self.label, None)
        }
    }

    /// What the op works on. Gone before the node settles.
    struct Cargo<O: Op> {
        reads: Spans<O::Reads>,
        writes: Spans<WritesOf<O>>,
        _keep: Keep,
    }

    type Keep = SmallVec<[Arc<Allocation>; 4]>;

    struct Outcome<O: Op> {
        raw: Option<O::Raw>,
        time: Option<Duration>,
        abandoned: bool,
    }

    impl HostEngine {
        /// Steps 3 to 6.
        pub(crate) fn submit<O: Op>(self: &Arc<Self>, s: Submission<'_, '_, O>) -> TaskOf<O> {
            let epoch = s.epoch;
            epoch.remember(s.op.subject().copied().unwrap_or(O::NAME));
            epoch.counters.dispatched();
            let trace = epoch.counters.trace();
            let after = trace.map(|t| (t, OpInfo::of(&s.op, s.options.label, None)));
            if let Some((trace, info)) = &after {
                trace.emit(Event::BeforeEnqueue, info);
            }
            let node = Arc::new(Node {
                frame: self.frame(epoch, s.options, trace.is_some(), s.relay),
                op: s.op,
                cargo: Mutex::new(Some(Cargo { reads: s.reads, writes: s.writes, _keep: kept(s.views) })),
                outcome: Mutex::new(Outcome { raw: None, time: None, abandoned: false }),
            });
            let me: Arc<dyn Runnable> = node.clone();
            link(&me, s.views, s.read_count);
            if let Some((trace, info)) = after {
                trace.emit(Event::AfterEnqueue, &info);
            }
            me.dep_done(); // the guard
            if self.is_inline() {
                node.wait(Wait::Adaptive, None);
            }
            node
        }

        fn frame(self: &Arc<Self>, epoch: &Arc<Epoch>, options: &Options, traced: bool, relay: Option<Relay>) -> Frame {
            Frame {
                core: Core::new(),
                epoch: epoch.clone(),
                engine: self.clone(),
                claimed: AtomicBool::new(false),
                submitted: traced.then(Instant::now),
                fault: self.plan().and_then(|plan| plan.next_op()),
                timed: options.timed,
                label: options.label,
                relay,
            }
        }
    }

    fn kept(views: &[View<'_>]) -> Keep {
        views.iter().map(|v| v.region.allocation.clone()).collect()
    }

    /// Publishes first, then follows: see the head of this file.
    fn link(me: &Arc<dyn Runnable>, views: &[View<'_>], read_count: usize) {
        let mut edges: SmallVec<[(Completion, bool); 6]> = SmallVec::new();
        for (i, view) in views.iter().enumerate() {
            let mut track = view.region.track.lock();
            if i < read_count {
                edges.extend(track.writers.iter().cloned().map(|c| (c, true)));
                track.publish_read(&Completion::Host(me.clone()));
            } else {
                // What overwrites a window only leaves the rest as it was, failures included.
                let data = !(view.overwritten && view.whole);
                edges.extend(track.writers.drain(..).map(|c| (c, data)));
                edges.extend(track.readers.drain(..).map(|c| (c, false)));
                track.publish_write(&Completion::Host(me.clone()));
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
                    me.core().taint();
                }
                me.core().dep_done(); // not the last: the guard is still up
            }
        }
    }

    impl Frame {
        /// Runs the host half, or what stands in its way; and how long it took, where that was asked for.
        fn carry_out(&self, half: &mut dyn FnMut() -> Result<()>) -> (Result<()>, Option<Duration>) {
            if let Err(error) = self.begin() {
                return (Err(error), None);
            }
            let _inside = Inside::enter();
            let start = self.timed.then(Instant::now);
            let result = catch_unwind(AssertUnwindSafe(half)).unwrap_or_else(|panic| Err(Error::panicked(&*panic)));
            (result, start.map(|start| start.elapsed()))
        }

        fn begin(&self) -> Result<()> {
            // The fault first: after it everything upstream has failed too, and only this error says why.
            if self.epoch.dead() {
                return Err(self.epoch.verdict());
            }
            if self.core.is_tainted() {
                return Err(Error::Upstream { operand: "an input".into(), site: Site::none() });
            }
            if let Some(relay) = &self.relay {
                relay.begin()?;
            }
            match &self.fault {
                None => {}
                Some(Fault::Fail) => return Err(Error::library("failed by the fault plan")),
                Some(Fault::Delay(time)) => std::thread::sleep(*time),
                Some(Fault::Poison) => {
                    self.epoch.fault("poisoned by the fault plan", None);
                    return Err(self.epoch.verdict());
                }
            }
            Ok(())
        }

        /// Settles once: the one who claims it counts, tells the trace and settles. (A waiter that saw the epoch end
        /// and the runner may both come here.)
        fn conclude(&self, told: &dyn Told, result: Result<()>) {
            let result = result.map_err(|e| {
                let (op, library) = told.names();
                e.in_op(op, library).locate(|s| {
                    s.set_device(self.epoch.label.to_string(), self.epoch.generation);
                })
            });
            if self.claimed.swap(true, Ordering::AcqRel) {
                return;
            }
            let failed = result.as_ref().err().cloned();
            let trace = self.epoch.counters.trace();
            if let Some(trace) = trace {
                trace.emit(Event::BeforeComplete, &told.info());
            }
            // Counted first, so that who sees it settled sees it counted.
            self.epoch.counters.completed();
            if let Some(error) = failed {
                self.epoch.counters.count_error(&error);
            }
            self.core.settle(result);
            if let (Some(trace), Some(submitted)) = (trace, self.submitted) {
                trace.emit(Event::AfterComplete(submitted.elapsed()), &told.info());
            }
        }

        fn is_settled(&self, told: &dyn Told) -> bool {
            if !self.core.is_settled() && self.epoch.dead() {
                self.conclude(told, Err(self.epoch.verdict()));
            }
            self.core.is_settled()
        }

        fn wait(&self, told: &dyn Told, how: Wait, until: Option<Instant>) -> bool {
            let past = |until: Option<Instant>| until.is_some_and(|until| Instant::now() >= until);
            if self.is_settled(told) {
                return true;
            }
            match how {
                Wait::Spin | Wait::Yield => loop {
                    if self.is_settled(told) {
                        return true;
                    }
                    if past(until) {
                        return false;
                    }
                    if how == Wait::Spin { std::hint::spin_loop() } else { std::thread::yield_now() }
                },
                Wait::Adaptive => {
                    let start = Instant::now();
                    loop {
                        // The clock is dearer than the look.
                        for _ in 0..64 {
                            if self.core.is_settled() {
                                return true;
                            }
                            std::hint::spin_loop();
                        }
                        if start.elapsed() >= SPIN || past(until) {
                            return self.park(told, until);
                        }
                    }
                }
                Wait::Rayon if !is_stealing() => {
                    let mut backoff = Backoff::new();
                    loop {
                        if self.is_settled(told) {
                            return true;
                        }
                        if past(until) {
                            return false;
                        }
                        if !steal_one() {
                            // Nothing to run: the own pool may finish, or new jobs may come.
                            backoff.pause(until);
                        } else {
                            backoff = Backoff::new();
                        }
                    }
                }
                Wait::Block | Wait::Rayon => self.park(told, until),
            }
        }

        fn subscribe(&self, told: &dyn Told, parker: &Arc<Parker>) -> Subscribed {
            self.epoch.sleep_on(parker);
            // After registering with the epoch, so that its end either is seen here or wakes the parker.
            if self.is_settled(told) || !self.core.subscribe(Follower::Thread(parker.clone())) {
                Subscribed::Settled
            } else {
                Subscribed::Armed
            }
        }

        fn unsubscribe(&self, parker: &Arc<Parker>) {
            self.epoch.forget(parker);
            self.core.unsubscribe(&Follower::Thread(parker.clone()));
        }

        /// Has `then` called when it settles, or at once.
        fn tell(&self, told: &dyn Told, then: Then) {
            let call = Arc::new(Mutex::new(Some(then)));
            let settled = self.is_settled(told) || !self.core.subscribe(Follower::Call(call.clone()));
            let then = if settled { call.lock().take() } else { None };
            if let Some(then) = then {
                then();
            }
        }

        /// A verdict after the work was done.
        fn failed(&self, told: &dyn Told, error: Error) -> Error {
            let (name, library) = told.names();
            let error = error.in_op(name, library).locate(|s| {
                s.set_device(self.epoch.label.to_string(), self.epoch.generation);
            });
            self.epoch.counters.count_error(&error);
            error
        }

        fn park(&self, told: &dyn Told, until: Option<Instant>) -> bool {
            let parker = Arc::new(Parker::default());
            self.subscribe(told, &parker);
            // The end of the epoch wakes everybody, also while another thread is still settling this very node.
            let done = loop {
                if self.is_settled(told) {
                    break true;
                }
                if until.is_some_and(|until| Instant::now() >= until) {
                    break false;
                }
                if self.epoch.dead() {
                    std::thread::yield_now();
                } else {
                    parker.sleep(until);
                }
            };
            self.unsubscribe(&parker);
            self.epoch.counters.forced_waits.fetch_add(1, Ordering::Relaxed);
            done
        }
    }

    impl<O: Op> Runnable for Node<O> {
        fn core(&self) -> &Core {
            &self.core
        }

        fn dep_done(self: Arc<Self>) {
            if self.core.dep_done() {
                let engine = self.engine.clone();
                engine.start(self);
            }
        }

        fn run(&self) {
            let Some(cargo) = self.cargo.lock().take() else { return };
            let mut raw = None;
            let (result, time) = self.carry_out(&mut || {
                // SAFETY: the allocations are kept by the cargo and are this process's memory. Nobody writes what is
                // read and nobody touches what is written: everything that used these regions before has settled
                // (their completions were dependencies), everything after waits for this node, and different operands
                // of one op are different regions (buffers are unique owners; `alias` makes its caller promise it).
                let left =
                    unsafe { self.op.host(O::Reads::slices(&cargo.reads), <WritesOf<O>>::slices_mut(&cargo.writes)) };
                raw = Some(left?);
                Ok(())
            });
            drop(cargo);
            let mut outcome = self.outcome.lock();
            outcome.time = time;
            if !outcome.abandoned {
                outcome.raw = raw.take();
            }
            drop(outcome);
            drop(raw);
            self.conclude(self, result);
        }
    }

    impl<O: Op> Task<HostOf<O>> for Node<O> {
        fn is_settled(&self) -> bool {
            self.frame.is_settled(self)
        }

        fn wait(&self, how: Wait, until: Option<Instant>) -> bool {
            self.frame.wait(self, how, until)
        }

        fn take(&self) -> Result<HostOf<O>> {
            self.op.finish(self.raw()?).map_err(|error| self.frame.failed(self, error))
        }

        #[cfg(target_os = "linux")]
        fn leave(&self, to: Leaving) -> Result<Left> {
            self.raw()?.leave(to).map_err(|error| self.frame.failed(self, error))
        }

        fn abandon(&self) {
            let mut outcome = self.outcome.lock();
            outcome.abandoned = true;
            let raw = outcome.raw.take();
            drop(outcome);
            drop(raw);
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
        /// What the op left.
        fn raw(&self) -> Result<O::Raw> {
            // An eager output takes without waiting for a policy's sake; the host engine has no pieces to wait for.
            self.wait(Wait::Adaptive, None);
            if let Some(error) = self.core.error() {
                return Err(error);
            }
            let raw = self.outcome.lock().raw.take();
            raw.ok_or_else(|| Error::library("the result was already taken"))
        }
    }
}
