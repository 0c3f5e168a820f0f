//! The operands of a routine in host memory.

use super::{TensorRoutine, missing};
use crate::core::buffer::{AnySlice, AnySliceMut, AnySpan};
use crate::core::element::Element;
use crate::core::error::Result;
use smallvec::SmallVec;

/// The operands of a routine in host memory, which its check has admitted: as many as it needs, of its types, aligned for them, with
/// all elements that it names; what is written is exclusively the holder's.
#[derive(Debug)]
pub(crate) struct Checked<'r, 'w> {
    pub(crate) reads: SmallVec<[AnySlice<'r>; 8]>,
    pub(crate) writes: SmallVec<[AnySliceMut<'w>; 4]>,
    _admitted: (),
}

/// The elements of all operands: those that are read, and those that are written.
type Typed<'r, 'w, R, W> = (Vec<&'r [R]>, Vec<&'w mut [W]>);

impl<'r, 'w> Checked<'r, 'w> {
    /// With debug assertions the check runs once more, so that every test is one of the way that its operations came.
    ///
    /// # Safety
    /// [`TensorRoutine::check`] has admitted the routine with these operands.
    pub(crate) unsafe fn by<R: TensorRoutine>(
        routine: &R,
        reads: SmallVec<[AnySlice<'r>; 8]>,
        writes: SmallVec<[AnySliceMut<'w>; 4]>,
    ) -> Result<Self> {
        if cfg!(debug_assertions) {
            let read: SmallVec<[AnySpan; 8]> = reads.iter().map(AnySlice::span).collect();
            let written: SmallVec<[AnySpan; 4]> = writes.iter().map(AnySliceMut::span).collect();
            routine.check(&read, &written)?;
        }
        Ok(Checked { reads, writes, _admitted: () })
    }

    /// Where all the operands begin: those that are read, and those that are written.
    pub(crate) fn starts(self) -> (SmallVec<[*const u8; 8]>, SmallVec<[*mut u8; 4]>) {
        let reads = self.reads.iter().map(|slice| slice.bytes().as_ptr()).collect();
        (reads, self.writes.into_iter().map(|slice| slice.into_raw().0).collect())
    }

    /// The same, of as many operands.
    pub(crate) fn places<const READS: usize, const WRITES: usize>(
        self,
    ) -> Result<([*const u8; READS], [*mut u8; WRITES])> {
        let (reads, writes) = self.starts();
        match (reads[..].try_into(), writes[..].try_into()) {
            (Ok(reads), Ok(writes)) => Ok((reads, writes)),
            _ => Err(missing()),
        }
    }

    /// The elements of all operands, if those that are read are of one type, and those that are written of one.
    pub(crate) fn typed<R: Element, W: Element>(self) -> Result<Typed<'r, 'w, R, W>> {
        let reads = self.reads.iter().map(|slice| slice.downcast()).collect::<Option<_>>().ok_or_else(missing)?;
        let writes = self.writes.into_iter().map(|slice| slice.downcast()).collect::<Option<_>>();
        Ok((reads, writes.ok_or_else(missing)?))
    }

    /// The elements of an operand that is read.
    pub(crate) fn elements<T: Element>(&self, index: usize) -> Result<&'r [T]> {
        self.reads.get(index).and_then(|slice| slice.downcast()).ok_or_else(missing)
    }
}
