//! Zeros: in place of factors that must not be read, and for the additional outputs of a product without terms or
//! without elements.

use super::super::epilogue::{Extra, SecondOutput, WritePlaces};
use super::super::op::{Fused, Geometry};
use super::super::operands::Reading;
use super::super::types::MatmulTypes;
use crate::core::error::Result;
use crate::engines::cuda_enqueue::Enqueue;

/// Rows of the zero matrices in place of factors that must not be read. Every type has kernels for this many.
pub(super) const ZEROS: usize = 16;

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    /// Scratch for zeros in place of A and B: an address and bytes.
    pub(super) fn zeros(&self, queue: &mut Enqueue<'_, Self>) -> Result<(u64, usize)> {
        let [a, b] = [(self.spec.m, size_of::<T::A>()), (self.spec.n, size_of::<T::B>())].map(|(columns, size)| {
            columns.checked_mul(ZEROS * size).ok_or_else(|| {
                crate::core::error::Error::invalid("m", "the working memory of an empty product overflows")
            })
        });
        let bytes = a?.max(b?);
        Ok((queue.scratch(bytes)?, bytes))
    }

    /// An auxiliary matrix that is written and has gaps, which must be zero: an address and bytes.
    pub(super) fn gapped(&self, writes: &WritePlaces, geometry: &Geometry) -> Option<(u64, usize)> {
        let place = writes.second.filter(|_| self.writes_gaps(&geometry.aux))?;
        let size = if self.kind.second == SecondOutput::Mask { 1 } else { size_of::<T::Aux>() };
        Some((place.address, place.len * size))
    }

    /// Handles a D without elements: sets the additional outputs to zero.
    pub(super) fn nothing(
        &self,
        queue: &mut Enqueue<'_, Self>,
        writes: &WritePlaces,
        geometry: &Geometry,
    ) -> Result<()> {
        if let Some((at, bytes)) = self.gapped(writes, geometry) {
            // SAFETY: all of an operand.
            unsafe { queue.fill(at, bytes, &[0]) }?;
        }
        if let Some(amax) = writes.amax {
            // SAFETY: an operand of one number (checked).
            unsafe { queue.fill(amax.address, size_of::<f32>(), &[0]) }?;
        }
        self.zero_gradients(queue, writes, geometry)
    }

    pub(super) fn zero_gradients(
        &self,
        queue: &mut Enqueue<'_, Self>,
        writes: &WritePlaces,
        geometry: &Geometry,
    ) -> Result<()> {
        let (Some(len), Some(grad)) = (self.gradient_len(), writes.second) else { return Ok(()) };
        let size = size_of::<T::Bias>();
        if len == 0 {
            return Ok(()); // the batch may be of any size
        }
        for at in 0..self.spec.batch {
            let to = grad.address + (at * geometry.bias_stride * size) as u64;
            // SAFETY: the gradients of all products lie in their operand, at this distance (checked).
            unsafe { queue.fill(to, len * size, &[0]) }?;
        }
        Ok(())
    }
}
