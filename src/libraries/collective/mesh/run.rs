//! The collectives that only move elements.

use super::turn::{Running, in_turn};
use super::{Mesh, SMALL};
use crate::core::error::{Error, Result};
use crate::libraries::collective::memory::Memory;
use crate::libraries::collective::spec::{Kind, Layout, Spec};

/// Carries out the collective with this number.
pub(in crate::libraries::collective) fn run(
    mesh: &Mesh,
    (spec, layout): (&Spec, &Layout),
    memory: &Memory<'_>,
    sequence: u64,
) -> Result<()> {
    let small = with_header((spec, layout), memory)?;
    in_turn(mesh, (spec, layout), (sequence, &small), &mut |running| match (&spec.kind, &spec.reduction) {
        (Kind::AllReduce | Kind::Reduce { .. }, Some(reduction)) if !small.is_empty() => {
            running.reduce_small(reduction, layout, memory)
        }
        (Kind::Barrier, _) => Ok(()),
        (Kind::ReduceScatter, Some(reduction)) => running.reduce_scatter(reduction, layout, memory),
        (_, Some(reduction)) => running.reduce(reduction, layout, memory),
        (Kind::Exchange(_), None) => running.agree_on_lengths(layout).and_then(|()| running.transfer(layout, memory)),
        (_, None) => running.transfer(layout, memory),
    })
}

/// What each rank sends with the header: all that it reduces, if that is little.
fn with_header<'m>((spec, layout): (&Spec, &Layout), memory: &'m Memory<'_>) -> Result<Vec<&'m [u8]>> {
    let bytes = layout.count * spec.dtype.size();
    if !matches!(spec.kind, Kind::AllReduce | Kind::Reduce { .. }) || bytes == 0 || bytes > SMALL {
        return Ok(Vec::new());
    }
    // SAFETY: nothing writes what the ranks send before the result is written, after the last use of these.
    layout.ends.iter().filter_map(|ends| ends.send).map(|send| unsafe { memory.bytes(send) }).collect()
}

impl Running<'_> {
    /// Between each two processes, both know the length of each transfer.
    pub(in crate::libraries::collective) fn agree_on_lengths(&self, layout: &Layout) -> Result<()> {
        let mut lens: Vec<Vec<u8>> = vec![Vec::new(); self.processes()];
        for moved in &layout.moved {
            let Some(place) = moved.ends.send.or(moved.ends.receive) else { continue };
            for process in [self.owner(moved.transfer.from), self.owner(moved.transfer.to)] {
                if let Some(lens) = lens.get_mut(process).filter(|_| !self.is_own(process)) {
                    lens.extend_from_slice(&(place.len as u64).to_le_bytes());
                }
            }
        }
        let mut theirs: Vec<Vec<u8>> = lens.iter().map(|own| vec![0; own.len()]).collect();
        let mut traffic = self.traffic();
        for ((traffic, own), their) in traffic.iter_mut().zip(&lens).zip(&mut theirs) {
            traffic.sends.push_back(own);
            traffic.receives.push_back(their);
        }
        self.carry(&mut traffic)?;
        drop(traffic);
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

    fn transfer(&self, layout: &Layout, memory: &Memory<'_>) -> Result<()> {
        let parts = self.spec.parts(layout);
        let mut traffic = self.traffic();
        for part in &parts {
            let (from, to) = (self.owner(part.transfer.from), self.owner(part.transfer.to));
            match (part.send, part.receive) {
                // SAFETY: what a rank sends is written by no other part; what it receives, by this part alone.
                (Some(send), Some(receive)) if send != receive => unsafe { memory.copy(send, receive)? },
                (Some(send), None) => {
                    // SAFETY: as above.
                    let bytes = unsafe { memory.bytes(send)? };
                    traffic.get_mut(to).into_iter().for_each(|traffic| traffic.sends.push_back(bytes));
                }
                (None, Some(receive)) => {
                    // SAFETY: as above.
                    let bytes = unsafe { memory.bytes_mut(receive)? };
                    if let Some(traffic) = traffic.get_mut(from) {
                        traffic.receives.push_back(bytes);
                    }
                }
                _ => {}
            }
        }
        self.carry(&mut traffic)
    }
}
