//! A dispatch on one of its devices, while it holds a slot there: what `under_lease.rs` does, step by step.

use super::queue::{HalfState, Keeps, OtherQueues, Queue};
use super::under_lease::EnqueueInput;
use crate::core::buffer::InitState;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::Contained;
use crate::core::order::KeepAlive;
use crate::core::sync::{Arc, Ordering};
use crate::engines::cuda::Native;
use crate::engines::cuda::context::Bound;
use crate::engines::cuda::context::fault;
use crate::engines::cuda::memory::FREES_PER_LEASE;
use crate::engines::cuda::memory::free_some;
use crate::engines::cuda::streams::Retired;
use crate::engines::cuda::streams::SlotMark;
use crate::engines::cuda::streams::{Lease, Place};
use crate::engines::cuda::wait::Landed;
use crate::engines::cuda::wait::Timer;
use crate::engines::dispatch::Submission;
use cudarc::driver::sys::CUevent;

/// A dispatch on the leased slot of one of its devices.
pub(crate) struct OnSlot<'t, 'x> {
    pub(crate) place: &'t Place<'t, 'x>,
    pub(crate) lease: Lease<'t>,
    pub(crate) left: HalfState,
    /// Where its work ends, once that is recorded.
    end: Option<End>,
}

/// The ticket of a slot at which work ends, and the event that was recorded for it.
#[derive(Clone, Copy)]
struct End {
    ticket: u64,
    event: Option<Native<CUevent>>,
}

impl<'t, 'x> OnSlot<'t, 'x> {
    #[inline(always)]
    pub(crate) fn new(place: &'t Place<'t, 'x>, lease: Lease<'t>, landed: Landed) -> Self {
        OnSlot { place, lease, left: HalfState::new(landed), end: None }
    }

    fn epoch(&self) -> &'t Arc<Epoch> {
        self.place.operands.epoch
    }

    /// Where its work ends; `None` if nothing was enqueued.
    pub(crate) fn end(&self) -> Option<SlotMark> {
        let slot = &self.lease.slot.shared;
        self.end.map(|end| SlotMark { slot: slot.clone(), ticket: end.ticket, event: end.event })
    }

    /// Call when all leases are taken: the end of an epoch sets its flag first, and takes the leases after that.
    #[inline(always)]
    pub(crate) fn admit(&self, was_admitted: bool) -> Result<()> {
        if was_admitted { self.epoch().go_on() } else { self.epoch().admit() }
    }

    /// The steps before the op's CUDA half.
    #[inline(always)]
    pub(crate) fn begin(
        &mut self,
        (name, label): (&'static &'static str, Option<&'static &'static str>),
        retired: &mut Retired,
    ) -> Result<Bound<'t>> {
        let (core, epoch) = (self.place.core, self.epoch());
        let (shared, state) = (&self.lease.slot.shared, &mut *self.lease.state);
        let bound = core.bind(epoch)?;
        state.reap(shared, 4, retired);
        // Usually empty, so the call is not worth it.
        if !shared.frees.is_empty() {
            free_some(shared, state, FREES_PER_LEASE);
        }
        if !self.place.follows.is_empty() {
            core.streams.follow(epoch, &self.place.follows, shared.index, state)?;
        }
        shared.recent.push(name, label);
        Ok(bound)
    }

    /// The leased stream, for the op's CUDA half.
    #[inline(always)]
    pub(crate) fn queue<'q>(
        &'q mut self,
        input: &'q EnqueueInput<'_>,
        raw_bytes: usize,
        elsewhere: Option<&'q mut (dyn OtherQueues + 'q)>,
    ) -> Queue<'q> {
        let EnqueueInput { plans, phase, made, .. } = *input;
        let (core, epoch, left) = (self.place.core, self.place.operands.epoch, &mut self.left);
        let (shared, state) = (&self.lease.slot.shared, &mut *self.lease.state);
        Queue { core, epoch, shared, state, plans, phase, made, raw_bytes, left, elsewhere }
    }

    #[inline(always)]
    pub(crate) fn free_scratch(&self) {
        for address in &self.left.scratch {
            // SAFETY: allocated on this stream by this dispatch, and freed behind its work.
            let _ = unsafe { self.place.core.context.api.mem_free_async(*address, self.lease.state.stream.0) };
        }
    }

    /// Records the end of the work, also after a failure: whatever was enqueued ends with a completion, so the buffers
    /// can go back to the caller.
    #[inline(always)]
    pub(crate) fn record(&mut self, failure: &mut Option<Error>) {
        let shared = &self.lease.slot.shared;
        // Only the holder of the lease counts, so no locked instruction is needed.
        shared.dispatches.store(shared.dispatches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let (ticket, event, code) = self.lease.state.record(shared);
        self.end = Some(End { ticket, event });
        if !code.is_success() && failure.is_none() {
            *failure = Some(fault::classify(self.epoch(), code, "cuEventRecord"));
        }
    }

    /// As [`record`](Self::record), if the context may not be current. Without it no event is made: it would belong to
    /// another context. The ticket is open then.
    pub(crate) fn record_bound(&mut self, failure: &mut Option<Error>) {
        match self.place.core.bind(self.epoch()) {
            Ok(_bound) => self.record(failure),
            Err(error) => {
                self.end = Some(End { ticket: self.lease.slot.stream.sequence.issue(), event: None });
                failure.get_or_insert(error);
            }
        }
    }

    /// Records an event behind what is on the stream by now.
    pub(crate) fn step(&mut self) -> Result<Native<CUevent>> {
        let _bound = self.place.core.bind(self.epoch())?;
        let (ticket, event, code) = self.lease.state.record(&self.lease.slot.shared);
        self.lease.state.ring.push(ticket, event, None);
        event.ok_or_else(|| fault::classify(self.epoch(), code, "cuEventRecord"))
    }

    /// Makes the stream wait for all of these events.
    pub(crate) fn follow_all(&self, events: &[Native<CUevent>]) -> Result<()> {
        let _bound = self.place.core.bind(self.epoch())?;
        for event in events {
            // SAFETY: the events live until the ends of their epochs, which take the leases that the dispatch holds. The
            // context of the stream is current.
            unsafe { self.place.core.context.api.stream_wait_event(self.lease.state.stream.0, event.0, 0) }
                .ok()
                .map_err(|code| fault::classify(self.epoch(), code, "cuStreamWaitEvent"))?;
        }
        Ok(())
    }

    /// Waits until all that is on the stream is done.
    pub(crate) fn drain(&self) {
        let _bound = self.place.core.bind(self.epoch());
        // SAFETY: the stream is alive under the lease. A failure is a fault of the device, which the epoch will see.
        let _ = unsafe { self.place.core.context.api.stream_synchronize(self.lease.state.stream.0) };
    }

    /// Publishes the end of the work to the buffers of this device, and updates the state of their contents. If the
    /// dispatch has several devices, nothing is known of what the other devices have left to do after a failure: its
    /// outputs have no contents then.
    ///
    /// Completions that this work does not follow stay in the history. Through an alias, another thread may have
    /// submitted work on another part of a buffer after this work looked at it.
    #[inline(always)]
    pub(crate) fn publish(&mut self, failure: Option<&Error>, is_alone: bool) -> SlotMark {
        let End { ticket, event } = self.end.unwrap_or(End { ticket: 0, event: None });
        self.lease.state.end.advance(ticket, event.and_then(Native::handle));
        let end = &self.lease.state.end;
        let s = self.place.operands;
        for (i, view) in s.views.iter().enumerate() {
            if i < s.read_count {
                view.region.history.lock().publish_read(end);
                continue;
            }
            // SAFETY: dropped before the next one is made; that of `gather` is gone.
            let mut track = unsafe { view.history() };
            view.region.writers_done.store(false, Ordering::Release);
            if view.is_part() {
                track.publish_part(end);
            } else {
                track.publish_write_beside(end, |earlier| {
                    self.place.core.streams.is_followed(earlier, &self.place.follows, end)
                });
            }
            drop(track);
            match failure {
                None => view.written(),
                Some(_) if s.preserves_on_failure => {}
                Some(error) if is_alone => view.region.init.fail(error),
                Some(_) => view.region.init.set(InitState::Uninit),
            }
        }
        SlotMark { slot: self.lease.slot.shared.clone(), ticket, event }
    }

    /// In a worker, whose client wants to know when the device can start the work: what it follows on other slots.
    pub(crate) fn ahead(&self, s: &Submission<'_, '_, '_>, mark: &SlotMark) -> Vec<SlotMark> {
        #[cfg(target_os = "linux")]
        if s.relay.is_some() {
            return self.place.core.streams.ahead(&self.place.follows, mark.slot.index);
        }
        let _ = (s, mark);
        Vec::new()
    }

    #[inline(always)]
    pub(crate) fn take_keeps(&mut self) -> Contained<Keeps> {
        Contained::new(self.left.keeps.take().unwrap_or_default())
    }

    /// Keeps `cargo` alive until the work has completed.
    #[inline(always)]
    pub(crate) fn keep(&mut self, cargo: Option<Arc<dyn KeepAlive>>) {
        if let Some(End { ticket, event }) = self.end {
            self.lease.state.ring.push(ticket, event, cargo);
        }
    }

    /// As [`keep`](Self::keep), for more of the same work; call before that.
    pub(crate) fn keep_beside(&mut self, cargo: Arc<dyn KeepAlive>) {
        if let Some(End { ticket, .. }) = self.end {
            // The event of the entry that follows answers for it.
            self.lease.state.ring.push(ticket, None, Some(cargo));
        }
    }

    #[cold]
    pub(crate) fn start_timer(&mut self, traced: bool) -> Result<Timer> {
        let (core, epoch) = (self.place.core, self.epoch());
        let timer =
            core.streams.timers().timer(core.context.api).map_err(|c| fault::classify(epoch, c, "cuEventCreate"))?;
        // Nothing is in flight on this stream, so an event recorded now completes at once.
        if traced && self.lease.slot.stream.sequence.in_flight() == 0 {
            core.streams.timers().anchor(core.context.api, self.lease.state.stream, core.timing.clock);
        }
        self.record_timer(timer.start)?;
        Ok(timer)
    }

    pub(crate) fn record_timer(&self, event: Native<CUevent>) -> Result<()> {
        // SAFETY: event and stream are alive under the lease; the context is current.
        unsafe { self.place.core.context.api.event_record(event.0, self.lease.state.stream.0) }
            .ok()
            .map_err(|code| fault::classify(self.epoch(), code, "cuEventRecord"))
    }
}
