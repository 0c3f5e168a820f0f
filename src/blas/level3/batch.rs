//! What the batches share: counts, distances, arrays of addresses.

use super::super::matrix::{check_matrix, check_size, span};
use crate::{Error, Result};

/// How many problems, and how far apart their matrices lie.
///
/// Unless set, each matrix begins where the one before it ends: `ld` times its columns further. Matrices that are only
/// read may lie at a distance of 0, one for all; those that are written must not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Batch {
    pub(super) count: usize,
    strides: [Option<usize>; 3],
}

impl Batch {
    /// `count` problems.
    pub fn new(count: usize) -> Self {
        Batch { count, strides: [None; 3] }
    }

    /// Elements from one A to the next.
    pub fn stride_a(mut self, stride: usize) -> Self {
        self.strides[0] = Some(stride);
        self
    }

    /// Elements from one B to the next.
    pub fn stride_b(mut self, stride: usize) -> Self {
        self.strides[1] = Some(stride);
        self
    }

    /// Elements from one C to the next.
    pub fn stride_c(mut self, stride: usize) -> Self {
        self.strides[2] = Some(stride);
        self
    }

    /// The distances of A, B and C, where they have so many elements in a leading dimension and so many columns.
    pub(super) fn strides(&self, extents: [(usize, usize); 3]) -> [usize; 3] {
        let [a, b, c] = self.strides;
        let [ea, eb, ec] = extents.map(|(ld, cols)| ld.saturating_mul(cols));
        [a.unwrap_or(ea), b.unwrap_or(eb), c.unwrap_or(ec)]
    }
}

/// One operand of a batch.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) name: &'static str,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) ld: usize,
    pub(super) stride: usize,
}

impl Operand {
    /// Checks that `count` matrices lie inside a buffer of `len` elements, and if they are written apart.
    pub(super) fn check(&self, count: usize, len: usize, written: bool) -> Result<()> {
        let Operand { name, rows, cols, ld, stride } = *self;
        check_size("count", count)?;
        check_size("stride", stride)?;
        if count == 0 {
            return check_matrix(name, rows, 0, ld, len);
        }
        let one = span(rows, cols, ld);
        check_matrix(name, rows, cols, ld, one.unwrap_or(0))?; // the shape alone
        let one = one.unwrap_or(usize::MAX);
        if written && count > 1 && stride < one {
            return Err(Error::invalid(
                name,
                format!("{count} matrices that span {one} elements each overlap at a distance of {stride}"),
            ));
        }
        match (count - 1).checked_mul(stride).and_then(|last| last.checked_add(one)) {
            _ if one == 0 => Ok(()),
            Some(need) if need <= len => Ok(()),
            need => Err(Error::invalid(
                name,
                format!(
                    "{len} elements do not hold {count} matrices of {rows} x {cols} with a leading dimension of {ld}, \
                     {stride} elements apart, which span {}",
                    need.map_or("more than can be addressed".to_string(), |need| need.to_string())
                ),
            )),
        }
    }

    /// Whether `count` matrices leave no gaps and fill a buffer of `len` elements.
    pub(super) fn fills(&self, count: usize, len: usize) -> bool {
        let one = self.rows.checked_mul(self.cols);
        let gapless = (self.ld == self.rows || self.cols <= 1) && (Some(self.stride) == one || count <= 1);
        gapless && one.and_then(|one| one.checked_mul(count)) == Some(len)
    }

    /// The addresses of `count` matrices of `T` from `at` on.
    #[cfg(feature = "blas")]
    pub(super) fn addresses<T>(&self, count: usize, at: u64) -> Vec<u64> {
        // Inside a buffer, so they do not overflow; those of matrices without elements are not looked at.
        let step = (self.stride as u64).wrapping_mul(size_of::<T>() as u64);
        (0..count as u64).map(|i| at.wrapping_add(i.wrapping_mul(step))).collect()
    }
}

/// A number that the library has as a 32-bit integer.
pub(super) fn check_int(name: &'static str, value: usize) -> Result<()> {
    if i32::try_from(value).is_err() {
        return Err(Error::invalid(name, format!("{value} does not fit the library's 32-bit integers")));
    }
    Ok(())
}

#[cfg(feature = "blas")]
impl<R: super::super::routine::Routine> super::super::routine::Queue<'_, '_, R> {
    /// An array of addresses in device memory, for this dispatch.
    pub(super) fn addresses(&mut self, addresses: &[u64]) -> Result<*const std::ffi::c_void> {
        let at = self.upload_small(bytemuck::cast_slice(addresses))?;
        Ok(at as *const _)
    }
}
