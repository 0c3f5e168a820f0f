//! Copies of operands that the library does not accept as they are: arrays must begin at 16 bytes, for vectorised
//! loads; some routines need indices of 32 bits.

use super::super::element::SparseIndex;
use super::SORT;
use crate::core::buffer::Span;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::libraries::sparse::native::kernels;

const ALIGN: u64 = 16;

/// The address of an operand to be read, or of an aligned copy.
pub(in super::super) fn aligned<T: Element>(queue: &mut Queue<'_>, operand: &Span<T>) -> Result<u64> {
    if operand.is_empty() || operand.address().is_multiple_of(ALIGN) {
        return Ok(operand.address());
    }
    let copy = queue.scratch(operand.bytes())?;
    // SAFETY: an operand of this dispatch, and scratch that is as long.
    unsafe { queue.copy(copy, operand.address(), operand.bytes()) }?;
    Ok(copy)
}

/// The address of an operand to be written, or of aligned scratch with its contents; [`put_back`](put_back)
/// then copies the result.
pub(in super::super) fn aligned_output<T: Element>(queue: &mut Queue<'_>, operand: &Span<T>) -> Result<u64> {
    aligned(queue, operand)
}

/// A copy in scratch of 64-bit indices as 32-bit indices; their values must fit.
pub(in super::super) fn narrowed<I: SparseIndex>(queue: &mut Queue<'_>, operand: &Span<I>) -> Result<u64> {
    let (n, copy) = (operand.len(), queue.scratch(operand.len().saturating_mul(size_of::<i32>()))?);
    // SAFETY: the parameters in order and type; scratch for as many.
    unsafe { kernels::each(queue, SORT, c"narrow_indices", n, &[operand.address().into(), n.into(), copy.into()]) }?;
    Ok(copy)
}

/// The inverse: writes computed 32-bit indices to the operand, which has 64-bit indices.
pub(in super::super) fn widened<I: SparseIndex>(queue: &mut Queue<'_>, computed: u64, operand: &Span<I>) -> Result<()> {
    let n = operand.len();
    // SAFETY: the parameters in order and type; an operand that this dispatch writes, and as many numbers.
    unsafe { kernels::each(queue, SORT, c"widen_indices", n, &[computed.into(), n.into(), operand.address().into()]) }
}

/// Copies a result that was computed in scratch to its operand.
pub(in super::super) fn put_back<T: Element>(queue: &mut Queue<'_>, operand: &Span<T>, computed: u64) -> Result<()> {
    if operand.is_empty() || computed == operand.address() {
        return Ok(());
    }
    // SAFETY: an operand that this dispatch writes, and scratch that is as long.
    unsafe { queue.copy(operand.address(), computed, operand.bytes()) }
}
