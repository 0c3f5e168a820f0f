//! Panels: a row for each element of the window, a column for each element of the result that is computed.
//!
//! A row is made line by line, along the last spatial axis of the result; along it the elements of the input are at even
//! distances, and those beside the input are zeros.

use super::super::problem::Problem;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::{Real, spaced};
use crate::numerics::parallel::{Parts, each_part};
use std::ops::Range;

/// What a panel is made of.
#[derive(Clone)]
pub(super) struct Panel<'p> {
    pub(super) problem: &'p Problem,
    /// The first channel that it has.
    pub(super) channel: usize,
    /// The elements of the result, counted along the spatial axes.
    pub(super) places: Range<usize>,
    /// Rows are made by several threads.
    pub(super) parallel: bool,
}

/// A part of a line that lies inside the input.
struct Inside {
    /// Columns of the panel.
    columns: Range<usize>,
    /// The first element of the input, and the distance to the next.
    first: usize,
    step: usize,
}

fn at(of: [usize; 3], axis: usize) -> i128 {
    of.get(axis).copied().unwrap_or(1) as i128
}

impl Panel<'_> {
    /// The rows: the channels of a group, times the elements of the window.
    pub(super) fn rows(problem: &Problem) -> usize {
        let [d, h, w] = problem.kernel;
        problem.each() * d * h * w
    }

    /// Channel and element of the window of a row. The rows are in the order of the filters' memory.
    fn tap(&self, row: usize) -> (usize, [usize; 3]) {
        let [d, h, w] = self.problem.kernel;
        let (volume, each) = ((d * h * w).max(1), self.problem.each().max(1));
        let (channel, tap) =
            if self.problem.channels_last { (row % each, row / each) } else { (row / volume, row % volume) };
        (self.channel + channel, [tap / (h * w).max(1), tap / w.max(1) % h.max(1), tap % w.max(1)])
    }

    /// The parts of a row that lie inside the input.
    fn each_line(&self, row: usize, mut each: impl FnMut(Inside)) {
        let problem = self.problem;
        let (channel, tap) = self.tap(row);
        let ([_, of_channel], [along_d, along_h, along_w]) = problem.strides(problem.x());
        let [_, lines, width] = problem.output.map(|n| n.max(1));
        // Where the element of the window lies for the first element of the result.
        let begin = |axis: usize| at(tap, axis) * at(problem.dilation, axis) - at(problem.before, axis);
        let inside = |axis: usize, place: usize| {
            let found = place as i128 * at(problem.stride, axis) + begin(axis);
            (0..at(problem.input, axis)).contains(&found).then_some(found as usize)
        };
        let (step, n, first) = (at(problem.stride, 2), at(problem.input, 2), begin(2));
        // The elements of a line inside the input: 0 <= place * step + first < n.
        let low = (-first).max(0).div_euclid(step) + i128::from((-first).max(0).rem_euclid(step) > 0);
        let high = (n - first).max(0).div_euclid(step) + i128::from((n - first).max(0).rem_euclid(step) > 0);
        let mut place = self.places.start;
        while place < self.places.end {
            let (line, column) = (place / width, place % width);
            let end = (column + self.places.end - place).min(width);
            let from = column.max(usize::try_from(low).unwrap_or(usize::MAX));
            let to = end.min(usize::try_from(high).unwrap_or(usize::MAX));
            if let (true, Some(d), Some(h)) = (from < to, inside(0, line / lines), inside(1, line % lines)) {
                let w = (from as i128 * step + first) as usize;
                let start = place - self.places.start;
                each(Inside {
                    columns: start + from - column..start + to - column,
                    first: channel * of_channel + d * along_d + h * along_h + w * along_w,
                    step: problem.stride[2].saturating_mul(along_w),
                });
            }
            place += end - column;
        }
    }

    /// Makes the panel of the input `x`, whose first element is that of the image.
    pub(super) fn gather<A: Real>(&self, x: &[A], panel: &mut Vec<A>) -> Result<()> {
        let (columns, rows) = (self.places.len(), Self::rows(self.problem));
        panel.clear();
        room::grown(panel, rows * columns, A::default())?;
        let fill = |row: usize, line: &mut [A]| {
            self.each_line(row, |inside| {
                let to = line.get_mut(inside.columns).unwrap_or_default();
                let from = x.get(inside.first..).unwrap_or_default();
                spaced(from, inside.step, to);
            });
        };
        match self.parallel {
            true => each_part(panel, Parts::with_size(columns).least(8), &fill),
            false => panel.chunks_mut(columns.max(1)).enumerate().for_each(|(row, line)| fill(row, line)),
        }
        Ok(())
    }

    /// Adds the panel to the gradient of the input.
    pub(super) fn scatter<A: Real>(&self, panel: &[A], dx: &mut [A]) {
        for (row, line) in panel.chunks(self.places.len().max(1)).enumerate() {
            self.each_line(row, |inside| {
                let from = line.get(inside.columns).unwrap_or_default();
                let to = dx.get_mut(inside.first..).unwrap_or_default();
                to.iter_mut().step_by(inside.step.max(1)).zip(from).for_each(|(to, from)| *to = *to + *from);
            });
        }
    }
}
