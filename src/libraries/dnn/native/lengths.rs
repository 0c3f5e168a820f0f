//! The lengths of batches, as the library takes them.
//!
//! An engine of the library has no result for a batch without queries or keys, and no bound for lengths beyond the sizes; lengths lie in
//! device memory, so that nobody can refuse them. It gets lengths from 1 to the sizes, and what belongs to nothing becomes zeros after
//! it: all of a batch depends on this batch alone.

use super::super::attention::{AttentionProblem, Corner, Rows};
use super::plan::aligned;
use crate::core::buffer::AnySpan;
use crate::core::error::Result;
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{Ptx, Queue};
use crate::libraries::tensor_routine::missing;

/// Also run by the PTX machine, in `tests/dnn`.
static KERNELS: Ptx = Ptx::new(include_str!("lengths.ptx"));

/// The lengths of queries and of keys, as the caller gave them.
pub(super) type Lengths = [u64; 2];

/// What [`Lengths::blank`] makes zeros: rows of queries or of keys.
pub(super) struct Blanked {
    pub(super) to: u64,
    /// The sums of the rows, or 0.
    pub(super) sums: u64,
    /// What the sum of a query is that sees no key, for each head; 0 for -inf.
    pub(super) sink: u64,
    pub(super) extents: [usize; 4],
    pub(super) rows: Rows,
    pub(super) of_keys: bool,
}

/// The last operands that are read, if the batches have lengths.
pub(super) fn of(problem: &AttentionProblem, reads: &[AnySpan]) -> Result<Option<Lengths>> {
    match (problem.lengths, reads) {
        (false, _) => Ok(None),
        (true, [.., queries, keys]) => Ok(Some([queries.address(), keys.address()])),
        _ => Err(missing()),
    }
}

/// The lengths of all batches, which are the sizes, where a query without a key has a sum all the same: that of the sink alone.
pub(super) fn whole(problem: &AttentionProblem, queue: &mut Queue<'_>) -> Result<Option<Lengths>> {
    if !problem.sink || problem.lengths || problem.causal.is_none() || problem.queries <= problem.keys {
        return Ok(None);
    }
    let mut lengths = [0; 2];
    for (address, size) in lengths.iter_mut().zip([problem.queries, problem.keys]) {
        *address = queue.scratch(4 * problem.batch)?;
        let size = i32::try_from(size).unwrap_or(i32::MAX).to_ne_bytes();
        // SAFETY: scratch memory of as many elements of 4 bytes.
        unsafe { queue.fill(*address, problem.batch, &size) }?;
    }
    Ok(Some(lengths))
}

/// Operands in the order in which they are read, each at an address that the library takes; of lengths, copies from 1 to the sizes.
pub(super) fn addresses(problem: &AttentionProblem, queue: &mut Queue<'_>, reads: &[AnySpan]) -> Result<Vec<u64>> {
    let first = reads.len() - if problem.lengths { 2.min(reads.len()) } else { 0 };
    let (operands, lengths) = reads.split_at_checked(first).unwrap_or((reads, &[]));
    let mut all = Vec::with_capacity(reads.len());
    for span in operands {
        all.push(aligned(queue, span)?);
    }
    let window = window(problem);
    let of_keys = lengths.last().map_or(0, AnySpan::address);
    for (span, (most, window)) in lengths.iter().zip([(problem.queries, window), (problem.keys, 0)]) {
        let to = queue.scratch(4 * problem.batch)?;
        let args = [
            span.address().into(),
            to.into(),
            problem.batch.into(),
            most.into(),
            of_keys.into(),
            problem.keys.into(),
            window.into(),
        ];
        // SAFETY: the arguments are the kernel's parameters in order and type; it reads a length of each batch (the op's check), and
        // writes as many to scratch.
        unsafe { queue.launch(&KERNELS, c"bounded", LaunchDims::for_elements(problem.batch)?, &args) }?;
        all.push(to);
    }
    Ok(all)
}

/// Operands for their addresses: copies with zeros behind the lengths. The library multiplies what lies there by weights of 0, and what
/// is not finite would go into the results.
///
/// # Safety
/// Each operand has a number among `reads`, extents and rows of a tensor without gaps, in multiples of 16 bytes; `addresses` are those of
/// [`addresses`].
pub(super) unsafe fn clean(
    problem: &AttentionProblem,
    queue: &mut Queue<'_>,
    reads: &[AnySpan],
    addresses: &mut [u64],
    operands: &[(usize, [usize; 4], Rows, bool)],
) -> Result<()> {
    let Some(lengths) = of(problem, reads)? else { return Ok(()) };
    for &(index, extents, rows, of_keys) in operands {
        let (Some(span), Some(address)) = (reads.get(index), addresses.get_mut(index)) else { continue };
        if *address == span.address() {
            *address = queue.scratch(span.bytes())?;
            // SAFETY: the operand, and scratch memory of as many bytes.
            unsafe { queue.copy(*address, span.address(), span.bytes()) }?;
        }
        let blanked = Blanked { to: *address, sums: 0, sink: 0, extents, rows, of_keys };
        // SAFETY: a copy of the operand, of which the caller has promised the rest.
        unsafe { blank(problem, queue, lengths, &blanked) }?;
    }
    Ok(())
}

/// The window of queries that may lie behind all keys, or 0.
fn window(problem: &AttentionProblem) -> usize {
    // Longer ones than this bound nothing.
    let window = problem.window.filter(|_| problem.causal == Some(Corner::TopLeft)).unwrap_or(0);
    if window <= problem.queries { window } else { 0 }
}

/// Makes zeros of the rows that belong to nothing.
///
/// # Safety
/// `to` is a tensor of these extents and rows that the dispatch may write, in multiples of 16 bytes; `sums`, if it is not 0, has a number
/// of 4 bytes for each row, and `sink` one for each head.
pub(super) unsafe fn blank(
    problem: &AttentionProblem,
    queue: &mut Queue<'_>,
    [queries, keys]: Lengths,
    blanked: &Blanked,
) -> Result<()> {
    let &Blanked { to, sums, sink, extents, rows: [of_batch, of_head, of_place], of_keys } = blanked;
    let [batch, heads, places, width] = extents;
    let size = problem.dtype.size();
    let (own, other, others) = if of_keys { (keys, queries, problem.queries) } else { (queries, keys, problem.keys) };
    let skip = usize::from(!of_keys && problem.causal == Some(Corner::BottomRight));
    let len = batch * heads * places;
    let args = [
        own.into(),
        other.into(),
        to.into(),
        sums.into(),
        len.into(),
        heads.into(),
        places.into(),
        others.into(),
        (width * size / 16).into(),
        (of_batch * size).into(),
        (of_head * size).into(),
        (of_place * size).into(),
        skip.into(),
        (if of_keys { 0 } else { window(problem) }).into(),
        sink.into(),
    ];
    // SAFETY: the arguments are the kernel's parameters in order and type; it reads a length of each batch (the op's check); the caller
    // vouches for what it writes.
    unsafe { queue.launch(&KERNELS, c"blanked", LaunchDims::for_elements(len)?, &args) }
}
