//! Between arrays of any strides and blocks without gaps.

use crate::device::tensor::Layout;
use std::ptr;

/// The offset of element `index` of a layout, the last axis fastest.
pub(in crate::libraries) fn offset_of(layout: &Layout, mut index: usize) -> isize {
    let mut offset = layout.offset() as isize;
    if let [stride] = layout.strides() {
        return offset + index as isize * stride;
    }
    for (n, stride) in layout.shape().iter().zip(layout.strides()).rev() {
        offset += (index % n) as isize * stride;
        index /= n;
    }
    offset
}

/// Calls `f(from, offset, stride, n)` for each run of elements `start..start + len` of a layout along its last axis: `n`
/// elements from the offset on are the ones that begin at number `from` of the range.
fn runs(layout: &Layout, start: usize, len: usize, mut f: impl FnMut(usize, isize, isize, usize)) {
    let (Some((inner, outer)), Some((stride, outer_strides))) =
        (layout.shape().split_last(), layout.strides().split_last())
    else {
        return f(0, layout.offset() as isize, 0, len);
    };
    let mut done = 0;
    while done < len {
        let at = start + done;
        let (mut row, column) = (at / inner, at % inner);
        let mut offset = layout.offset() as isize + column as isize * stride;
        for (n, stride) in outer.iter().zip(outer_strides).rev() {
            offset += (row % n) as isize * stride;
            row /= n;
        }
        let n = (inner - column).min(len - done);
        f(done, offset, *stride, n);
        done += n;
    }
}

/// Copies elements `start..start + len` of a layout to a block. Strides and offset count elements of `width` bytes.
///
/// # Safety
/// `base` has what the layout reaches and `dst` has `len` elements; both are aligned to `width`, which is 1, 2, 4 or 8.
pub(in crate::libraries) unsafe fn gather(
    dst: *mut u8,
    base: *const u8,
    width: usize,
    layout: &Layout,
    start: usize,
    len: usize,
) {
    runs(layout, start, len, |from, offset, stride, n| {
        // SAFETY: the elements lie in what the layout reaches, and the range in the block.
        unsafe {
            let (dst, src) = (dst.add(from * width), base.offset(offset * width as isize));
            match width {
                1 => strided::<u8>(dst.cast(), 1, src.cast(), stride, n),
                2 => strided::<u16>(dst.cast(), 1, src.cast(), stride, n),
                4 => strided::<u32>(dst.cast(), 1, src.cast(), stride, n),
                _ => strided::<u64>(dst.cast(), 1, src.cast(), stride, n),
            }
        }
    });
}

/// Copies a block to elements `start..start + len` of a layout.
///
/// # Safety
/// As [`gather`], and nothing else uses these elements.
pub(in crate::libraries) unsafe fn scatter(
    base: *mut u8,
    src: *const u8,
    width: usize,
    layout: &Layout,
    start: usize,
    len: usize,
) {
    runs(layout, start, len, |from, offset, stride, n| {
        // SAFETY: the elements lie in what the layout reaches, and the range in the block.
        unsafe {
            let (dst, src) = (base.offset(offset * width as isize), src.add(from * width));
            match width {
                1 => strided::<u8>(dst.cast(), stride, src.cast(), 1, n),
                2 => strided::<u16>(dst.cast(), stride, src.cast(), 1, n),
                4 => strided::<u32>(dst.cast(), stride, src.cast(), 1, n),
                _ => strided::<u64>(dst.cast(), stride, src.cast(), 1, n),
            }
        }
    });
}

/// Copies `n` elements between strides.
///
/// # Safety
/// All of them are there, and what is written is not read.
unsafe fn strided<T: Copy>(dst: *mut T, to: isize, src: *const T, from: isize, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match (to, from) {
            (1, 1) => ptr::copy_nonoverlapping(src, dst, n),
            (1, 0) => std::slice::from_raw_parts_mut(dst, n).fill(*src),
            // Parts of complex numbers: a constant stride lets the compiler shuffle vectors.
            (1, 2) => (0..n as isize).for_each(|i| *dst.offset(i) = *src.offset(2 * i)),
            (2, 1) => (0..n as isize).for_each(|i| *dst.offset(2 * i) = *src.offset(i)),
            _ => (0..n as isize).for_each(|i| *dst.offset(i * to) = *src.offset(i * from)),
        }
    }
}

/// Writes the numbers `start..start + len` of a layout itself to a block: offsets as values.
pub(in crate::libraries) fn positions(dst: &mut [i64], layout: &Layout, start: usize) {
    let len = dst.len();
    runs(layout, start, len, |from, offset, stride, n| {
        for (i, dst) in dst.iter_mut().skip(from).take(n).enumerate() {
            *dst = (offset + i as isize * stride) as i64;
        }
    });
}
