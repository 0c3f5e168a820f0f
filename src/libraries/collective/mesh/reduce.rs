//! Reductions: an exchange of shares, a combination in the order of the ranks, and an exchange of results.

use super::turn::Running;
use crate::core::error::Result;
use crate::libraries::collective::combine::Reduction;
use crate::libraries::collective::memory::Memory;
use crate::libraries::collective::numbers;
use crate::libraries::collective::spec::{Layout, Place};
use std::ops::Range;

/// Up to so many bytes of each rank, each process combines all by itself: one exchange instead of two.
const SMALL: usize = 2048;
/// Bytes that are combined at a time: what a core's first cache holds of two operands.
const BLOCK: usize = 16 << 10;

/// Memory for what other ranks send, each aligned for all types.
struct Received {
    memory: Vec<u64>,
    /// Words of each rank.
    words: usize,
    bytes: usize,
}

impl Received {
    fn new(ranks: usize, bytes: usize) -> Self {
        let words = bytes.div_ceil(size_of::<u64>());
        Received { memory: vec![0; ranks * words], words, bytes }
    }

    fn rooms(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let bytes = self.bytes;
        self.memory
            .chunks_exact_mut(self.words.max(1))
            .map(move |words| bytemuck::cast_slice_mut(words).get_mut(..bytes).unwrap_or_default())
    }

    fn of(&self, rank: usize) -> &[u8] {
        let words = self.memory.get(rank * self.words..(rank + 1) * self.words).unwrap_or_default();
        bytemuck::cast_slice(words).get(..self.bytes).unwrap_or_default()
    }
}

fn within(place: Place, range: &Range<usize>) -> Place {
    Place { offset: place.offset + range.start, len: range.len(), ..place }
}

impl Running<'_> {
    /// The factor of each rank of all processes.
    fn factors(&self, reduction: &Reduction) -> Result<Vec<[u8; 8]>> {
        if reduction.factors.is_empty() {
            return Ok(vec![[0; 8]; self.spec.ranks]);
        }
        let own: Vec<u8> = reduction.factors.concat();
        let mut all = vec![0; self.spec.ranks * 8];
        let mut traffic = self.traffic();
        let mut rest = &mut all[..];
        for ((process, ranks), traffic) in self.mesh.ranks.iter().enumerate().zip(&mut traffic) {
            let (room, after) = rest.split_at_mut_checked(ranks.len() * 8).unwrap_or_default();
            rest = after;
            if self.is_own(process) {
                room.copy_from_slice(&own);
            } else {
                traffic.sends.push_back(&own);
                traffic.receives.push_back(room);
            }
        }
        self.carry(&mut traffic)?;
        drop(traffic);
        Ok(all.chunks_exact(8).map(|factor| factor.try_into().unwrap_or_default()).collect())
    }

    /// Sends each other process its part of what the ranks of this one send, `theirs`, and receives what it needs of theirs.
    fn spread(
        &self,
        sends: &[Place],
        theirs: &dyn Fn(usize) -> Option<Range<usize>>,
        memory: &Memory<'_>,
        received: &mut Received,
    ) -> Result<()> {
        let mut traffic = self.traffic();
        let mut rooms = received.rooms();
        for (process, ranks) in self.mesh.ranks.iter().enumerate() {
            let Some(traffic) = traffic.get_mut(process) else { continue };
            if self.is_own(process) {
                continue;
            }
            if let Some(range) = theirs(process) {
                for send in sends {
                    // SAFETY: nothing writes what the ranks send before all of it was sent.
                    traffic.sends.push_back(unsafe { memory.bytes(within(*send, &range))? });
                }
            }
            traffic.receives.extend(rooms.by_ref().take(ranks.len()));
        }
        drop(rooms);
        self.carry(&mut traffic)
    }

    pub(super) fn reduce(&self, reduction: &Reduction, layout: &Layout, memory: &Memory<'_>) -> Result<()> {
        let factors = self.factors(reduction)?;
        let (count, size) = (layout.count, self.spec.dtype.size());
        let sends: Vec<Place> = layout.ends.iter().filter_map(|ends| ends.send).collect();
        let is_small = count * size <= SMALL;
        let share = |process: usize| {
            let part = |index: usize| (count as u128 * index as u128 / self.processes() as u128) as usize;
            if is_small { 0..count } else { part(process)..part(process + 1) }
        };
        let own = share(self.mesh.process);
        let mut received = Received::new(self.spec.ranks, own.len() * size);
        self.spread(&sends, &|process| Some(share(process)), memory, &mut received)?;
        let mut result = Received::new(1, own.len() * size);
        self.fold((reduction, &factors), &sends, &own, memory, &received, &mut result)?;
        // From here on nothing reads what the ranks send: in place it is overwritten.
        let receives: Vec<Place> = layout.ends.iter().filter_map(|ends| ends.receive).collect();
        for receive in &receives {
            // SAFETY: nothing else uses the operands any more, except for the places below, which lie beside.
            unsafe { memory.bytes_mut(within(*receive, &own))? }.copy_from_slice(result.of(0));
        }
        if is_small {
            return Ok(());
        }
        let mut traffic = self.traffic();
        for (process, traffic) in traffic.iter_mut().enumerate().filter(|(process, _)| !self.is_own(*process)) {
            let needs = self.spec.kind.root().is_none_or(|root| self.owner(root) == process);
            if needs {
                traffic.sends.push_back(result.of(0));
            }
            if let Some(first) = receives.first() {
                // SAFETY: the shares of the processes lie side by side.
                traffic.receives.push_back(unsafe { memory.bytes_mut(within(*first, &share(process)))? });
            }
        }
        self.carry(&mut traffic)?;
        drop(traffic);
        if let Some((first, others)) = receives.split_first() {
            // SAFETY: nothing else uses the operands any more.
            others.iter().try_for_each(|other| unsafe { memory.copy(*first, *other) })?;
        }
        Ok(())
    }

    pub(super) fn reduce_scatter(&self, reduction: &Reduction, layout: &Layout, memory: &Memory<'_>) -> Result<()> {
        let factors = self.factors(reduction)?;
        let (count, size) = (layout.count, self.spec.dtype.size());
        let sends: Vec<Place> = layout.ends.iter().filter_map(|ends| ends.send).collect();
        // One rank of each process after the other.
        let most = self.mesh.ranks.iter().map(Range::len).max().unwrap_or_default();
        for turn in 0..most {
            let range = |process: usize| {
                let ranks = self.mesh.ranks.get(process)?;
                let rank = ranks.start + turn;
                ranks.contains(&rank).then(|| rank * count..(rank + 1) * count)
            };
            let own = range(self.mesh.process);
            let ranks = if own.is_some() { self.spec.ranks } else { 0 };
            let mut received = Received::new(ranks, count * size);
            self.spread(&sends, &range, memory, &mut received)?;
            let Some((own, receive)) = own.zip(layout.ends.get(turn).and_then(|ends| ends.receive)) else { continue };
            let mut result = Received::new(1, count * size);
            self.fold((reduction, &factors), &sends, &own, memory, &received, &mut result)?;
            // SAFETY: in place it is the part that no other rank is sent, and that was combined above.
            unsafe { memory.bytes_mut(receive)? }.copy_from_slice(result.of(0));
        }
        Ok(())
    }

    /// Combines the part `own` of all ranks, in their order.
    fn fold(
        &self,
        (reduction, factors): (&Reduction, &[[u8; 8]]),
        sends: &[Place],
        own: &Range<usize>,
        memory: &Memory<'_>,
        received: &Received,
        result: &mut Received,
    ) -> Result<()> {
        let (scalar, _) = numbers::scalars(self.spec.dtype);
        let mut inputs: Vec<&[u8]> = Vec::with_capacity(self.spec.ranks);
        let mut others = 0..;
        for (process, ranks) in self.mesh.ranks.iter().enumerate() {
            if self.is_own(process) {
                for send in sends {
                    // SAFETY: nothing writes what the ranks send meanwhile.
                    inputs.push(unsafe { memory.bytes(within(*send, own))? });
                }
            } else {
                inputs.extend(others.by_ref().take(ranks.len()).map(|rank| received.of(rank)));
            }
        }
        let output = result.rooms().next().unwrap_or_default();
        for (index, output) in output.chunks_mut(BLOCK).enumerate() {
            let (start, len) = (index * BLOCK, output.len());
            let mut block = inputs
                .iter()
                .zip(factors)
                .map(|(input, factor)| (input.get(start..start + len).unwrap_or_default(), *factor));
            numbers::combine((scalar, reduction.how), &mut block, output, self.spec.ranks);
        }
        Ok(())
    }
}
