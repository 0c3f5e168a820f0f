//! Pivots from a caller, made safe to follow.
//!
//! cuBLAS follows a pivot wherever it points: one that is no row of its matrix reads past the matrix, which may be a device
//! fault and the end of CUDA for the process. The host engine takes such a pivot as no swap. So what a caller gives is
//! copied by a kernel of our own first, which does the same.

use super::super::routine::{Queue, Routine};
use crate::{LaunchDims, Ptx, Result};

pub(in crate::libraries::blas) static KERNEL: Ptx = Ptx::new(include_str!("pivots.ptx"));

impl<R: Routine> Queue<'_, '_, R> {
    /// The pivots of `count` matrices of `n` rows, at least one of each, in scratch.
    pub(super) fn keep_pivots(&mut self, pivots: u64, n: usize, count: usize) -> Result<u64> {
        let len = n.saturating_mul(count); // they lie in a buffer, so it does not
        let kept = self.scratch(len.saturating_mul(size_of::<i32>()))?;
        let args = [pivots.into(), kept.into(), len.into(), n.into()];
        // SAFETY: the arguments are the kernel's parameters in order and type; it reads the pivots, which the routine's
        // check has put inside their buffer, and writes as many to scratch.
        unsafe { self.launch(&KERNEL, c"keep_pivots", LaunchDims::for_elements(len)?, &args) }?;
        Ok(kept)
    }
}
