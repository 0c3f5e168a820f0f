//! A dispatch over several devices: steps 3 to 6 of `dispatch/across.rs`.
//!
//! It is like any other dispatch, with a [`OnSlot`] on each device. Each of its streams waits for what the operands on its
//! own device must follow. What one device must do before another, only the op knows
//! ([`Enqueue::follow`](crate::op::Enqueue::follow)).
//!
//! **One order of leases**: a thread that holds the lease of a slot may wait for a slot of a device with a higher number,
//! never for one of a device with a lower number, and for one slot of a device at a time. So no two threads wait for each
//! other. While the leases are held, no device can end: an end takes all leases of its device.
//!
//! An op that blocks, or whose library has a pool of streams (`members.rs`), holds such a stream on each device while a
//! helper enqueues it. A collective is meant to be one: its library has a pool of one stream, so it has this stream of each
//! device for itself, and all devices see the collectives of this process in one order.
//!
//! The ring of each slot keeps the task. So it is kept until the work is done on all devices, and the last ring settles
//! it.

use super::on_slot::OnSlot;
use super::submit::{DeviceOperands, announce};
use super::together::take_in_order;
use super::under_lease::{EnqueueInput, NotEnqueued, enqueue_on};
use crate::core::dispatch::Gate;
use crate::core::error::{Error, Result};
use crate::core::op::OpKind;
use crate::core::trace::Event;
use crate::engines::cuda::CudaEngine;
use crate::engines::cuda::late::submit_late_on;
use crate::engines::cuda::streams::Follows;
use crate::engines::cuda::streams::Retired;
use crate::engines::cuda::streams::{Choice, Lease, Place};
use crate::engines::cuda::wait::Landed;
use crate::engines::dispatch::Part;
use crate::engines::dispatch::Submission;
use smallvec::SmallVec;

type Places<'p, 'x> = SmallVec<[Place<'p, 'x>; 2]>;

impl CudaEngine {
    pub(crate) fn submit_across(&self, s: &mut Submission<'_, '_, '_>, parts: &[Part<'_, '_>]) -> Result<()> {
        announce(s)?;
        let mut places = Places::new();
        for Part { epoch, options, views, read_count } in parts {
            let Some(engine) = epoch.engine.as_cuda() else { continue };
            let operands =
                DeviceOperands { epoch, views, read_count: *read_count, ..DeviceOperands::from_submission(s) };
            places.push(Place::new(&engine.core, operands, options.seat.map_or(Choice::Any, Choice::Seat)));
        }
        let not_enqueued = match s.facts.kind {
            OpKind::Enqueue if !s.facts.pooled => match submit_now(s, &mut places) {
                // Nothing was enqueued: see `submit.rs`.
                Err(NotEnqueued::Untouched(Error::OutOfMemory { .. })) => {
                    places.iter().try_for_each(|place| place.core.give_back(place.operands.epoch))?;
                    submit_now(s, &mut places)
                }
                not_enqueued => not_enqueued,
            },
            _ => Err(NotEnqueued::Late),
        };
        match not_enqueued {
            Ok(()) => Ok(()),
            Err(NotEnqueued::Late) => match places.split_first() {
                Some((lead, others)) => submit_late_on(s, (lead, others), SmallVec::new()),
                None => Ok(()),
            },
            Err(not_enqueued) => Err(self.with_numbers(s.epoch, not_enqueued.error())),
        }
    }
}

/// Enqueues it on this thread.
fn submit_now(s: &mut Submission<'_, '_, '_>, places: &mut [Place<'_, '_>]) -> Result<(), NotEnqueued> {
    let Some(lead) = places.first() else { return Ok(()) };
    let (core, trace) = (lead.core, s.trace);
    let landed = core.memory.landing(s.facts, s.epoch)?;
    let mut retired = Retired::new();
    let gate = Gate::enter(s.views, s.read_count, s.is_gated());
    for place in &mut *places {
        place.follows = Follows::new();
        if !place.core.streams.gather(place.operands, &mut place.follows) {
            return Err(NotEnqueued::Late);
        }
    }
    let leases = lease_each(places)?;
    let mut on_slots = on_slots(places, leases, landed);
    let Some((lead, others)) = on_slots.split_first_mut() else { return Ok(()) };
    let input = EnqueueInput { traced: trace.is_some(), ..EnqueueInput::default() };
    let enqueued = enqueue_on(s, (lead, others), &input, &mut retired);
    let outcome = enqueued.and_then(|enqueued| enqueued.finish(&mut *s.call, (lead, others), &[]));
    let slot = lead.lease.slot.shared.index;
    drop(on_slots);
    drop(gate);
    retired.iter().for_each(|cargo| cargo.retire());
    outcome?;
    if let Some(trace) = trace {
        trace.emit(Event::AfterEnqueue, &s.info(Some(slot))?);
        core.nudge(); // the completion must be seen, even if no thread waits for it
    }
    Ok(())
}

/// Leases a slot on each device. The leases are in the order of `places`.
pub(crate) fn lease_each<'p>(places: &mut [Place<'p, '_>]) -> Result<SmallVec<[Lease<'p>; 1]>> {
    take_in_order(places, |place| place.operands.epoch.device, Place::lease)
}

/// The dispatch on the slot of each device; the first gets the place of the result.
pub(crate) fn on_slots<'t, 'p: 't, 'x>(
    places: &'t [Place<'t, 'x>],
    leases: SmallVec<[Lease<'p>; 1]>,
    mut landed: Landed,
) -> SmallVec<[OnSlot<'t, 'x>; 1]> {
    let on_slot = |(place, lease)| OnSlot::new(place, lease, std::mem::replace(&mut landed, Landed::Nothing));
    places.iter().zip(leases).map(on_slot).collect()
}
