//! Submission of the operations of this front.

use super::Sparse;
use crate::core::buffer::Elems;
use crate::core::op::{Bufs, Raw};
use crate::device::dispatch::Submitted;
use crate::libraries::routine::Front;
pub(super) use crate::libraries::routine::{Call, Routine};

impl Front for Sparse {
    const LIBRARY: &'static str = "sparse";
}

impl Sparse {
    /// Submits an operation.
    pub(super) fn submit<R: Routine<Front = Self>>(
        &self,
        routine: R,
        reads: <R::Reads as Elems>::Ins<'_>,
        writes: Bufs<R::Output>,
    ) -> Submitted<R::Output, <R::Raw as Raw>::Left> {
        self.device.dispatch(Call(routine), reads, writes)
    }
}
