//! Rotates arrays along their axes.

use super::lines::Writer;
use super::threads::each_range;

/// `y[(i + by) % n] = x[i]` along every axis, for elements of `size` bytes.
pub(in super::super) fn roll(size: usize, shape: &[usize], by: &[usize], x: &[u8], y: &mut [u8]) {
    let Some((&n, outer)) = shape.split_last() else { return y.copy_from_slice(x.get(..y.len()).unwrap_or(x)) };
    if x.len() != y.len() || x.is_empty() {
        return; // an empty array may have axes of any length
    }
    let lines = outer.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
    let (Some(line), Some(lines)) = (n.checked_mul(size), lines) else { return };
    if line.checked_mul(lines) != Some(x.len()) {
        return;
    }
    let turn = by.last().map_or(0, |by| by % n) * size;
    let writer = Writer::new(y);
    each_range(lines, 1, line, &|range| {
        for index in range {
            // The line that moves to `index`.
            let (mut rest, mut from, mut step) = (index, 0usize, 1usize);
            for (axis, &n) in outer.iter().enumerate().rev() {
                let at = rest % n;
                rest /= n;
                from += step * ((at + n - by.get(axis).map_or(0, |by| by % n)) % n);
                step *= n;
            }
            let Some((head, tail)) = x.get(from * line..(from + 1) * line).map(|x| x.split_at(line - turn)) else {
                return;
            };
            // SAFETY: line `index` of `lines`, which together are `y`; no other range has it.
            let to = unsafe { writer.slice(index * line, line) };
            let (left, right) = to.split_at_mut(turn);
            left.copy_from_slice(tail);
            right.copy_from_slice(head);
        }
    });
}
