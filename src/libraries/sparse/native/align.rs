//! Copies of what does not begin where the library wants it: 16 bytes, for vectorised loads.

use crate::op::Op;
use crate::{Element, Enqueue, Result, Span};

const ALIGN: u64 = 16;

impl<O: Op> Enqueue<'_, O> {
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

    /// What was computed in the place of an operand.
    pub(in super::super) fn put_back<T: Element>(&mut self, operand: &Span<T>, computed: u64) -> Result<()> {
        if operand.is_empty() || computed == operand.address() {
            return Ok(());
        }
        // SAFETY: an operand that this dispatch writes, and scratch that is as long.
        unsafe { self.copy(operand.address(), computed, operand.bytes()) }
    }
}
