//! Copies of what is not as the library wants it: beginning at 16 bytes, for vectorised loads; indices of 32 bits.

use super::super::element::SparseIndex;
use super::SORT;
use crate::cuda::Queue;
use crate::{Element, Result, Span};

const ALIGN: u64 = 16;

impl Queue<'_> {
    /// An operand to be read, or a copy of it.
    pub(in super::super) fn aligned<T: Element>(&mut self, operand: &Span<T>) -> Result<u64> {
        if operand.is_empty() || operand.address().is_multiple_of(ALIGN) {
            return Ok(operand.address());
        }
        let copy = self.scratch(operand.bytes())?;
        // SAFETY: an operand of this dispatch, and scratch that is as long.
        unsafe { self.copy(copy, operand.address(), operand.bytes()) }?;
        Ok(copy)
    }

    /// An operand to be written, or scratch in its place with what it holds: [`put_back`](Self::put_back) brings it.
    pub(in super::super) fn aligned_output<T: Element>(&mut self, operand: &Span<T>) -> Result<u64> {
        self.aligned(operand)
    }

    /// Indices of 64 bits, whose numbers 32 bits count, as such in scratch.
    pub(in super::super) fn narrowed<I: SparseIndex>(&mut self, operand: &Span<I>) -> Result<u64> {
        let (n, copy) = (operand.len(), self.scratch(operand.len().saturating_mul(size_of::<i32>()))?);
        // SAFETY: the parameters in order and type; scratch for as many.
        unsafe { self.each(SORT, c"narrow_indices", n, &[operand.address().into(), n.into(), copy.into()]) }?;
        Ok(copy)
    }

    /// The other way: indices of 32 bits, as many as the operand has, to where those of 64 bits belong.
    pub(in super::super) fn widened<I: SparseIndex>(&mut self, computed: u64, operand: &Span<I>) -> Result<()> {
        let n = operand.len();
        // SAFETY: the parameters in order and type; an operand that this dispatch writes, and as many numbers.
        unsafe { self.each(SORT, c"widen_indices", n, &[computed.into(), n.into(), operand.address().into()]) }
    }

    /// What was computed in the place of an operand.
    pub(in super::super) fn put_back<T: Element>(&mut self, operand: &Span<T>, computed: u64) -> Result<()> {
        if operand.is_empty() || computed == operand.address() {
            return Ok(());
        }
        // SAFETY: an operand that this dispatch writes, and scratch that is as long.
        unsafe { self.copy(operand.address(), computed, operand.bytes()) }
    }
}
