//! A collective: an order to the worker of each rank.

use super::joint::Joint;
use super::member::Deed;
use super::team::{Sending, Team};
use crate::core::buffer::{DeviceBuffer, In};
use crate::core::dispatch::{PendingDispatch, Task, TaskHold};
use crate::core::element::Element;
use crate::core::error::{Error, Rejected, Result};
use crate::core::sync::{Arc, Ordering};
use crate::device::Device;
use crate::libraries::collective::op::{Collective, Link};
use crate::libraries::collective::spec::Spec;
use std::marker::PhantomData;

/// The operands of one rank, with the turn of its device.
struct Part<'i, T: Element> {
    inputs: Vec<In<'i, T>>,
    outputs: (Vec<DeviceBuffer<T>>, DeviceBuffer<u8>),
}

type Outputs<T> = Vec<DeviceBuffer<T>>;

/// Submits a collective over all ranks of the team; `spec` has them all. The operands lie on the devices of their ranks.
pub(in crate::libraries::collective) fn submit<T: Element>(
    team: &Arc<Team>,
    spec: &Spec,
    inputs: &[In<'_, T>],
    outputs: Outputs<T>,
) -> Result<PendingDispatch<Outputs<T>>, Rejected<(Outputs<T>,)>> {
    let name = spec.kind.name();
    let lens = |buffers: &[DeviceBuffer<T>]| buffers.iter().map(DeviceBuffer::len).collect::<Vec<_>>();
    let fits = spec.layout(&inputs.iter().map(|input| input.len).collect::<Vec<_>>(), &lens(&outputs)).map(drop);
    if let Err(error) = fits {
        return Err(Rejected::new(error.in_op(name, "collective"), (outputs,)));
    }
    // Not while it sends: others do not wait for the bound on the work of these devices.
    for (rank, device) in team.devices().iter().enumerate() {
        if let Err(error) = device.inner().in_flight.admit(&device.epoch(), device.options()) {
            let sequence = team.submitted.load(Ordering::Relaxed) + 1;
            return Err(Rejected::new(or_lost(team, rank, error, (sequence, name)), (outputs,)));
        }
    }
    send(team, spec, inputs, outputs)
}

/// The same for operands that fit together, beyond the bounds on the work in flight.
pub(super) fn send<T: Element>(
    team: &Arc<Team>,
    spec: &Spec,
    inputs: &[In<'_, T>],
    outputs: Outputs<T>,
) -> Result<PendingDispatch<Outputs<T>>, Rejected<(Outputs<T>,)>> {
    let (sending, name) = (Sending::begin(), spec.kind.name());
    let sequence = team.submitted.load(Ordering::Relaxed) + 1;
    if let Err(error) = team.admit(sequence, name) {
        return Err(Rejected::new(error.in_op(name, "collective"), (outputs,)));
    }
    let (readers, writers) = spec.owners();
    let part = |turn| Part { inputs: Vec::new(), outputs: (Vec::new(), sending.take(turn)) };
    let mut parts: Vec<Part<'_, T>> = team.turns.iter().map(|turn| part(turn)).collect();
    for (input, rank) in inputs.iter().zip(readers) {
        parts.get_mut(rank).into_iter().for_each(|part| part.inputs.push(*input));
    }
    for (output, rank) in outputs.into_iter().zip(&writers) {
        if let Some(part) = parts.get_mut(*rank) {
            part.outputs.0.push(output);
        }
    }
    let op = |rank| Collective::<T> {
        spec: spec.of_rank(rank),
        link: Link::Worker(team.id),
        sequence,
        begun: None,
        _type: PhantomData,
    };
    for (rank, (device, part)) in team.devices().iter().zip(&parts).enumerate() {
        if let Err(error) = device.try_out(&op(rank), &(&part.inputs[..],), &part.outputs) {
            let error = or_lost(team, rank, error, (sequence, name));
            let outputs = gather(parts.into_iter().map(|part| part.outputs.0), &writers);
            return Err(Rejected::new(error, (outputs,)));
        }
    }
    let (mut tasks, mut back, mut refusal) = (Vec::new(), Vec::new(), None);
    for (rank, (device, part)) in team.devices().iter().zip(parts).enumerate() {
        if refusal.is_some() {
            back.push(part.outputs.0);
            continue;
        }
        match device.going_on().dispatch(op(rank), (&part.inputs,), part.outputs) {
            Ok(pending) => {
                team.submitted.store(sequence, Ordering::Relaxed);
                let ((outputs, _), host) = pending.into_parts();
                tasks.extend(host.into_task());
                back.push(outputs);
            }
            Err(rejected) => {
                refusal = Some((rank, rejected.error));
                back.push(rejected.back.map(|(outputs, _)| outputs).unwrap_or_default());
            }
        }
    }
    let outputs = gather(back.into_iter(), &writers);
    if let Some((rank, error)) = refusal {
        // Those before wait for one that does not come.
        if rank > 0 {
            team.lose(&[rank], &format!("a collective could not be submitted there: {error}"));
            team.tell(&sending, &Deed::Resign(team.id));
        }
        return Err(Rejected::new(or_lost(team, rank, error, (sequence, name)), (outputs,)));
    }
    let lead = team.devices().first();
    let timing = lead.map_or_else(crate::core::clock::Timing::standard, |lead| lead.epoch().timing);
    let how = lead.map(Device::wait_policy).unwrap_or_default();
    let joint = Joint::new(team, (sequence, name), timing, tasks);
    let task = Task { hold: TaskHold::Sole(Box::new(joint)), conclude: |_, _, _| Ok(()) };
    Ok(PendingDispatch::new(task, (outputs,), (how, false)))
}

/// The error of a rank, or that its worker is lost.
fn or_lost(team: &Team, rank: usize, error: Error, (sequence, name): (u64, &str)) -> Error {
    if team.is_gone(rank) || error.is_poisoning() {
        team.lose(&[rank], &error.to_string());
        return team.loss(sequence, name);
    }
    team.admit(sequence, name).err().unwrap_or(error)
}

/// The buffers of all ranks, in the order in which they were given.
fn gather<T: Element>(of_ranks: impl Iterator<Item = Outputs<T>>, owners: &[usize]) -> Outputs<T> {
    let mut of_ranks: Vec<_> = of_ranks.map(Vec::into_iter).collect();
    owners.iter().filter_map(|rank| of_ranks.get_mut(*rank)?.next()).collect()
}
