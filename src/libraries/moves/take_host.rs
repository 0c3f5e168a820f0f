//! The host half of `take`: lines of the result, each by one index or with one for each element.

use super::take::{Loops, Take};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::device::tensor::Layout;
use crate::numerics::parallel;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a thread moves at least.
const PIECE: usize = 1 << 18;

/// Where the elements of offset 0 are.
#[derive(Clone, Copy)]
struct Bases {
    x: *const u8,
    indices: *const u8,
    target: *mut u8,
}

// SAFETY: what is read is written by nobody, and each line of the target belongs to one thread.
unsafe impl Sync for Bases {}

/// Copies elements of `size` bytes; returns 0, or the complement of the number of the first index that is out of range.
///
/// # Safety
/// The layouts of the operation lie inside the operands, and the target is exclusively the caller's.
pub(super) unsafe fn take(take: &Take, x: *const u8, indices: *const u8, target: *mut u8) -> Result<u64> {
    let loops = take.loops()?;
    let len = loops.layouts.first().map_or(0, Layout::len);
    if len == 0 {
        return Ok(0);
    }
    let bases = Bases { x, indices, target };
    let last = loops.layouts.first().and_then(|layout| layout.shape().last().copied()).unwrap_or(1);
    let lines = len / last;
    let size = take.dtype.size();
    let run = |line: usize| {
        // SAFETY: the caller's promise; a line is treated once.
        unsafe {
            match size {
                1 => go::<u8>(take, &loops, bases, line),
                2 => go::<u16>(take, &loops, bases, line),
                4 => go::<u32>(take, &loops, bases, line),
                8 => go::<u64>(take, &loops, bases, line),
                _ => go::<[u64; 2]>(take, &loops, bases, line),
            }
        }
    };
    let together = (PIECE / (last * size)).max(1);
    if len * size <= PIECE {
        return Ok((0..lines).map(run).max().unwrap_or(0));
    }
    let bad = AtomicU64::new(0);
    parallel::each_range(lines, together, &|range| {
        bad.fetch_max(range.map(run).max().unwrap_or(0), Ordering::Relaxed);
    });
    Ok(bad.into_inner())
}

/// The offsets of a line, and the strides along it.
fn line_of(layout: &Layout, mut line: usize) -> (isize, isize) {
    let mut offset = layout.offset() as isize;
    let (Some((_, outer)), Some((stride, strides))) = (layout.shape().split_last(), layout.strides().split_last())
    else {
        return (offset, 0);
    };
    for (n, stride) in outer.iter().zip(strides).rev() {
        offset += (line % n) as isize * stride;
        line /= n;
    }
    (offset, *stride)
}

/// # Safety
/// As [`take`], for elements of this size.
unsafe fn go<U: Copy>(take: &Take, loops: &Loops, bases: Bases, line: usize) -> u64 {
    let [target, x, indices, numbers] = [0, 1, 2, 3].map(|k| loops.layouts.get(k).map_or((0, 0), |l| line_of(l, line)));
    let n = loops.layouts.first().and_then(|layout| layout.shape().last().copied()).unwrap_or(1);
    let mut bad = 0u64;
    let mut slice = |i: isize| -> isize {
        let at = indices.0 + i * indices.1;
        // SAFETY: an index, of this type.
        let number = unsafe { number(bases.indices, take.index, at) };
        let in_range = usize::try_from(number).is_ok_and(|number| number < loops.slices);
        // What is counted from the end.
        let number = if number < 0 { number + loops.slices as i128 } else { number };
        let fits = in_range || usize::try_from(number).is_ok_and(|number| number < loops.slices);
        if fits || !take.checked {
            return number as isize;
        }
        bad = bad.max(!((numbers.0 + i * numbers.1) as u64));
        0
    };
    let (to, from) = (bases.target.cast::<U>(), bases.x.cast::<U>());
    if indices.1 == 0 {
        let from = from.wrapping_offset(x.0 + slice(0) * loops.stride);
        let to = to.wrapping_offset(target.0);
        // SAFETY: the line lies inside the operands, whose elements have this size and alignment.
        unsafe {
            if (target.1, x.1) == (1, 1) {
                std::ptr::copy_nonoverlapping(from, to, n);
            } else {
                (0..n as isize).for_each(|i| *to.offset(i * target.1) = *from.offset(i * x.1));
            }
        }
        return bad;
    }
    if take.index == DType::I64 && take.checked && target.1 == 1 {
        let (all, step) = (loops.slices as i64, indices.1);
        let indices = bases.indices.cast::<i64>().wrapping_offset(indices.0);
        let to = to.wrapping_offset(target.0);
        let mut worst = 0u64;
        for i in 0..n as isize {
            // SAFETY: an index of the line.
            let number = unsafe { *indices.offset(i * step) };
            let number = if number < 0 { number + all } else { number };
            let fits = (0..all).contains(&number);
            worst = if fits { worst } else { worst.max(!((numbers.0 + i * numbers.1) as u64)) };
            let number = if fits { number as isize } else { 0 };
            // SAFETY: the line lies inside the operands, whose elements have this size and alignment.
            unsafe { *to.offset(i) = *from.wrapping_offset(x.0 + i * x.1 + number * loops.stride) };
        }
        return worst;
    }
    for i in 0..n as isize {
        let from = from.wrapping_offset(x.0 + i * x.1 + slice(i) * loops.stride);
        // SAFETY: as above.
        unsafe { *to.wrapping_offset(target.0 + i * target.1) = *from };
    }
    bad
}

/// The index at an offset.
///
/// # Safety
/// It is there, and has the type.
unsafe fn number(base: *const u8, dtype: DType, at: isize) -> i128 {
    // SAFETY: the caller's promise.
    unsafe {
        match dtype {
            DType::I32 => (*base.cast::<i32>().offset(at)).into(),
            DType::U32 => (*base.cast::<u32>().offset(at)).into(),
            DType::I64 => (*base.cast::<i64>().offset(at)).into(),
            _ => (*base.cast::<u64>().offset(at)).into(),
        }
    }
}
