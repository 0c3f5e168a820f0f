//! A dispatch on a GPU: steps 3 to 6 of `dispatch/mod.rs`.

use super::context::Bound;
use super::enqueue::Parts;
use super::follow::Follows;
use super::lease::Lease;
use super::memory::FREES_PER_LEASE;
use super::pinned::Block;
use super::reclaim::free_some;
use super::ring::{Cargo, Retired};
use super::slot::Shared;
use super::slot::{Mark, State};
use super::task::{CudaTask, Flight, Landed};
use super::timer::Timer;
use super::{Core, CudaEngine, Enqueue, fault};
use crate::buffer::{Content, Track, View};
use crate::device::Options;
use crate::dispatch::raw::Raw;
use crate::dispatch::{Submission, TaskOf};
use crate::engine::{Completion, Epoch};
use crate::error::Site;
use crate::op::Op;
use crate::sync::{Arc, AtomicU8, Mutex, Ordering};
use crate::trace::{Event, OpInfo};
use crate::worker::Relay;
use crate::{Error, Result};
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

impl CudaEngine {
    pub(crate) fn submit<O: Op>(&self, mut s: Submission<'_, '_, O>) -> Result<TaskOf<O>> {
        match self.core.submit(&mut s) {
            Ok(task) => Ok(task),
            // A library that could not make its handle for want of memory has enqueued nothing: after the ladder's
            // driver-side rungs it may be able to.
            Err(Undone { error: Error::OutOfMemory { .. }, untouched: true }) => {
                self.core.give_back(s.epoch)?;
                self.core.submit(&mut s).map(|task| task as _).map_err(|undone| self.told(s.epoch, undone.error))
            }
            Err(undone) => Err(self.told(s.epoch, undone.error)),
        }
    }

    /// An error, with the numbers that only the driver knew when it said so. Staging has told its own.
    fn told(&self, epoch: &Arc<Epoch>, error: Error) -> Error {
        match error {
            Error::OutOfMemory { total: 0, limit: 0, .. } => self.describe(epoch, error),
            other => other,
        }
    }
}

/// A submission without its op: all that most of the way of a dispatch looks at, which so is compiled once.
#[derive(Clone, Copy)]
pub(super) struct Around<'a, 'x> {
    epoch: &'a Arc<Epoch>,
    options: &'a Options,
    pub(super) views: &'a [View<'x>],
    pub(super) read_count: usize,
    /// A failure leaves what it writes as it was.
    spares: bool,
}

impl<'a, 'x> Around<'a, 'x> {
    fn of<O: Op>(s: &Submission<'a, 'x, O>) -> Self {
        Around { epoch: s.epoch, options: s.options, views: s.views, read_count: s.read_count, spares: O::SPARES }
    }
}

/// What an enqueue begins with.
struct Begun<'c> {
    _bound: Bound<'c>,
    timer: Option<Timer>,
    submitted: Option<Instant>,
}

/// What an enqueue came to: also after a failure something may be on its way.
struct Ended {
    mark: Mark,
    landed: Landed,
    keep: SmallVec<[Block; 1]>,
    outcome: Result<()>,
}

/// An enqueue that failed; whether nothing was enqueued at all, so that it may be tried again.
struct Undone {
    error: Error,
    untouched: bool,
}

impl From<Error> for Undone {
    fn from(error: Error) -> Self {
        Undone { error, untouched: false }
    }
}

/// The op and its flight where they stay. The op is copied there at once, and not by way of the stack.
fn boxed<O: Op>(s: &mut Submission<'_, '_, O>, flight: Flight) -> Result<Arc<CudaTask<O>>> {
    let mut place = Arc::new_uninit();
    if let Some(to) = Arc::get_mut(&mut place) {
        let op = s.take_op()?;
        to.write(CudaTask { op, flight });
    }
    // SAFETY: nobody else has the place yet, so it was written.
    Ok(unsafe { place.assume_init() })
}

/// Runs an op's CUDA half.
fn caught(half: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(half))
        .unwrap_or_else(|_| Err(Error::Panicked { message: "in its CUDA half".into(), site: Site::none() }))
}

/// Keeps another device's epoch from ending.
type Entered<'x> = (&'x Arc<Epoch>, super::blocker::Inside<'x>);

/// A peer copy waits for events of another device's epoch, which must not end meanwhile.
fn foreign<'x>(s: Around<'_, 'x>) -> Result<SmallVec<[Entered<'x>; 1]>> {
    let foreign = s.views.iter().filter(|v| !Arc::ptr_eq(&v.region.epoch, s.epoch));
    let inside: SmallVec<[_; 1]> = foreign
        .filter_map(|view| Some((&view.region.epoch, view.region.epoch.engine.as_cuda()?.core.blockers.enter())))
        .collect();
    for (epoch, _) in &inside {
        epoch.admit()?;
    }
    Ok(inside)
}

impl Core {
    fn submit<O: Op>(self: &Arc<Self>, s: &mut Submission<'_, '_, O>) -> Result<Arc<CudaTask<O>>, Undone> {
        let epoch = s.epoch;
        let trace = epoch.counters.trace();
        if let Some(trace) = trace {
            trace.emit(Event::BeforeEnqueue, &OpInfo::of(s.op()?, s.options.label, None));
        }
        let _inside = if O::FROM_PEER { foreign(Around::of(s))? } else { SmallVec::new() };
        let label = s.options.label;
        let (mut follows, mut retired) = (Follows::new(), Retired::new());
        let landed = match O::Raw::BYTES {
            0 => Landed::Nothing,
            _ => Landed::Slot(self.small_slot(epoch)?),
        };
        let gate = if O::GATED { Gate::enter(Around::of(s)) } else { Gate::default() };
        let mut lease = self.hold(Around::of(s), &mut follows)?;
        let index = lease.slot.shared.index;
        let result = self.enqueue(s, &follows, &mut lease, &mut retired, landed);
        drop(lease);
        drop(gate);
        retired.iter().for_each(|cargo| cargo.retire());
        let task = result?;
        if let Some(trace) = trace {
            trace.emit(Event::AfterEnqueue, &OpInfo::of(&task.op, label, Some(index)));
            self.keeper.nudge.nudge(); // somebody must see the completion, also when nobody waits
        }
        Ok(task)
    }

    /// An op without operands on a slot of the caller's choice.
    #[cfg(any(feature = "blas", feature = "blaslt"))]
    pub(super) fn submit_on<O: Op<Reads = (), Output = ()>>(
        self: &Arc<Self>,
        index: usize,
        device: &crate::Device,
        epoch: &Arc<Epoch>,
        op: O,
    ) -> Result<()> {
        let Some(slot) = self.slots.get(index) else { return Ok(()) };
        let (mut op, mut spans) = (Some(op), Some(((), ())));
        let mut s = Submission::new(&mut op, &mut spans, epoch, device.options(), (&[], 0));
        let mut retired = Retired::new();
        let mut lease = Lease { slot, state: slot.lease.lock() };
        let result = self
            .enqueue(&mut s, &Follows::new(), &mut lease, &mut retired, Landed::Nothing)
            .map(drop)
            .map_err(|undone| undone.error);
        drop(lease);
        retired.iter().for_each(|cargo| cargo.retire());
        result
    }

    /// A slot, and what it must be made to follow.
    fn hold(&self, s: Around<'_, '_>, follows: &mut Follows) -> Result<Lease<'_>> {
        self.gather(s, follows);
        let mut lease = self.lease(follows);
        if follows.iter().any(|f| f.must_be_closed(lease.slot.shared.index)) {
            // Leases are taken one at a time, so that two threads cannot wait for each other's.
            drop(lease);
            self.close_open(s.epoch, follows)?;
            lease = self.lease(follows);
        }
        Ok(lease)
    }

    pub(super) fn bind(&self, epoch: &Arc<Epoch>) -> Result<super::context::Bound<'_>> {
        self.context.bind().map_err(|code| fault::classify(epoch, code, super::context::BINDING))
    }

    /// Everything under the lease.
    fn enqueue<O: Op>(
        self: &Arc<Self>,
        s: &mut Submission<'_, '_, O>,
        follows: &Follows,
        lease: &mut Lease<'_>,
        retired: &mut Retired,
        landed: Landed,
    ) -> Result<Arc<CudaTask<O>>, Undone> {
        let (epoch, label, around) = (s.epoch, s.options.label, Around::of(s));
        let (op, (reads, writes)) = (s.op()?, s.spans()?);
        let (shared, state) = (&lease.slot.shared, &mut *lease.state);
        let name = op.subject().unwrap_or(const { &O::NAME });
        let Begun { _bound, timer, submitted } = self.begin(around, follows, (shared, state), retired, name)?;
        #[cfg(feature = "nvtx")]
        let _range = super::api::nvtx::range(label.unwrap_or(name));
        let (outcome, parts) = {
            let mut queue = Enqueue::new(self, epoch, shared, state, reads, writes, landed);
            let outcome = caught(&mut || {
                s.relay.as_ref().map_or(Ok(()), Relay::suffer)?;
                op.cuda(&mut queue)
            })
            .and_then(|()| queue.bring_result());
            (outcome, queue.into_parts())
        };
        let Ended { mark, landed, keep, outcome } =
            self.end(around, (shared, state), outcome, parts, timer.as_ref())?;
        let (ticket, event) = (mark.ticket, mark.event);
        let flight = Flight {
            #[cfg(target_os = "linux")]
            ahead: if s.relay.is_some() { self.ahead(follows, mark.slot.index) } else { Vec::new() },
            mark,
            state: AtomicU8::new(0),
            landed: Mutex::new(landed),
            _keep: keep,
            timer,
            submitted: submitted.filter(|_| outcome.is_ok()),
            label,
        };
        let task = boxed(s, flight)?;
        state.ring.push(ticket, event, Some(task.clone() as Arc<dyn Cargo>));
        outcome.map(|()| task).map_err(Undone::from)
    }

    /// Up to the op's CUDA half.
    fn begin(
        &self,
        s: Around<'_, '_>,
        follows: &Follows,
        (shared, state): (&Arc<Shared>, &mut State),
        retired: &mut Retired,
        name: &'static &'static str,
    ) -> Result<Begun<'_>> {
        let epoch = s.epoch;
        // After the lease was taken: the end of the epoch sets the flag, then takes it.
        epoch.admit()?;
        let _bound = self.bind(epoch)?;
        state.reap(shared, 4, retired);
        free_some(shared, state, FREES_PER_LEASE);
        self.follow(epoch, follows, shared.index, state)?;
        let timer = match s.options.timed {
            true => Some(self.timers.timer(self.context.api).map_err(|c| fault::classify(epoch, c, "cuEventCreate"))?),
            false => None,
        };
        if let Some(timer) = &timer {
            self.record_timer(epoch, timer.start, state)?;
        }
        shared.recent.push(name);
        // Only the holder of the lease counts, so no locked instruction is needed.
        shared.dispatches.store(shared.dispatches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let submitted = epoch.counters.trace().map(|_| Instant::now());
        Ok(Begun { _bound, timer, submitted })
    }

    /// From the op's CUDA half on.
    fn end(
        &self,
        s: Around<'_, '_>,
        (shared, state): (&Arc<Shared>, &mut State),
        outcome: Result<()>,
        parts: Parts,
        timer: Option<&Timer>,
    ) -> Result<Ended, Undone> {
        let epoch = s.epoch;
        let Parts { landed, keep, scratch, untouched } = parts;
        for address in scratch {
            // SAFETY: allocated on this stream by this dispatch, and freed behind its work.
            let _ = unsafe { self.context.api.mem_free_async(address, state.stream.0) };
        }
        let mut outcome = match outcome {
            Err(error) if untouched => return Err(Undone { error, untouched }),
            outcome => outcome,
        };
        if let (Some(timer), true) = (timer, outcome.is_ok()) {
            outcome = self.record_timer(epoch, timer.end, state);
        }
        // Also after a failure: what did get in is behind a completion, so the buffers can go back to the caller.
        let (ticket, event, code) = state.record(shared);
        if !code.is_success() && outcome.is_ok() {
            outcome = Err(fault::classify(epoch, code, "cuEventRecord"));
        }
        let completion = Completion::Cuda(Mark { slot: shared.clone(), ticket, event });
        publish(s, &completion, outcome.is_ok());
        let Completion::Cuda(mark) = completion else {
            return Err(Error::library("a completion of another engine").into());
        };
        if let Landed::Staged(staged) = &landed {
            let _ = staged.0.end.set((ticket, event));
        }
        Ok(Ended { mark, landed, keep, outcome })
    }

    fn record_timer(
        &self,
        epoch: &Arc<Epoch>,
        event: super::Native<cudarc::driver::sys::CUevent>,
        state: &State,
    ) -> Result<()> {
        // SAFETY: event and stream are alive under the lease; the context is current.
        unsafe { self.context.api.event_record(event.0, state.stream.0) }
            .ok()
            .map_err(|code| fault::classify(epoch, code, "cuEventRecord"))
    }
}

/// Between the look at what a submission must follow and the publication of its own completion another may be submitted.
/// Where nobody owns what is written, writers keep all others out meanwhile.
#[derive(Default)]
struct Gate<'x> {
    _read: Option<RwLockReadGuard<'x, ()>>,
    _write: Option<RwLockWriteGuard<'x, ()>>,
}

impl<'x> Gate<'x> {
    fn enter(s: Around<'_, 'x>) -> Self {
        let gated = |(i, view): (usize, &View<'x>)| Some((i, view.region.gate.as_deref()?));
        match s.views.iter().enumerate().find_map(gated) {
            None => Gate::default(),
            Some((i, gate)) if i < s.read_count => Gate { _read: Some(gate.read()), _write: None },
            Some((_, gate)) => Gate { _read: None, _write: Some(gate.write()) },
        }
    }
}

/// Tells the buffers where this work ends, and what they are worth now.
fn publish(s: Around<'_, '_>, completion: &Completion, ok: bool) {
    for (i, view) in s.views.iter().enumerate() {
        if i < s.read_count {
            // A peer's buffer is told by a mark of its own device: see `peer.rs`.
            if Arc::ptr_eq(&view.region.epoch, s.epoch) || !ok {
                view.region.track.lock().publish_read(completion);
            }
        } else {
            let publish = |track: &mut Track| {
                view.region.calm.store(false, Ordering::Release);
                track.publish_write(completion);
            };
            // SAFETY: what is written is moved into the dispatch.
            unsafe { view.region.of_owned(publish) };
            if ok {
                view.written();
            } else if !s.spares {
                view.region.worth.set(Content::Failed);
            }
        }
    }
}
