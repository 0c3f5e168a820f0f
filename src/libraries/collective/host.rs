//! The host half of a collective whose ranks are all in this process: they share memory.
//!
//! A reduction is cut into blocks. Each is combined over all ranks, in their order, and then written to all that receive it:
//! one pass over memory, and the same bits whatever the number of threads.

use super::combine::Reduction;
use super::memory::Memory;
use super::numbers;
use super::spec::{Ends, Kind, Layout, Place, Spec};
use crate::core::error::Result;
use crate::core::room;
use rayon::prelude::*;

/// Bytes of a block: what a core's first cache holds of two operands.
const BLOCK: usize = 16 << 10;
/// Bytes of one piece of a copy.
const PIECE: usize = 1 << 20;
/// Up to so many bytes are copied by one thread: to wake others takes longer.
const SINGLE: usize = 128 << 10;

pub(super) fn run(spec: &Spec, layout: &Layout, memory: &Memory<'_>) -> Result<()> {
    match &spec.reduction {
        Some(reduction) => reduce(spec, reduction, layout, memory),
        None => copy(spec, layout, memory),
    }
}

/// A part of a place, in elements.
fn within(place: Place, offset: usize, len: usize) -> Place {
    Place { offset: place.offset + offset, len, ..place }
}

fn copy(spec: &Spec, layout: &Layout, memory: &Memory<'_>) -> Result<()> {
    let most = (PIECE / spec.dtype.size()).max(1);
    let parts = spec.parts(layout)?;
    let pairs = parts.iter().filter_map(|part| part.send.zip(part.receive)).filter(|(from, to)| from != to);
    let pieces: Vec<(Place, Place)> = room::collected(pairs.flat_map(|(from, to)| {
        let starts = (0..from.len).step_by(most);
        starts.map(move |at| {
            let len = most.min(from.len - at);
            (within(from, at, len), within(to, at, len))
        })
    }))?;
    // SAFETY: each element that is received is in one piece. In place, what a rank sends to the others is not received by
    // itself from another, and no piece copies it onto itself.
    let copy = |(from, to): &(Place, Place)| unsafe { memory.copy(*from, *to) };
    let bytes = pieces.iter().map(|(from, _)| from.len * spec.dtype.size()).sum::<usize>();
    if bytes <= SINGLE {
        return pieces.iter().try_for_each(copy);
    }
    pieces.par_iter().try_for_each(copy)
}

/// A block of the result: where it begins in what each rank sends, and which ranks receive it where.
struct Block {
    sent_at: usize,
    received_at: usize,
    len: usize,
    /// The rank that receives it; `None`: all that receive anything.
    only: Option<usize>,
}

fn reduce(spec: &Spec, reduction: &Reduction, layout: &Layout, memory: &Memory<'_>) -> Result<()> {
    let (count, most) = (layout.count, (BLOCK / spec.dtype.size()).max(1));
    let shares = if let Kind::ReduceScatter = spec.kind { spec.ranks } else { 1 };
    let only = |share: usize| (shares > 1).then_some(share);
    let blocks: Vec<Block> = room::collected((0..shares).flat_map(|share| {
        (0..count).step_by(most).map(move |at| Block {
            sent_at: share * count + at,
            received_at: at,
            len: most.min(count - at),
            only: only(share),
        })
    }))?;
    let block = |block: &Block| reduce_block(spec, reduction, &layout.ends, memory, block);
    blocks.par_iter().with_max_len(8).try_for_each(block)
}

fn reduce_block(spec: &Spec, reduction: &Reduction, ends: &[Ends], memory: &Memory<'_>, block: &Block) -> Result<()> {
    let (scalar, _) = numbers::scalars(spec.dtype);
    // Aligned for all types.
    let mut sums = [0u64; BLOCK / size_of::<u64>()];
    let sums: &mut [u8] = bytemuck::cast_slice_mut(&mut sums);
    let sums = sums.get_mut(..block.len * spec.dtype.size()).unwrap_or_default();
    {
        let mut inputs = smallvec::SmallVec::<[_; 8]>::new();
        inputs.try_reserve(ends.len()).map_err(|_| room::out_of_memory(24 * ends.len()))?;
        for (rank, ends) in ends.iter().enumerate() {
            let Some(send) = ends.send else { continue };
            // SAFETY: this block of each operand is accessed by this call alone, which writes it below.
            let bytes = unsafe { memory.bytes(within(send, block.sent_at, block.len))? };
            inputs.push((bytes, reduction.factors.get(rank).copied().unwrap_or_default()));
        }
        numbers::combine((scalar, reduction.how), &inputs, sums, spec.ranks);
    }
    for (rank, ends) in ends.iter().enumerate() {
        let Some(receive) = ends.receive.filter(|_| block.only.is_none_or(|only| only == rank)) else { continue };
        // SAFETY: as above; nothing reads the block any more.
        let bytes = unsafe { memory.bytes_mut(within(receive, block.received_at, block.len))? };
        bytes.copy_from_slice(sums);
    }
    Ok(())
}
