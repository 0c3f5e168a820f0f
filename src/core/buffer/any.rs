//! Operands without their types, as an engine and a host half see them.

use super::Region;
use crate::core::element::{DType, Element};

/// An operand as an engine sees it: address, length and element type.
#[derive(Clone, Copy, Debug)]
pub struct AnySpan {
    pub(super) address: u64,
    pub(super) len: usize,
    pub(super) dtype: DType,
}

impl AnySpan {
    pub(super) fn new(region: &Region, offset: usize, len: usize, dtype: DType) -> Self {
        // No overflow: an offset lies inside the allocation, whose length in bytes was checked when it was made.
        AnySpan { address: region.allocation.address + (offset * dtype.size()) as u64, len, dtype }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The length in bytes.
    pub fn bytes(&self) -> usize {
        self.len * self.dtype.size()
    }

    /// The address of the first element in the engine's memory. Valid only during the dispatch that the span belongs
    /// to.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Whether some byte belongs to both.
    pub(crate) fn overlaps(&self, other: &AnySpan) -> bool {
        let end = |span: &AnySpan| span.address.saturating_add(span.bytes() as u64);
        !self.is_empty() && !other.is_empty() && self.address < end(other) && other.address < end(self)
    }

    /// A pointer to the field that holds the address.
    #[cfg(feature = "cuda")]
    pub(crate) fn place(&self) -> *const u64 {
        &raw const self.address
    }
}

/// A read operand as an op's host half ([`Op::host`](crate::op::Op::host)) gets it.
#[derive(Clone, Copy, Debug)]
pub struct AnySlice<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) dtype: DType,
}

impl<'a> AnySlice<'a> {
    /// The bytes of the elements.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The address of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.bytes.as_ptr() as u64
    }

    /// Where it lies.
    pub(crate) fn span(&self) -> AnySpan {
        AnySpan { address: self.address(), len: self.bytes.len() / self.dtype.size(), dtype: self.dtype }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The elements; `None` when they are of another type.
    pub fn downcast<T: Element>(self) -> Option<&'a [T]> {
        (self.dtype == T::DTYPE).then(|| bytemuck::try_cast_slice(self.bytes).ok()).flatten()
    }
}

/// A written operand as an op's host half ([`Op::host`](crate::op::Op::host)) gets it.
#[derive(Debug)]
pub struct AnySliceMut<'a> {
    pub(super) bytes: &'a mut [u8],
    pub(super) dtype: DType,
}

impl<'a> AnySliceMut<'a> {
    /// The address of the first byte.
    pub(crate) fn address(&mut self) -> u64 {
        self.bytes.as_mut_ptr() as u64
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where it lies.
    pub(crate) fn span(&self) -> AnySpan {
        AnySlice { bytes: self.bytes, dtype: self.dtype }.span()
    }

    /// The bytes of the elements.
    pub(crate) fn into_bytes(self) -> &'a mut [u8] {
        self.bytes
    }

    /// The pointer to the first byte, and the number of elements.
    pub(crate) fn into_raw(self) -> (*mut u8, usize) {
        let len = self.bytes.len() / self.dtype.size();
        (self.bytes.as_mut_ptr(), len)
    }

    /// The elements; `None` when they are of another type.
    pub fn downcast<T: Element>(self) -> Option<&'a mut [T]> {
        (self.dtype == T::DTYPE).then(|| bytemuck::try_cast_slice_mut(self.bytes).ok()).flatten()
    }
}
