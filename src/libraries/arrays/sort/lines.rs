//! The lines of a sort as loops over the other axes.

use super::op::Sort;
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, fused};

/// Where the lines begin, and how far their neighbours are apart.
pub(super) struct Lines {
    /// The elements of a line.
    pub(super) len: usize,
    /// Those of a line of the result.
    pub(super) keep: usize,
    /// Over the lines: where each begins in what is read and in what is written, and its number.
    pub(super) layouts: Vec<Layout>,
    /// The distances along a line in what is read and in what is written, in elements.
    pub(super) steps: [isize; 2],
}

/// The layout without an axis, and the stride of that axis.
fn without(layout: &Layout, axis: usize) -> Result<(Layout, isize)> {
    let others = |k: &usize| *k != axis;
    let pick = |strides: &[isize]| (0..strides.len()).filter(others).filter_map(|k| strides.get(k).copied()).collect();
    let extents: Vec<usize> =
        (0..layout.rank()).filter(others).filter_map(|k| layout.shape().get(k).copied()).collect();
    let strides: Vec<isize> = pick(layout.strides());
    let own = layout.strides().get(axis).copied().unwrap_or(0);
    let own = if layout.shape().get(axis).is_some_and(|n| *n > 1) { own } else { 0 };
    Ok((Layout::new(extents, strides, layout.offset())?, own))
}

impl Lines {
    /// The lines of an operation that was checked; none if no element is read or written.
    pub(super) fn new(sort: &Sort) -> Result<Option<Self>> {
        let output = sort.output()?;
        if sort.x.is_empty() || output.is_empty() {
            return Ok(None);
        }
        let missing = || Error::library("internal error: a sort without its axis");
        let len = sort.x.shape().get(sort.axis).copied().ok_or_else(missing)?;
        let ((x, step), (target, target_step)) = (without(&sort.x, sort.axis)?, without(&output, sort.axis)?);
        let numbers = Layout::row_major(x.shape())?;
        let layouts = fused(&[&target, &x, &numbers]);
        let [target, x, numbers] = &layouts[..] else { return Err(missing()) };
        let layouts = vec![x.clone(), target.clone(), numbers.clone()];
        Ok(Some(Lines { len, keep: sort.keep, layouts, steps: [step, target_step] }))
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.layouts.first().map_or(0, Layout::len)
    }

    /// Where a line begins in a layout.
    #[cfg(feature = "host")]
    pub(super) fn offset(&self, layout: usize, mut line: usize) -> isize {
        let Some(layout) = self.layouts.get(layout) else { return 0 };
        let mut offset = layout.offset() as isize;
        for (n, stride) in layout.shape().iter().zip(layout.strides()).rev() {
            offset += (line % n) as isize * stride;
            line /= n;
        }
        offset
    }
}
