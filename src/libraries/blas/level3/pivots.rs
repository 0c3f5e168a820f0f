//! Makes a caller's pivots safe to use.
//!
//! cuBLAS does not check pivots: one that is not a row of its matrix makes it read beyond the matrix, which may be a
//! device fault and the end of CUDA for the process. The host engine treats such a pivot as no swap. So our own kernel
//! first copies the caller's pivots, and replaces such a pivot in the same way.

use super::super::routine::{Queue, Routine};
use crate::core::error::Result;
use crate::core::launch::LaunchDims;
use crate::engines::cuda::Ptx;

pub(in crate::libraries::blas) static KERNEL: Ptx = Ptx::new(include_str!("pivots.ptx"));

impl<R: Routine> Queue<'_, '_, R> {
    /// Copies the pivots of `count` matrices of `n` rows, at least one of each, to scratch.
    pub(super) fn keep_pivots(&mut self, pivots: u64, n: usize, count: usize) -> Result<u64> {
        let len = n.saturating_mul(count); // the pivots lie in a buffer, so this does not saturate
        let kept = self.scratch(len.saturating_mul(size_of::<i32>()))?;
        let args = [pivots.into(), kept.into(), len.into(), n.into()];
        // SAFETY: the arguments are the kernel's parameters in order and type; it reads the pivots, which lie inside
        // their buffer (the routine's check), and writes as many to scratch.
        unsafe { self.launch(&KERNEL, c"keep_pivots", LaunchDims::for_elements(len)?, &args) }?;
        Ok(kept)
    }
}
