//! The layouts of an operation's operands, as the fewest nested loops over them.

use super::{Axes, Layout};

/// One axis: its extent, and its stride in each operand.
type Axis = (usize, Axes<isize>);

/// Layouts of the same extents, for an operation that treats each element alike, in any order: axes of extent 1 are left
/// out, the rest are ordered by the strides of the first operand, the smallest last, none of which is negative; and axes
/// that continue each other in all operands are made one. So two dense tensors of one order become one axis.
///
/// The element at an index of the result is at another index of the operands, but at the same one in all of them.
pub(crate) fn fused(operands: &[&Layout]) -> Vec<Layout> {
    let Some(first) = operands.first() else { return Vec::new() };
    if first.is_empty() {
        let nothing = |layout: &&Layout| Layout {
            extents: [0].into_iter().collect(),
            strides: [1].into_iter().collect(),
            offset: layout.offset,
        };
        return operands.iter().map(nothing).collect();
    }
    let mut offsets: Axes<isize> = operands.iter().map(|layout| layout.offset as isize).collect();
    let mut axes: Axes<Axis> = Axes::new();
    for (axis, n) in first.extents.iter().enumerate().filter(|(_, n)| **n != 1) {
        let mut strides: Axes<isize> =
            operands.iter().map(|layout| layout.strides.get(axis).copied().unwrap_or_default()).collect();
        if strides.iter().find(|stride| **stride != 0).is_some_and(|stride| *stride < 0) {
            for (offset, stride) in offsets.iter_mut().zip(&mut strides) {
                // From the other end. Both lie inside what the layout reaches.
                *offset += (*n as isize - 1) * *stride;
                *stride = -*stride;
            }
        }
        axes.push((*n, strides));
    }
    // By the first operand; where it does not tell (stride 0), by the next one.
    axes.sort_by(|a, b| b.1.iter().map(|s| s.unsigned_abs()).cmp(a.1.iter().map(|s| s.unsigned_abs())));
    let mut merged: Axes<Axis> = Axes::new();
    for (n, strides) in axes {
        match merged.last_mut() {
            Some((outer, far)) if continues(far, n, &strides) => (*outer, *far) = (*outer * n, strides),
            _ => merged.push((n, strides)),
        }
    }
    let layout = |(k, offset): (usize, &isize)| Layout {
        extents: merged.iter().map(|axis| axis.0).collect(),
        strides: merged.iter().filter_map(|axis| axis.1.get(k).copied()).collect(),
        offset: offset.unsigned_abs(),
    };
    offsets.iter().enumerate().map(layout).collect()
}

/// Whether an axis with the strides `far` goes on where one of `n` elements with the strides `near` ends.
fn continues(far: &[isize], n: usize, near: &[isize]) -> bool {
    far.iter().zip(near).all(|(far, near)| near.checked_mul(n as isize) == Some(*far))
}
