//! Powers of two that keep squares and reciprocals in range. LAPACK's drivers multiply a matrix whose elements are very small
//! or very large before they decompose it; cuSOLVER's do not, and lose orthogonality near underflow (an H100, CUDA 13.0: by
//! 8000 units for a 13 x 10 matrix of f32 near 1e-35).

use super::kernels::real_parts;
use crate::core::element::Element;
use crate::core::error::Result;
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{Ptx, Queue};
use crate::libraries::flags::Uplo;
use std::ffi::CStr;

static KERNELS: Ptx = Ptx::new(include_str!("../kernels/range.ptx"));

/// Threads of a block, and the most blocks that share a matrix.
const BLOCK: u32 = 256;
const BLOCKS: u32 = 512;

const SCALE: [&CStr; 2] = [c"range_scale_4", c"range_scale_8"];

/// Matrices of one size: address, leading dimension, and elements from one to the next; rows and columns; how many.
#[derive(Clone, Copy, Debug)]
pub(in crate::libraries::solver) struct Group {
    pub(in crate::libraries::solver) at: (u64, usize),
    pub(in crate::libraries::solver) step: usize,
    pub(in crate::libraries::solver) size: (usize, usize),
    pub(in crate::libraries::solver) count: usize,
    /// The triangle that counts; `None` for the whole matrix.
    pub(in crate::libraries::solver) part: Option<Uplo>,
}

impl Group {
    /// One matrix.
    pub(in crate::libraries::solver) fn one(at: (u64, usize), size: (usize, usize)) -> Self {
        Group { at, step: 0, size, count: 1, part: None }
    }

    /// `each` values of each matrix, without gaps.
    fn values(at: u64, each: usize, count: usize) -> Self {
        Group { at: (at, each.max(1)), step: each, size: (each, 1), count, part: None }
    }
}

/// The largest number of each matrix of a group, on the device.
#[derive(Clone, Copy, Debug)]
pub(in crate::libraries::solver) struct Largest(u64);

/// Multiplies each matrix whose largest number is far from one by a power of two that brings it there.
pub(in crate::libraries::solver) fn bring_into_range<T: Element>(
    queue: &mut Queue<'_>,
    group: Group,
) -> Result<Largest> {
    let bytes = group.count.saturating_mul(size_of::<u64>());
    let most = queue.scratch(bytes)?;
    // SAFETY: scratch of this dispatch.
    unsafe { queue.fill(most, bytes, &[0]) }?;
    pass::<T>(queue, [c"range_largest_4", c"range_largest_8"], group, Largest(most), false)?;
    pass::<T>(queue, SCALE, group, Largest(most), false)?;
    Ok(Largest(most))
}

/// Multiplies the `each` values of each matrix by the power of two that [`bring_into_range`](bring_into_range) took away.
pub(in crate::libraries::solver) fn bring_back<T: Element>(
    queue: &mut Queue<'_>,
    most: Largest,
    values: u64,
    each: usize,
    count: usize,
) -> Result<()> {
    pass::<T>(queue, SCALE, Group::values(values, each, count), most, true)
}

fn pass<T: Element>(
    queue: &mut Queue<'_>,
    names: [&'static CStr; 2],
    group: Group,
    most: Largest,
    back: bool,
) -> Result<()> {
    let Group { at: (x, ld), step, size: (rows, cols), count, part } = group;
    let (parts, name) = real_parts::<T>(names);
    // The square of 2^reach, times the number of elements, is far inside the range.
    let reach: usize = if size_of::<T>() / parts == 4 { 32 } else { 256 };
    let [rows, ld, step] = [rows, ld, step].map(|numbers| numbers.saturating_mul(parts));
    let numbers = rows.saturating_mul(cols);
    if numbers == 0 || count == 0 {
        return Ok(());
    }
    let part: usize = match part {
        None => 0,
        Some(Uplo::Lower) => 1,
        Some(Uplo::Upper) => 2,
    };
    let blocks = u32::try_from(numbers.div_ceil(BLOCK as usize)).unwrap_or(BLOCKS).min(BLOCKS);
    let matrices = u32::try_from(count).unwrap_or(u32::MAX).min(0xffff);
    let dims = LaunchDims { grid: (blocks, matrices, 1), block: (BLOCK, 1, 1), shared: 0 };
    let of = [x.into(), rows.into(), cols.into(), ld.into(), step.into(), count.into(), part.into(), parts.into()];
    let [a, b, c, d, e, f, g, h] = of;
    let args = [a, b, c, d, e, f, g, h, most.0.into(), reach.into(), usize::from(back).into()];
    // `largest` has no use for the last two.
    let args = if names != SCALE { &args[..9] } else { &args[..] };
    // SAFETY: the arguments are the kernel's parameters in order and type; the matrices lie inside an operand (checked) or
    // scratch, and the numbers of them in scratch of this dispatch.
    unsafe { queue.launch(&KERNELS, name, dims, args) }
}
