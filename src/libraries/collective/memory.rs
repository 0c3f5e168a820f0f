//! The operands of a collective in host memory. In place, what a rank sends and what it receives lie in one operand, so
//! they are reached by their addresses. The only file of the host half with `unsafe`.

use super::spec::{Operand, Place};
use crate::core::error::{Error, Result};
use crate::core::room;

/// The operands of one dispatch, for as long as its host half runs.
pub(super) struct Memory<'m> {
    reads: Vec<&'m [u8]>,
    writes: Vec<(*mut u8, usize)>,
    /// The size of an element.
    size: usize,
    _written: std::marker::PhantomData<&'m mut [u8]>,
}

// SAFETY: the written operands are this value's alone. Its methods say what may be done at the same time.
unsafe impl Sync for Memory<'_> {}

impl<'m> Memory<'m> {
    pub(super) fn new(reads: Vec<&'m [u8]>, writes: Vec<&'m mut [u8]>, size: usize) -> Result<Self> {
        let writes = room::collected(writes.into_iter().map(|bytes| (bytes.as_mut_ptr(), bytes.len())))?;
        Ok(Memory { reads, writes, size, _written: std::marker::PhantomData })
    }

    /// The first byte of a place, and their number.
    fn find(&self, place: Place) -> Result<(*const u8, usize)> {
        let (start, bytes) = match place.operand {
            Operand::Read(index) => self.reads.get(index).map(|bytes| (bytes.as_ptr(), bytes.len())),
            Operand::Written(index) => self.writes.get(index).map(|(at, len)| (at.cast_const(), *len)),
        }
        .ok_or_else(unplaced)?;
        let (offset, len) = (place.offset * self.size, place.len * self.size);
        if offset + len > bytes {
            return Err(unplaced());
        }
        Ok((start.wrapping_add(offset), len))
    }

    /// The bytes of a place that is read.
    ///
    /// # Safety
    /// Nothing writes the place while the slice lives.
    pub(super) unsafe fn bytes(&self, place: Place) -> Result<&[u8]> {
        let (at, len) = self.find(place)?;
        // SAFETY: it lies inside an operand that lives for `'m`; the caller vouches that it is not written meanwhile.
        Ok(unsafe { std::slice::from_raw_parts(at, len) })
    }

    /// The bytes of a place that is written.
    ///
    /// # Safety
    /// Nothing else reads or writes the place while the slice lives.
    #[expect(clippy::mut_from_ref, reason = "the caller vouches for it")]
    pub(super) unsafe fn bytes_mut(&self, place: Place) -> Result<&mut [u8]> {
        if matches!(place.operand, Operand::Read(_)) {
            return Err(unplaced());
        }
        let (at, len) = self.find(place)?;
        // SAFETY: it lies inside an operand that this dispatch alone accesses; the caller vouches for its other parts.
        Ok(unsafe { std::slice::from_raw_parts_mut(at.cast_mut(), len) })
    }

    /// Copies one place to another of the same length; they may be the same.
    ///
    /// # Safety
    /// Nothing else writes either place or reads `to` meanwhile.
    pub(super) unsafe fn copy(&self, from: Place, to: Place) -> Result<()> {
        let ((from, len), (to, room)) = (self.find(from)?, self.find(to)?);
        if len != room {
            return Err(unplaced());
        }
        // SAFETY: both lie inside operands of this dispatch; the caller vouches for all else.
        unsafe { std::ptr::copy(from, to.cast_mut(), len) };
        Ok(())
    }
}

/// This cannot happen: the layout was checked against the operands.
#[cold]
fn unplaced() -> Error {
    Error::library("internal error: a place of a collective lies outside of its operands")
}
