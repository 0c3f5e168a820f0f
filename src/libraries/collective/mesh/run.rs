//! The collectives that only move elements.

use super::reduce::Rooms;
use super::turn::{Brought, Running, in_turn};
use super::{Mesh, SMALL};
use crate::core::error::{Error, Result};
use crate::core::room;
use crate::libraries::collective::memory::Memory;
use crate::libraries::collective::spec::{Kind, Layout, Part, Spec};

/// Carries out the collective with this number. What it needs of memory is taken before the others are told that this process has
/// come: so a refusal is told them too, and the next collective runs.
pub(in crate::libraries::collective) fn run(
    mesh: &Mesh,
    (spec, layout): (&Spec, &Layout),
    memory: &Memory<'_>,
    sequence: u64,
) -> Result<()> {
    let taken = with_header((spec, layout), memory).and_then(|small| {
        let rooms = Rooms::new(mesh, (spec, layout), !small.is_empty())?;
        Ok((small, rooms, if spec.reduction.is_none() { spec.parts(layout)? } else { Vec::new() }))
    });
    let ((small, (mut received, mut rooms), parts), refusal) = match taken {
        Ok(taken) => (taken, None),
        Err(error) => (Default::default(), Some(error)),
    };
    let brought = Brought { sequence, small: &small, received: &mut received, refusal };
    in_turn(mesh, (spec, layout), brought, &mut |running, received| match (&spec.kind, &spec.reduction) {
        (Kind::AllReduce | Kind::Reduce { .. }, Some(reduction)) if !small.is_empty() => {
            running.reduce_small(reduction, layout, memory, (received, &mut rooms))
        }
        (Kind::Barrier, _) => Ok(()),
        (Kind::ReduceScatter, Some(reduction)) => {
            running.reduce_scatter(reduction, layout, memory, (received, &mut rooms))
        }
        (_, Some(reduction)) => running.reduce(reduction, layout, memory, (received, &mut rooms)),
        (Kind::Exchange(_), None) => running.agree_on_lengths(layout).and_then(|()| running.transfer(&parts, memory)),
        (_, None) => running.transfer(&parts, memory),
    })
}

/// This process cannot carry out the collective with this number: the others are told.
pub(in crate::libraries::collective) fn refuse(mesh: &Mesh, spec: &Spec, sequence: u64, error: Error) -> Result<()> {
    let layout = Layout { count: 0, ends: Vec::new(), moved: Vec::new() };
    let brought = Brought { sequence, small: &[], received: &mut Default::default(), refusal: Some(error) };
    in_turn(mesh, (spec, &layout), brought, &mut |_, _| Ok(()))
}

/// What each rank sends with the header: all that it reduces, if that is little.
fn with_header<'m>((spec, layout): (&Spec, &Layout), memory: &'m Memory<'_>) -> Result<Vec<&'m [u8]>> {
    let bytes = layout.count * spec.dtype.size();
    if !matches!(spec.kind, Kind::AllReduce | Kind::Reduce { .. }) || bytes == 0 || bytes > SMALL {
        return Ok(Vec::new());
    }
    let mut all = room::with_capacity(layout.ends.len())?;
    for send in layout.ends.iter().filter_map(|ends| ends.send) {
        // SAFETY: nothing writes what the ranks send before the result is written, after the last use of these.
        all.push(unsafe { memory.bytes(send)? });
    }
    Ok(all)
}

impl Running<'_> {
    /// Between each two processes, both know the length of each transfer.
    pub(in crate::libraries::collective) fn agree_on_lengths(&self, layout: &Layout) -> Result<()> {
        let mut lens: Vec<Vec<u8>> = room::filled(self.processes(), Vec::new())?;
        for moved in &layout.moved {
            let Some(place) = moved.ends.send.or(moved.ends.receive) else { continue };
            for process in [self.owner(moved.transfer.from), self.owner(moved.transfer.to)] {
                if let Some(lens) = lens.get_mut(process).filter(|_| !self.is_own(process)) {
                    room::extend(lens, (place.len as u64).to_le_bytes())?;
                }
            }
        }
        let mut theirs: Vec<Vec<u8>> = room::with_capacity(self.processes())?;
        for own in &lens {
            theirs.push(room::zeroed(own.len())?);
        }
        self.tell(
            &room::collected(lens.iter().map(|own| &own[..]))?,
            &mut room::collected(theirs.iter_mut().map(|their| &mut their[..]))?,
        )?;
        let differs = lens.iter().zip(&theirs).position(|(own, their)| own != their);
        let agreed = self.round(&[u8::from(differs.is_none())])?;
        if agreed.iter().all(|agrees| *agrees == 1) {
            return Ok(());
        }
        let with = differs.or_else(|| agreed.iter().position(|agrees| *agrees == 0)).unwrap_or_default();
        let ranks = self.mesh.ranks.get(with).cloned().unwrap_or_default();
        let what = format!("an input and the output that receives it differ in length: with, or on, ranks {ranks:?}");
        Err(Error::invalid("transfers", what))
    }

    /// The process of a rank.
    pub(super) fn owner(&self, rank: usize) -> usize {
        self.mesh.ranks.iter().position(|ranks| ranks.contains(&rank)).unwrap_or_default()
    }

    fn transfer(&self, parts: &[Part], memory: &Memory<'_>) -> Result<()> {
        let mut traffic = self.traffic()?;
        for part in parts {
            let (from, to) = (self.owner(part.transfer.from), self.owner(part.transfer.to));
            match (part.send, part.receive) {
                // SAFETY: what a rank sends is written by no other part; what it receives, by this part alone.
                (Some(send), Some(receive)) if send != receive => unsafe { memory.copy(send, receive)? },
                (Some(send), None) => {
                    // SAFETY: as above.
                    let bytes = unsafe { memory.bytes(send)? };
                    traffic.get_mut(to).into_iter().try_for_each(|traffic| traffic.send_data(bytes))?;
                }
                (None, Some(receive)) => {
                    // SAFETY: as above.
                    let bytes = unsafe { memory.bytes_mut(receive)? };
                    if let Some(traffic) = traffic.get_mut(from) {
                        traffic.receive_data(bytes)?;
                    }
                }
                _ => {}
            }
        }
        self.carry(&mut traffic)
    }
}
