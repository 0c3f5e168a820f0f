//! The part of a node that does not depend on its op: running, settling, waiting.

use super::HostEngine;
use super::fault_plan::Fault;
use super::hooked::waits_for_hook;
use crate::core::clock::{self, Clock, Deadline, Stopwatch};
use crate::core::dispatch::Options;
use crate::core::dispatch::{Backoff, Subscribed, Wait, is_stealing, steal_one};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::inside::Inside;
use crate::core::op::{Made, Make};
use crate::core::order::Then;
use crate::core::order::{Follower, Parker, Settle};
use crate::core::sync::{Arc, AtomicU8, AtomicU64, Mutex, Ordering};
use crate::core::trace::{DeviceTime, Event, OpInfo, OpMetadata};
use crate::engines::worker::shared::Relay;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::Duration;

const OPEN: u8 = 0;
/// A thread is settling the node.
const CLAIMED: u8 = 1;
/// That thread has counted the node as complete, or is about to, and settles it right after that.
const COUNTED: u8 = 2;

/// The part of a node that does not depend on its op. Its code is compiled only once.
pub(crate) struct Frame {
    pub(super) core: Settle,
    /// See [`Runnable::place`](super::Runnable::place).
    pub(super) place: u64,
    pub(super) epoch: Arc<Epoch>,
    /// The number of this operation in the epoch's flow.
    pub(super) number: u64,
    /// The other devices, for a dispatch over several.
    pub(super) elsewhere: Box<[Share]>,
    pub(super) engine: Arc<HostEngine>,
    /// The progress of settling: one of [`OPEN`], [`CLAIMED`], [`COUNTED`].
    pub(super) end: AtomicU8,
    pub(super) traced: Option<Box<Traced>>,
    pub(super) fault: Option<Fault>,
    pub(super) timed: bool,
    pub(super) label: Option<&'static str>,
    pub(super) relay: Option<Relay>,
}

/// What belongs to one of the other devices of a dispatch over several.
pub(super) struct Share {
    pub(super) epoch: Arc<Epoch>,
    /// The number of this operation in the epoch's flow.
    pub(super) number: u64,
    pub(super) fault: Option<Fault>,
}

impl Share {
    /// Counts the operation as one of the epoch's.
    pub(super) fn new(epoch: &Arc<Epoch>) -> Self {
        let plan = epoch.engine.as_host().and_then(|engine| engine.plan());
        let fault = plan.and_then(|plan| plan.next_op());
        Share { number: epoch.flow.enter(), epoch: epoch.clone(), fault }
    }
}

/// For trace hooks.
pub(super) struct Traced {
    number: u64,
    submitted: Stopwatch,
    ran: OnceLock<DeviceTime>,
}

/// The outcome of a host half.
pub(super) struct Ran {
    result: Result<()>,
    /// The buffers that the op made.
    pub(super) made: Option<Box<Made>>,
    /// How long it took, if that was asked for.
    pub(super) time: Option<Duration>,
}

impl HostEngine {
    pub(super) fn frame(
        self: &Arc<Self>,
        (epoch, number): (&Arc<Epoch>, u64),
        elsewhere: Box<[Share]>,
        (options, timed): (&Options, bool),
        traced: Option<u64>,
        relay: Option<Relay>,
    ) -> Frame {
        // Places are counted for the process, not for the device: a copy between devices follows nodes of both.
        static PLACES: AtomicU64 = AtomicU64::new(0);
        Frame {
            core: Settle::new(),
            place: PLACES.fetch_add(1, Ordering::Relaxed),
            epoch: epoch.clone(),
            number,
            elsewhere,
            engine: self.clone(),
            end: AtomicU8::new(OPEN),
            traced: traced
                .map(|number| Box::new(Traced { number, submitted: epoch.timing.clock.start(), ran: OnceLock::new() })),
            fault: self.plan().and_then(|plan| plan.next_op()),
            timed,
            label: options.label.copied(),
            relay,
        }
    }
}

impl Frame {
    /// Runs the host half, unless a fault (real or injected) or a failure upstream prevents it.
    pub(super) fn carry_out(&self, half: &mut dyn FnMut(&mut Make<'_>) -> Result<()>) -> Ran {
        if let Err(error) = self.begin() {
            return Ran { result: Err(error), made: None, time: None };
        }
        let _inside = Inside::enter();
        let began = self.traced.as_ref().filter(|_| self.timed).map(|traced| traced.submitted.elapsed());
        let start = self.timed.then(|| self.epoch.timing.clock.start());
        let mut made = Made::default();
        let half = || half(&mut Make::new(&self.epoch, self.label, &mut made));
        let result = catch_unwind(AssertUnwindSafe(half)).unwrap_or_else(|panic| Err(Error::panicked(&*panic)));
        let made = (!made.is_empty()).then(|| Box::new(made));
        let time = start.map(|start| start.elapsed());
        if let (Some(traced), Some(took)) = (&self.traced, time) {
            let _ = traced.ran.set(DeviceTime::new(began, took));
        }
        Ran { result, made, time }
    }

    /// Settles the node with the result. Buffers that the op made and that no pending takes are dropped before that.
    pub(super) fn conclude_with(&self, op: &dyn OpMetadata, ran: Ran) {
        drop(ran.made);
        self.conclude(op, ran.result);
    }

    /// Waits until the node is settled, and returns its error if it failed.
    pub(super) fn end(&self, op: &dyn OpMetadata) -> Result<()> {
        // An output that is `EAGER` is taken without a wait by the caller's policy. The host engine cannot deliver it
        // in pieces, so it waits here.
        self.wait(op, Wait::Adaptive, None);
        match self.core.error() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    pub(super) fn begin(&self) -> Result<()> {
        // The fault is checked first: after a fault everything upstream has failed too, and only this error tells the
        // cause.
        if let Some(epoch) = self.dead() {
            return Err(epoch.verdict());
        }
        if self.core.is_tainted() {
            return Err(Error::upstream("", self.core.cause()));
        }
        if let Some(relay) = &self.relay {
            relay.begin()?;
        }
        inject(self.fault.as_ref(), &self.epoch)?;
        self.elsewhere.iter().try_for_each(|share| inject(share.fault.as_ref(), &share.epoch))
    }

    /// The epochs of its devices.
    fn epochs(&self) -> impl Iterator<Item = &Arc<Epoch>> {
        std::iter::once(&self.epoch).chain(self.elsewhere.iter().map(|share| &share.epoch))
    }

    /// The epoch of one of its devices that is gone.
    fn dead(&self) -> Option<&Arc<Epoch>> {
        self.epochs().find(|epoch| epoch.dead())
    }

    /// No longer counts as an operation of its devices.
    fn leave(&self) {
        self.epoch.flow.leave(self.number);
        self.elsewhere.iter().for_each(|share| share.epoch.flow.leave(share.number));
    }

    /// Settles once: the thread that claims the node counts it, calls the trace hooks and settles it. (A waiter that
    /// saw the epoch end and the runner may both call this.)
    pub(super) fn conclude(&self, op: &dyn OpMetadata, result: Result<()>) {
        let result = result.map_err(|e| {
            let (op, library) = op.names();
            self.epoch.meter.name_largest(e).in_op(op, library).locate(|s| {
                s.set_device(self.epoch.label.to_string(), self.epoch.generation);
            })
        });
        if self.end.compare_exchange(OPEN, CLAIMED, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            if self.epoch.is_forked() {
                // The thread that claimed it is not in this process, and will not settle it here.
                self.core.settle(result);
            }
            return;
        }
        let failed = result.as_ref().err().cloned();
        let trace = self.epoch.counters.trace().zip(self.traced.as_ref());
        let info = |traced: &Traced| op.info_at_end().numbered(traced.number);
        if let Some((trace, traced)) = trace {
            trace.emit(Event::BeforeComplete, &info(traced));
        }
        // Counted before it is settled, so that a thread that sees it settled also sees it counted. `COUNTED` is stored
        // before the count, so that a thread that sees the count knows that the node is about to settle.
        self.end.store(COUNTED, Ordering::Relaxed);
        self.leave();
        if let Some(error) = failed {
            self.epoch.counters.count_error(&error);
        }
        self.core.settle(result);
        if let Some((trace, traced)) = trace {
            let info = OpInfo { ran: traced.ran.get().copied(), ..info(traced) };
            trace.emit(Event::AfterComplete(traced.submitted.elapsed()), &info);
        }
    }

    pub(super) fn is_settled(&self, op: &dyn OpMetadata) -> bool {
        if !self.core.is_settled()
            && let Some(epoch) = self.dead()
        {
            self.conclude(op, Err(epoch.verdict()));
        }
        // A thread that saw the queue empty (`synchronize`) expects this node to be settled. It is about to be; no user
        // code runs in between.
        while !self.core.is_settled() && self.end.load(Ordering::Acquire) == COUNTED && !self.epoch.is_left_alone() {
            std::thread::yield_now();
        }
        self.core.is_settled()
    }

    pub(super) fn wait(&self, op: &dyn OpMetadata, how: Wait, until: Option<Deadline>) -> bool {
        if self.is_settled(op) {
            return true;
        }
        if waits_for_hook(self.place) {
            return false;
        }
        let (waits, mut looks) = (&self.epoch.timing.waits, 0u32);
        match how {
            Wait::Spin | Wait::Yield => loop {
                if self.is_settled(op) {
                    return true;
                }
                if clock::is_over(until) {
                    return self.is_settled(op); // much may have happened since the last look
                }
                looks = looks.saturating_add(1);
                // If there are few cores, the work itself may need this one.
                if how == Wait::Spin && looks < 1 << 16 { std::hint::spin_loop() } else { std::thread::yield_now() }
            },
            Wait::Adaptive => {
                let start = Clock::SYSTEM.start();
                loop {
                    // Reading the clock costs more than looking at the state.
                    for _ in 0..64 {
                        if self.core.is_settled() {
                            return true;
                        }
                        std::hint::spin_loop();
                    }
                    if start.elapsed() >= waits.spin || clock::is_over(until) {
                        return self.park(op, until);
                    }
                    // The thread that is to do the work may have been woken on this very core.
                    std::thread::yield_now();
                }
            }
            Wait::Rayon if !is_stealing() => {
                let mut backoff = Backoff::new(waits);
                loop {
                    if self.is_settled(op) {
                        return true;
                    }
                    if clock::is_over(until) {
                        return self.is_settled(op);
                    }
                    if !steal_one() {
                        // There is no job to run: this device's pool may finish, or new jobs may arrive.
                        backoff.pause(until);
                    } else {
                        backoff = Backoff::new(waits);
                    }
                }
            }
            Wait::Block | Wait::Rayon => self.park(op, until),
        }
    }

    pub(super) fn subscribe(&self, op: &dyn OpMetadata, parker: &Arc<Parker>) -> Subscribed {
        self.epochs().for_each(|epoch| epoch.sleep_on(parker));
        // Only after registering with the epoch: so the end of the epoch is either seen here or wakes the parker.
        if self.is_settled(op) || !self.core.subscribe(Follower::Thread(parker.clone())) {
            Subscribed::Settled
        } else {
            Subscribed::Armed
        }
    }

    pub(super) fn unsubscribe(&self, parker: &Arc<Parker>) {
        self.epochs().for_each(|epoch| epoch.forget(parker));
        self.core.unsubscribe(&Follower::Thread(parker.clone()));
    }

    /// Calls `then` when the node settles, or at once if it is settled already.
    pub(super) fn tell(&self, op: &dyn OpMetadata, then: Then) {
        let call = Arc::new(Mutex::new(Some(then)));
        let settled = self.is_settled(op) || !self.core.subscribe(Follower::Call(call.clone()));
        let then = if settled { call.lock().take() } else { None };
        if let Some(then) = then {
            then();
        }
    }

    /// The error of a verdict that failed after the work was done.
    pub(super) fn failed(&self, op: &dyn OpMetadata, error: Error) -> Error {
        let (name, library) = op.names();
        let error = error.in_op(name, library).locate(|s| {
            s.set_device(self.epoch.label.to_string(), self.epoch.generation);
        });
        self.epoch.counters.count_error(&error);
        error
    }

    pub(super) fn park(&self, op: &dyn OpMetadata, until: Option<Deadline>) -> bool {
        let parker = Arc::new(Parker::default());
        self.subscribe(op, &parker);
        // The end of the epoch wakes all waiters, even while another thread is still settling this very node.
        let done = loop {
            if self.is_settled(op) {
                break true;
            }
            if clock::is_over(until) {
                break false;
            }
            if self.dead().is_some() {
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

/// What the fault plan of a device does to an operation that begins.
fn inject(fault: Option<&Fault>, epoch: &Arc<Epoch>) -> Result<()> {
    match fault {
        None => {}
        Some(Fault::Fail) => return Err(Error::library("the fault plan injected this failure")),
        Some(Fault::Delay(time)) => epoch.timing.clock.sleep(*time),
        Some(Fault::Poison) => {
            epoch.fault("poisoned by the fault plan", None);
            return Err(epoch.verdict());
        }
    }
    Ok(())
}
