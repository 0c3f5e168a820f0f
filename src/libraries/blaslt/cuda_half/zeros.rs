//! Zeros: in place of factors that must not be read, and for the additional outputs of a product without terms or
//! without elements.

use super::super::beside::{Extra, WritePlaces};
use super::super::op::Fused;
use super::super::operands::Reading;
use super::super::types::MatmulTypes;
use crate::core::error::Result;
use crate::engines::cuda_enqueue::Enqueue;

/// Rows of the zero matrices in place of factors that must not be read. Every type has kernels for this many.
pub(super) const ZEROS: usize = 16;

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    /// Scratch for zeros in place of A and B: an address and bytes.
    pub(super) fn zeros(&self, queue: &mut Enqueue<'_, Self>) -> Result<(u64, usize)> {
        let [a, b] = [(self.sizes.m, size_of::<T::A>()), (self.sizes.n, size_of::<T::B>())].map(|(columns, size)| {
            columns.checked_mul(ZEROS * size).ok_or_else(|| {
                crate::core::error::Error::invalid("m", "the working memory of an empty product overflows")
            })
        });
        let bytes = a?.max(b?);
        Ok((queue.scratch(bytes)?, bytes))
    }

    /// Handles a D without elements: sets the additional outputs to zero.
    pub(super) fn nothing(&self, queue: &mut Enqueue<'_, Self>, writes: &WritePlaces) -> Result<()> {
        if let Some(amax) = writes.amax {
            // SAFETY: an operand of one number (checked).
            unsafe { queue.fill(amax.address, size_of::<f32>(), &[0]) }?;
        }
        self.zero_gradients(queue, writes)
    }

    pub(super) fn zero_gradients(&self, queue: &mut Enqueue<'_, Self>, writes: &WritePlaces) -> Result<()> {
        let (Some(1..), Some(grad)) = (self.kind.gradient_len(&self.sizes), writes.second.filter(|grad| grad.len > 0))
        else {
            return Ok(());
        };
        // SAFETY: all of an operand, which holds numbers of this type (checked).
        unsafe { queue.fill(grad.address, grad.len * size_of::<T::Bias>(), &[0]) }
    }
}
