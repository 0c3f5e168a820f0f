//! Reductions: an exchange of shares, a combination in the order of the ranks, and an exchange of results, in pieces.

use super::Mesh;
use super::received::Received;
use super::turn::Running;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::collective::combine::Reduction;
use crate::libraries::collective::memory::Memory;
use crate::libraries::collective::numbers;
use crate::libraries::collective::spec::{Kind, Layout, Place, Spec};
use std::ops::Range;

/// Bytes that are combined at a time: what a core's first cache holds of two operands.
const BLOCK: usize = 16 << 10;
/// Bytes of a piece of what a process combines: while it is combined, its processor's cache holds it, of all ranks.
const PIECE: usize = 512 << 10;

fn within(place: Place, range: &Range<usize>) -> Place {
    Place { offset: place.offset + range.start, len: range.len(), ..place }
}

/// A part of `0..count` of several that are as long as each other, or one longer.
fn part(count: usize, index: usize, parts: usize) -> Range<usize> {
    let bound = |index: usize| (count as u128 * index as u128 / parts.max(1) as u128) as usize;
    bound(index)..bound(index + 1)
}

/// Takes a block of a result, and where it begins in it, in bytes.
type Take<'t> = &'t mut dyn FnMut(usize, &[u8]) -> Result<()>;

/// Memory for a reduction, besides that for what is received.
#[derive(Default)]
pub(super) struct Rooms {
    /// The factor of each rank of all processes.
    factors: Vec<[u8; 8]>,
    /// What the ranks of this process send.
    sends: Vec<Place>,
    /// A result that no rank's own memory holds.
    result: Vec<u8>,
}

impl Rooms {
    /// For a collective; `is_small`: its elements are sent with the header.
    pub(super) fn new(mesh: &Mesh, (spec, layout): (&Spec, &Layout), is_small: bool) -> Result<(Received, Self)> {
        if spec.reduction.is_none() {
            return Ok(Default::default());
        }
        let share = layout.count * spec.dtype.size();
        let (bytes, kept) = match spec.kind {
            _ if is_small => (share, 0),
            Kind::ReduceScatter => (share, share),
            _ => {
                let pieces = Pieces::new(mesh.ranks.len(), layout.count, spec.dtype.size());
                let most = (0..pieces.count).map(|index| pieces.of(mesh.process, index).len()).max();
                let most = most.unwrap_or_default() * spec.dtype.size();
                (most, if layout.ends.iter().any(|ends| ends.receive.is_some()) { 0 } else { most })
            }
        };
        let factors = room::filled(spec.ranks, [0; 8])?;
        let sends = room::collected(layout.ends.iter().filter_map(|ends| ends.send))?;
        Ok((Received::new(spec.ranks, bytes)?, Rooms { factors, sends, result: room::with_capacity(kept)? }))
    }
}

/// How the elements are shared out: each process combines one part of them, piece by piece.
#[derive(Clone, Copy)]
struct Pieces {
    processes: usize,
    elements: usize,
    /// Pieces of each part.
    count: usize,
}

impl Pieces {
    fn new(processes: usize, elements: usize, size: usize) -> Self {
        let most = elements.div_ceil(processes.max(1));
        Pieces { processes, elements, count: (most * size).div_ceil(PIECE).max(1) }
    }

    fn of(self, process: usize, index: usize) -> Range<usize> {
        let share = part(self.elements, process, self.processes);
        let of_share = part(share.len(), index, self.count);
        share.start + of_share.start..share.start + of_share.end
    }
}

/// Memory that was taken before the collective began.
type Taken<'t> = (&'t mut Received, &'t mut Rooms);

impl Running<'_> {
    /// Fetches the factor of each rank of all processes.
    fn factors(&self, reduction: &Reduction, factors: &mut [[u8; 8]]) -> Result<()> {
        if reduction.factors.is_empty() {
            return Ok(());
        }
        let own: &[u8] = reduction.factors.as_flattened();
        let mut theirs: Vec<&mut [u8]> = room::with_capacity(self.processes())?;
        let mut rest = factors;
        for (process, ranks) in self.mesh.ranks.iter().enumerate() {
            let (room, after) = rest.split_at_mut_checked(ranks.len()).unwrap_or_default();
            rest = after;
            let room = room.as_flattened_mut();
            if self.is_own(process) {
                room.copy_from_slice(own);
            }
            theirs.push(room);
        }
        self.tell(&room::filled(self.processes(), own)?, &mut theirs)
    }

    /// A reduction of few bytes, which all ranks have sent with the header: each process combines all of them.
    pub(super) fn reduce_small(
        &self,
        reduction: &Reduction,
        layout: &Layout,
        memory: &Memory<'_>,
        (received, Rooms { factors, sends, .. }): Taken<'_>,
    ) -> Result<()> {
        self.factors(reduction, factors)?;
        let mut result = [0u64; super::SMALL / size_of::<u64>()];
        let result: &mut [u8] = bytemuck::cast_slice_mut(&mut result);
        let mut len = 0;
        let own = 0..layout.count;
        self.fold((reduction, factors), (sends, &own), memory, received, &mut |at, block| {
            len = at + block.len();
            result.get_mut(at..len).into_iter().for_each(|place| place.copy_from_slice(block));
            Ok(())
        })?;
        for receive in layout.ends.iter().filter_map(|ends| ends.receive) {
            // SAFETY: nothing reads what the ranks send any more, and each operand is written once.
            unsafe { memory.bytes_mut(receive)? }.copy_from_slice(result.get(..len).unwrap_or_default());
        }
        Ok(())
    }

    /// Each process combines its share of the elements, piece by piece. In each step all send each other one piece of what they
    /// combine, and the result of the piece before.
    pub(super) fn reduce(
        &self,
        reduction: &Reduction,
        layout: &Layout,
        memory: &Memory<'_>,
        // Without a rank that receives it here, the result of a piece is kept until it is sent.
        (received, Rooms { factors, sends, result: kept }): Taken<'_>,
    ) -> Result<()> {
        self.factors(reduction, factors)?;
        let size = self.spec.dtype.size();
        let all = Pieces::new(self.processes(), layout.count, size);
        let (pieces, piece) = (all.count, |process, index| all.of(process, index));
        let mut receives = layout.ends.iter().filter_map(|ends| ends.receive);
        let receive = receives.next();
        for step in 0..=pieces {
            let mut traffic = self.traffic()?;
            let mut rooms = received.rooms(piece(self.mesh.process, step).len() * size);
            for (process, (ranks, traffic)) in self.mesh.ranks.iter().zip(&mut traffic).enumerate() {
                if self.is_own(process) {
                    continue;
                }
                if step < pieces {
                    for send in &*sends {
                        // SAFETY: what is written meanwhile, in place too, belongs to the piece before.
                        traffic.send_data(unsafe { memory.bytes(within(*send, &piece(process, step)))? })?;
                    }
                    rooms.by_ref().take(ranks.len()).try_for_each(|room| traffic.receive_data(room))?;
                }
                let Some(before) = step.checked_sub(1) else { continue };
                if self.spec.kind.root().is_none_or(|root| self.owner(root) == process) {
                    traffic.send_data(match receive {
                        // SAFETY: it was written after the step before, and is not any more.
                        Some(first) => unsafe { memory.bytes(within(first, &piece(self.mesh.process, before)))? },
                        None => kept.as_slice(),
                    })?;
                }
                if let Some(first) = receive {
                    // SAFETY: the pieces lie side by side; what is read meanwhile belongs to the next one, or to this process.
                    traffic.receive_data(unsafe { memory.bytes_mut(within(first, &piece(process, before)))? })?;
                }
            }
            drop(rooms);
            self.carry(&mut traffic)?;
            drop(traffic);
            if step < pieces {
                let own = piece(self.mesh.process, step);
                kept.clear();
                self.fold((reduction, factors), (sends, &own), memory, received, &mut |at, block| {
                    let Some(first) = receive else {
                        kept.extend_from_slice(block); // its space was taken before
                        return Ok(());
                    };
                    let start = own.start + at / size;
                    let place = within(first, &(start..start + block.len() / size));
                    // SAFETY: of this block everything has been read.
                    unsafe { memory.bytes_mut(place)? }.copy_from_slice(block);
                    Ok(())
                })?;
            }
        }
        if let Some(first) = receive {
            // SAFETY: nothing else uses the operands any more.
            receives.try_for_each(|other| unsafe { memory.copy(first, other) })?;
        }
        Ok(())
    }

    pub(super) fn reduce_scatter(
        &self,
        reduction: &Reduction,
        layout: &Layout,
        memory: &Memory<'_>,
        (received, Rooms { factors, sends, result }): Taken<'_>,
    ) -> Result<()> {
        self.factors(reduction, factors)?;
        let (count, size) = (layout.count, self.spec.dtype.size());
        // One rank of each process after the other.
        let most = self.mesh.ranks.iter().map(Range::len).max().unwrap_or_default();
        for turn in 0..most {
            let range = |process: usize| {
                let ranks = self.mesh.ranks.get(process)?;
                let rank = ranks.start + turn;
                ranks.contains(&rank).then(|| rank * count..(rank + 1) * count)
            };
            let own = range(self.mesh.process);
            let rooms = received.rooms(count * size).take(if own.is_some() { self.spec.ranks } else { 0 });
            self.spread(sends, &range, memory, rooms)?;
            let Some((own, receive)) = own.zip(layout.ends.get(turn).and_then(|ends| ends.receive)) else { continue };
            result.clear();
            self.fold((reduction, factors), (sends, &own), memory, received, &mut |_, block| {
                result.extend_from_slice(block); // its space was taken before
                Ok(())
            })?;
            // SAFETY: in place it is the part that no other rank is sent, and that was combined above.
            unsafe { memory.bytes_mut(receive)? }.copy_from_slice(result);
        }
        Ok(())
    }

    /// Sends each other process its part of what the ranks of this one send, `theirs`, and receives what it needs of theirs.
    fn spread<'b>(
        &self,
        sends: &[Place],
        theirs: &dyn Fn(usize) -> Option<Range<usize>>,
        memory: &'b Memory<'_>,
        mut rooms: impl Iterator<Item = &'b mut [u8]>,
    ) -> Result<()> {
        let mut traffic = self.traffic()?;
        for (process, (ranks, traffic)) in self.mesh.ranks.iter().zip(&mut traffic).enumerate() {
            if self.is_own(process) {
                continue;
            }
            if let Some(range) = theirs(process) {
                for send in sends {
                    // SAFETY: nothing writes what the ranks send before all of it was sent.
                    traffic.send_data(unsafe { memory.bytes(within(*send, &range))? })?;
                }
            }
            rooms.by_ref().take(ranks.len()).try_for_each(|room| traffic.receive_data(room))?;
        }
        drop(rooms);
        self.carry(&mut traffic)
    }

    /// Combines the part `own` of all ranks, in their order. What the other processes have sent begins with it.
    fn fold(
        &self,
        (reduction, factors): (&Reduction, &[[u8; 8]]),
        (sends, own): (&[Place], &Range<usize>),
        memory: &Memory<'_>,
        received: &Received,
        take: Take<'_>,
    ) -> Result<()> {
        let (scalar, _) = numbers::scalars(self.spec.dtype);
        let size = self.spec.dtype.size();
        let mut result = [0u64; BLOCK / size_of::<u64>()];
        let result: &mut [u8] = bytemuck::cast_slice_mut(&mut result);
        for start in (0..own.len()).step_by(BLOCK / size) {
            let block = start..own.len().min(start + BLOCK / size);
            let bytes = block.start * size..block.end * size;
            let mut inputs = smallvec::SmallVec::<[_; 8]>::new();
            inputs.try_reserve(self.spec.ranks).map_err(|_| room::out_of_memory(24 * self.spec.ranks))?;
            let (mut others, mut factors) = (0.., factors.iter().copied());
            for (process, ranks) in self.mesh.ranks.iter().enumerate() {
                if self.is_own(process) {
                    for send in sends {
                        let place = within(*send, &(own.start + block.start..own.start + block.end));
                        // SAFETY: it is not written before `take`, which comes after the last use.
                        inputs.push((unsafe { memory.bytes(place)? }, factors.next().unwrap_or_default()));
                    }
                } else {
                    let theirs = others.by_ref().take(ranks.len());
                    let theirs = theirs.map(|rank| received.of(rank).get(bytes.clone()).unwrap_or_default());
                    inputs.extend(theirs.map(|input| (input, factors.next().unwrap_or_default())));
                }
            }
            let result = result.get_mut(..bytes.len()).unwrap_or_default();
            numbers::combine((scalar, reduction.how), &inputs, result, self.spec.ranks);
            drop(inputs);
            take(bytes.start, result)?;
        }
        Ok(())
    }
}
