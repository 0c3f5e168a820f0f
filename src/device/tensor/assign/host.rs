//! The host half: halves the longest axis until a block of both sides fits in the first cache, and copies that. So a
//! transposition goes by square blocks, whatever the strides are. Large halves run on two threads. Where the neighbours of one side are
//! those of another axis on the other, `turn.rs` turns squares.

use super::turn::{self, Turn};
use crate::core::buffer::AnySliceMut;
use crate::core::error::{Error, Result};
use crate::device::tensor::Layout;
use smallvec::SmallVec;

/// Bytes of one side of a block.
const BLOCK: usize = 8 << 10;
/// Up to so many bytes one thread is as fast.
const SINGLE: usize = 512 << 10;

/// An axis: its extent, and the strides in the target and in the source.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) n: usize,
    pub(super) to: isize,
    pub(super) from: isize,
}

pub(super) type Axes = SmallVec<[Axis; 6]>;

/// The first elements of both sides.
pub(super) struct Start<U> {
    pub(super) to: *mut U,
    pub(super) from: *const U,
}

impl<U> Start<U> {
    /// After so many elements of an axis.
    pub(super) fn after(&self, axis: Axis, n: isize) -> Self {
        let far = |stride: isize| n.wrapping_mul(stride);
        Start { to: self.to.wrapping_offset(far(axis.to)), from: self.from.wrapping_offset(far(axis.from)) }
    }
}

// SAFETY: each is used by one thread, for elements that no other one writes (`assign`).
unsafe impl<U: Send> Send for Start<U> {}

/// Copies elements of `size` bytes from one layout to another of the same extents.
pub(super) fn assign(
    size: usize,
    (target, to): (AnySliceMut<'_>, &Layout),
    (source, from): (&[u8], &Layout),
) -> Result<()> {
    let (start, len) = target.into_raw();
    // SAFETY: the operand is exclusively ours.
    unsafe { assign_raw(size, (start, len, to), (source, from)) }
}

/// As [`assign`], to `len` elements from an address on.
///
/// # Safety
/// The elements are valid for writes, aligned for their size, and nothing else uses them.
pub(crate) unsafe fn assign_raw(
    size: usize,
    (start, len, to): (*mut u8, usize, &Layout),
    (source, from): (&[u8], &Layout),
) -> Result<()> {
    // The check of the operation has said so already. The copy below is sound only if it is true.
    if !to.is_inside(len) || !from.is_inside(source.len() / size) || !to.is_distinct() || to.shape() != from.shape() {
        return Err(Error::library("internal error: unchecked layouts"));
    }
    if to.is_empty() {
        return Ok(());
    }
    let strides = to.strides().iter().zip(from.strides());
    let axes: Axes =
        to.shape().iter().zip(strides).map(|(n, (to, from))| Axis { n: *n, to: *to, from: *from }).collect();
    let (start, source) = (start.wrapping_add(to.offset() * size), source.as_ptr().wrapping_add(from.offset() * size));
    match size {
        1 => run::<u8>(&Turn::new(&axes, turn::ONE), &axes, (start, source)),
        2 => run::<u16>(&Turn::new(&axes, turn::TWO), &axes, (start, source)),
        4 => run::<u32>(&Turn::new(&axes, turn::FOUR), &axes, (start, source)),
        8 => run::<u64>(&Turn::new(&axes, turn::EIGHT), &axes, (start, source)),
        _ => run::<[u64; 2]>(&Turn::new(&axes, None), &axes, (start, source)),
    }
    Ok(())
}

/// Elements of 1, 2, 4, 8 or 16 bytes, at most aligned like the operands of that size.
fn run<U: Copy + Send>(turn: &Turn<U>, axes: &Axes, (to, from): (*mut u8, *const u8)) {
    halve(turn, axes, Start::<U> { to: to.cast(), from: from.cast() });
}

fn halve<U: Copy + Send>(turn: &Turn<U>, axes: &Axes, start: Start<U>) {
    let turned = turn::place::<U>(axes);
    let bytes = axes.iter().map(|axis| axis.n).product::<usize>() * size_of::<U>();
    // The first one if several are as long: the last axis has the smallest steps.
    let longest = axes.iter().enumerate().rev().max_by_key(|(_, axis)| axis.n).map(|(place, _)| place);
    let most = if turned.is_some() { SINGLE } else { BLOCK };
    let (Some(axis), true) = (longest.and_then(|place| axes.get(place)), bytes > most) else {
        return match turned {
            Some(place) => turn.run(axes, place, &start),
            None => block(axes, &start),
        };
    };
    let front = turn::half::<U>(axis.n);
    let part = |n: usize| {
        let mut part = axes.clone();
        longest.and_then(|place| part.get_mut(place)).into_iter().for_each(|axis| axis.n = n);
        part
    };
    let (one, other) = (part(front), part(axis.n - front));
    let middle = start.after(*axis, front as isize);
    if bytes > SINGLE {
        rayon::join(move || halve(turn, &one, start), move || halve(turn, &other, middle));
    } else {
        halve(turn, &one, start);
        halve(turn, &other, middle);
    }
}

/// All elements, the last axis fastest.
pub(super) fn block<U: Copy>(axes: &Axes, start: &Start<U>) {
    let (inner, outer) = match axes.split_last() {
        Some((inner, outer)) => (*inner, outer),
        None => (Axis { n: 1, to: 1, from: 1 }, &[][..]),
    };
    let mut index: SmallVec<[usize; 6]> = outer.iter().map(|_| 0).collect();
    let (mut to, mut from) = (start.to, start.from);
    for _ in 0..outer.iter().map(|axis| axis.n).product() {
        // SAFETY: a line of the block. Its elements lie inside both operands, as all that the layouts reach; the places in
        // the target differ (`assign`), and the target is exclusively ours, so that no source element is among them.
        unsafe { line(inner, to, from) };
        for (axis, i) in outer.iter().zip(&mut index).rev() {
            (to, from) = (to.wrapping_offset(axis.to), from.wrapping_offset(axis.from));
            *i += 1;
            if *i < axis.n {
                break;
            }
            let back = |stride: isize| stride.wrapping_mul(axis.n as isize).wrapping_neg();
            (to, from) = (to.wrapping_offset(back(axis.to)), from.wrapping_offset(back(axis.from)));
            *i = 0;
        }
    }
}

/// # Safety
/// Element `i < n` of both sides is valid, for the write or the read, and aligned.
unsafe fn line<U: Copy>(axis: Axis, to: *mut U, from: *const U) {
    let Axis { n, .. } = axis;
    if (axis.to, axis.from) == (1, 1) {
        // SAFETY: the caller's promise. Nothing is both written and read.
        return unsafe { std::ptr::copy_nonoverlapping(from, to, n) };
    }
    for i in 0..n as isize {
        // SAFETY: the caller's promise.
        unsafe { *to.wrapping_offset(i.wrapping_mul(axis.to)) = *from.wrapping_offset(i.wrapping_mul(axis.from)) };
    }
}
