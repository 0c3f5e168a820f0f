//! A dispatch on a GPU: steps 3 to 6 of `device/dispatch/mod.rs`.

use super::on_slot::OnSlot;
use super::under_lease::{EnqueueInput, NotEnqueued, enqueue, enqueue_on};
use crate::core::buffer::View;
use crate::core::dispatch::Gate;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::op::{OpKind, guarded};
use crate::core::sync::Arc;
use crate::core::trace::Event;
use crate::engines::cuda::code::Need;
use crate::engines::cuda::late::submit_late;
use crate::engines::cuda::memory::Patience;
use crate::engines::cuda::memory::table_staging;
use crate::engines::cuda::streams::Retired;
use crate::engines::cuda::streams::{Choice, Place};
use crate::engines::cuda::wait::Landed;
use crate::engines::cuda::{Core, CudaEngine};
use crate::engines::dispatch::{Call, Submission};
use crate::engines::op::Prepare;
use crate::engines::op::plan::AnyPlan;
use smallvec::SmallVec;

impl CudaEngine {
    pub(crate) fn submit(&self, s: &mut Submission<'_, '_, '_>) -> Result<()> {
        let facts = s.facts;
        if facts.kind == OpKind::Enqueue && !facts.pooled && !facts.prepared {
            announce(s)?;
            return self.submit_now(s, &[], SmallVec::new);
        }
        self.submit_prepared(s)
    }

    /// As [`submit`](Self::submit), for an op that needs plans, or that is enqueued later.
    #[inline(never)]
    fn submit_prepared(&self, s: &mut Submission<'_, '_, '_>) -> Result<()> {
        let facts = s.facts;
        let mut needs = self.core.code.plans().needs();
        if facts.prepared {
            guarded(&mut || s.call.prepare(&mut Prepare(&mut needs)))?; // the code of the op's author
        }
        announce(s)?;
        match needs.ready() {
            Ok(plans) if facts.kind == OpKind::Enqueue && !facts.pooled => {
                self.submit_now(s, &plans, || plans.iter().cloned().map(Need::Ready).collect())
            }
            Ok(plans) => submit_late(&self.core, s, plans.into_iter().map(Need::Ready).collect()),
            Err(needs) => submit_late(&self.core, s, needs),
        }
    }

    /// Enqueues a dispatch whose plans are all there, on this thread. If it follows work that is not enqueued yet, it
    /// becomes a late dispatch, which finds its plans by `needs`.
    #[inline]
    fn submit_now(
        &self,
        s: &mut Submission<'_, '_, '_>,
        plans: &[AnyPlan],
        needs: impl FnOnce() -> SmallVec<[Need; 1]>,
    ) -> Result<()> {
        match self.core.submit(s, Patience::None, plans) {
            Ok(()) => Ok(()),
            Err(not_enqueued) => self.submit_otherwise(s, not_enqueued, plans, needs()),
        }
    }

    /// The dispatch was not enqueued at once.
    #[cold]
    fn submit_otherwise(
        &self,
        s: &mut Submission<'_, '_, '_>,
        not_enqueued: NotEnqueued,
        plans: &[AnyPlan],
        needs: SmallVec<[Need; 1]>,
    ) -> Result<()> {
        let core = &self.core;
        let outcome = match not_enqueued {
            // Nothing was enqueued in either case, so try again. Limit 0: the driver lacked memory, for example for a
            // library's handle; the ladder's driver-side steps may free enough. Else staging was short: now wait for
            // it.
            NotEnqueued::Untouched(Error::OutOfMemory { limit, .. }) => {
                if limit == 0 {
                    core.give_back(s.epoch)?;
                }
                core.submit(s, Patience::Some, plans)
            }
            not_enqueued => Err(not_enqueued),
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(NotEnqueued::Late) => submit_late(core, s, needs),
            Err(not_enqueued) => Err(self.with_numbers(s.epoch, not_enqueued.error())),
        }
    }

    /// Adds the numbers that only the driver knows to an out-of-memory error. An error from staging already has its
    /// own.
    pub(crate) fn with_numbers(&self, epoch: &Arc<Epoch>, error: Error) -> Error {
        match error {
            Error::OutOfMemory { total: 0, limit: 0, .. } => self.describe(epoch, error),
            other => other,
        }
    }
}

/// Tells the trace that the dispatch is about to be enqueued.
#[inline]
pub(crate) fn announce(s: &Submission<'_, '_, '_>) -> Result<()> {
    if let Some(trace) = s.trace {
        trace.begin(&s.info(None)?, (s.operands(), s.read_count));
    }
    Ok(())
}

/// The parts of a submission that most steps of a dispatch use.
#[derive(Clone, Copy)]
pub(crate) struct DeviceOperands<'a, 'x> {
    pub(crate) epoch: &'a Arc<Epoch>,
    pub(crate) views: &'a [View<'x>],
    pub(crate) read_count: usize,
    /// A failure leaves the operands that it writes unchanged.
    pub(crate) preserves_on_failure: bool,
}

impl<'a, 'x> DeviceOperands<'a, 'x> {
    pub(crate) fn from_submission(s: &Submission<'a, 'x, '_>) -> Self {
        DeviceOperands {
            epoch: s.epoch,
            views: s.views,
            read_count: s.read_count,
            preserves_on_failure: s.facts.preserves_on_failure,
        }
    }
}

impl Core {
    fn submit(
        self: &Arc<Self>,
        s: &mut Submission<'_, '_, '_>,
        patience: Patience,
        plans: &[AnyPlan],
    ) -> Result<(), NotEnqueued> {
        let (operands, facts) = (DeviceOperands::from_submission(s), s.facts);
        let trace = s.trace;
        let mut place = Place::new(self, operands, s.options.seat.map_or(Choice::Any, Choice::Seat));
        let mut retired = Retired::new();
        let landed = if facts.raw_bytes == 0 { Landed::Nothing } else { self.memory.landing(facts, s.epoch)? };
        let input = EnqueueInput { traced: trace.is_some(), plans, ..EnqueueInput::default() };
        let staging = match facts.listed && s.operand_count > table_staging::MOST_WITHOUT {
            true => Some(self.table_staging(s.epoch, s.operand_count, patience)?),
            false => None,
        };
        let gate = Gate::enter(operands.views, operands.read_count, s.is_gated());
        if !self.streams.gather(operands, &mut place.follows) {
            return Err(NotEnqueued::Late);
        }
        let mut lease = place.lease()?;
        let index = lease.slot.shared.index;
        let has_staging = staging.map(|staging| *lease.state.tables.staging() = staging).is_some();
        let mut on_slot = OnSlot::new(&place, lease, landed);
        let result = match enqueue(s, (&mut on_slot, &mut []), &input, &mut retired) {
            Ok(enqueued) => enqueued.finish(&mut *s.call, (&mut on_slot, &mut []), plans),
            Err(not_enqueued) => Err(not_enqueued),
        };
        if has_staging {
            *on_slot.lease.state.tables.staging() = table_staging::TableStaging::default();
        }
        drop(on_slot);
        drop(gate);
        retired.iter().for_each(|cargo| cargo.retire());
        result?;
        if let Some(trace) = trace {
            trace.emit(Event::AfterEnqueue, &s.info(Some(index))?);
            self.nudge(); // the completion must be seen, even if no thread waits for it
        }
        Ok(())
    }

    /// Submits an op without operands to the slot numbered `index`.
    pub(crate) fn submit_on(
        self: &Arc<Self>,
        index: usize,
        options: &crate::core::dispatch::Options,
        epoch: &Arc<Epoch>,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let facts = call.facts();
        let Some(slot) = self.streams.slot(index) else { return Ok(()) };
        let mut s = Submission::new(call, facts, epoch, options, (&[], 0));
        let (mut place, mut retired) =
            (Place::new(self, DeviceOperands::from_submission(&s), Choice::Held(slot)), Retired::new());
        let lease = place.lease()?;
        let mut on_slot = OnSlot::new(&place, lease, Landed::Nothing);
        let enqueued = enqueue_on(&mut s, (&mut on_slot, &mut []), &EnqueueInput::default(), &mut retired);
        let result = enqueued.and_then(|enqueued| enqueued.finish(&mut *s.call, (&mut on_slot, &mut []), &[]));
        drop(on_slot);
        retired.iter().for_each(|cargo| cargo.retire());
        result.map_err(NotEnqueued::error)
    }

    #[inline]
    pub(crate) fn bind(&self, epoch: &Arc<Epoch>) -> Result<crate::engines::cuda::context::Bound<'_>> {
        self.context.bind_for(epoch)
    }
}
