//! The solver's routines: they run on the stream of a handle from a pool.

use crate::core::op::Cost;
use crate::libraries::routine::Front;
pub(super) use crate::libraries::routine::{Call, Routine};

impl Front for super::Solver {
    const LIBRARY: &'static str = "solver";
    const IS_POOLED: bool = true;
    const CAPTURABLE: crate::core::error::Result<(), &'static str> =
        Err("cuSOLVER does not document which calls can be captured");
}

/// Floating-point operations and bytes, for each of `count` matrices of `T`: `thirds` thirds of `a * b * c`
/// multiply-adds, and `moved` elements.
pub(super) fn cost<T: crate::core::element::Element>(
    thirds: usize,
    sizes: [usize; 3],
    count: usize,
    moved: usize,
) -> Cost {
    let product = |all: &[usize]| all.iter().fold(1u64, |all, size| all.saturating_mul(*size as u64));
    // A complex multiply-add is four multiplications and four additions.
    let each = if T::DTYPE.is_complex() { 8 } else { 2 };
    let flops = product(&sizes).saturating_mul(each).saturating_mul(thirds as u64) / 3;
    let bytes = product(&[moved, count, size_of::<T>()]);
    Cost { flops: flops.saturating_mul(count as u64), bytes }
}
