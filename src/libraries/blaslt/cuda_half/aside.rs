//! Aligned copies of operands that the library would load from addresses that are not multiples of 16 bytes.

use super::super::beside::Extra;
use super::super::op::Fused;
use super::super::operands::Reading;
use super::super::types::MatmulTypes;
use super::Ahead;
use crate::core::error::Result;
use crate::engines::cuda_enqueue::Enqueue;
use crate::libraries::blaslt::native::{Addresses, Problem};
use smallvec::SmallVec;

/// Bytes that the library loads or stores at a time.
const VECTOR: usize = 16;

/// A copy of columns of bytes. Each side is an address and the distance between columns.
pub(super) struct Aside {
    pub(super) from: (u64, usize),
    pub(super) to: (u64, usize),
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl<T: MatmulTypes, R: Reading<T>, W: Extra<T::D>> Fused<T, R, W> {
    /// The library loads and stores the vectors of a bias, and auxiliary matrices, 16 bytes at a time, but does not
    /// check their alignment: a misaligned address ends in a device fault (cuBLASLt 13.1, a batch with an odd distance
    /// of biases). So a bias that is read is copied to aligned scratch first, and a gradient is written to aligned
    /// scratch and copied back. In the problem, such a copy changes only alignments and, in some batches, the distance
    /// of the biases. If the distance stays, a problem that was measured with aligned buffers is the same.
    pub(super) fn align_vectors(
        &self,
        queue: &mut Enqueue<'_, Self>,
        problem: &mut Problem,
        addresses: &mut Addresses,
        ahead: &mut SmallVec<[Ahead; 2]>,
    ) -> Result<Option<Aside>> {
        let size = size_of::<T::Bias>();
        let stride = problem.bias_stride as usize * size;
        let columns = if stride == 0 { 1 } else { self.sizes.batch };
        if !addresses.aux.is_multiple_of(VECTOR as u64) {
            let at = addresses.aux % VECTOR as u64;
            return Err(crate::core::error::Error::unsupported(format!(
                "cuBLASLt needs an auxiliary matrix at a multiple of {VECTOR} bytes; this one is {at} bytes past one"
            )));
        }
        if addresses.bias == 0 {
            return Ok(None);
        }
        let Some(len) = self.kind.gradient_len(&self.sizes) else {
            let rows = self.kind.bias_len(&self.sizes) * size;
            if let Some(to) = queue.room_for_columns(addresses.bias, rows, columns, stride, VECTOR)? {
                ahead.push(Ahead::Copy(Aside { from: (addresses.bias, stride), to, rows, columns }));
                addresses.bias = to.0;
                // A bias that all matrices of a batch share is copied once, and stays shared.
                if columns > 1 {
                    problem.bias_stride = (to.1 / size) as i64;
                }
            }
            return Ok(None);
        };
        let stride_aligned = columns <= 1 || stride.is_multiple_of(VECTOR);
        if addresses.bias.is_multiple_of(VECTOR as u64) && stride_aligned {
            return Ok(None);
        }
        let rows = len * size;
        let pitch = if columns > 1 && stride_aligned { stride } else { rows.next_multiple_of(VECTOR) };
        let overflow = || crate::core::error::Error::invalid("bias", "the size of an aligned copy overflows");
        let aside = queue.scratch(pitch.checked_mul(columns).ok_or_else(overflow)?)?;
        let to = (std::mem::replace(&mut addresses.bias, aside), stride);
        if columns > 1 {
            problem.bias_stride = (pitch / size) as i64;
        }
        Ok(Some(Aside { from: (aside, pitch), to, rows, columns }))
    }
}
