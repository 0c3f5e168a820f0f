//! Planes: the input with its padding, so that an element of the window meets its elements at one distance for all places.
//!
//! Along an axis with a stride of `s` there are up to `s` planes, one for each rest of the place in the input: in a plane, neighbours of
//! the result meet neighbours.

use super::super::problem::Problem;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::scratch::Scratch;
use crate::libraries::dnn::product::tiles::{Offsets, SLACK};
use crate::libraries::dnn::product::{Real, spaced};
use std::collections::HashMap;

/// The planes along one axis.
struct Axis {
    /// Those rests that an element of the window meets.
    rests: Vec<usize>,
    /// For each element of the window: its rest's number, and the distance in the plane.
    taps: Vec<(usize, usize)>,
    extent: usize,
}

fn at(of: [usize; 3], axis: usize) -> usize {
    of.get(axis).copied().unwrap_or(1)
}

impl Axis {
    fn new(problem: &Problem, axis: usize) -> Option<Self> {
        let of = |all| at(all, axis);
        let (stride, dilation, kernel) = (of(problem.stride).max(1), of(problem.dilation), of(problem.kernel));
        let mut all = Axis { rests: Vec::new(), taps: Vec::new(), extent: 0 };
        let (mut far, mut known) = (0, HashMap::new());
        for tap in 0..kernel {
            let place = tap.checked_mul(dilation)?;
            let (rest, distance) = (place % stride, place / stride);
            let number = *known.entry(rest).or_insert(all.rests.len());
            if number == all.rests.len() {
                room::push(&mut all.rests, rest).ok()?;
            }
            room::push(&mut all.taps, (number, distance)).ok()?;
            far = far.max(distance);
        }
        all.extent = of(problem.output).checked_add(far)?;
        Some(all)
    }
}

/// How the input of a problem lies in planes.
pub(super) struct Planes<'p> {
    problem: &'p Problem,
    axes: [Axis; 3],
    /// The extents of a plane.
    pub(super) extents: [usize; 3],
    /// Elements of a channel.
    pub(super) channel: usize,
    /// Where the elements that a filter meets lie, in the order of its own.
    pub(super) offsets: Offsets,
}

impl<'p> Planes<'p> {
    /// `None` where they would be much larger than the input and the result.
    pub(super) fn new(problem: &'p Problem) -> Result<Option<Self>> {
        let Some(axes) = Self::axes(problem) else { return Ok(None) };
        let extents = axes.each_ref().map(|axis| axis.extent);
        let plane: usize = extents.iter().product();
        let (h, w) = (axes[1].rests.len(), axes[2].rests.len());
        let channel = axes[0].rests.len() * h * w * plane;
        let mut places = Vec::new();
        for (d, along_d) in &axes[0].taps {
            for (y, along_y) in &axes[1].taps {
                for (x, along_x) in &axes[2].taps {
                    let within = (along_d * extents[1] + along_y) * extents[2] + along_x;
                    room::push(&mut places, ((d * h + y) * w + x) * plane + within)?;
                }
            }
        }
        let (each, count) = (problem.each(), problem.each() * places.len());
        let offsets = match problem.channels_last {
            true => Offsets::new(count, places.iter().flat_map(|at| (0..each).map(move |c| c * channel + at)))?,
            false => Offsets::new(count, (0..each).flat_map(|c| places.iter().map(move |at| c * channel + at)))?,
        };
        Ok(Some(Planes { problem, axes, extents, channel, offsets }))
    }

    /// The axes, unless the planes are too large.
    fn axes(problem: &Problem) -> Option<[Axis; 3]> {
        let axes = [Axis::new(problem, 0)?, Axis::new(problem, 1)?, Axis::new(problem, 2)?];
        let mut size = problem.channels;
        for axis in &axes {
            size = size.checked_mul(axis.extent)?.checked_mul(axis.rests.len())?;
        }
        let of = |all: [usize; 3]| all.iter().product::<usize>();
        let known = problem.channels * of(problem.input) + problem.filters * of(problem.output);
        (size / 4 <= known.saturating_add(1 << 10)).then_some(axes)
    }

    /// The planes of an image.
    pub(super) fn fill<A: Real>(&self, x: &[A]) -> Result<Scratch<A>> {
        let [deep, high, width] = self.extents;
        let len = self.problem.channels * self.channel + SLACK;
        Scratch::new(len, deep * high * width, &|plane, to| self.plane(plane, x, to))
    }

    fn plane<A: Real>(&self, plane: usize, x: &[A], to: &mut [A]) {
        let problem = self.problem;
        let [of_d, of_h, of_w] = self.axes.each_ref().map(|axis| axis.rests.len());
        let ([_, channels], [along_d, along_h, along_w]) = problem.strides(problem.x());
        let (channel, rests) =
            (plane / (of_d * of_h * of_w), [plane / (of_w * of_h) % of_d, plane / of_w % of_h, plane % of_w]);
        if channel >= problem.channels {
            return;
        }
        // The elements of an axis of the plane inside the input: the first one, its place there, and their number.
        let inside = |axis: usize| {
            let all = self.axes.get(axis).zip(rests.get(axis));
            let rest = all.and_then(|(axis, rest)| axis.rests.get(*rest)).copied().unwrap_or(0);
            let (stride, before, n) =
                (at(problem.stride, axis).max(1), at(problem.before, axis), at(problem.input, axis));
            let first = before.saturating_sub(rest).div_ceil(stride);
            let place = first * stride + rest - before;
            let count = n.saturating_sub(place).div_ceil(stride).min(at(self.extents, axis).saturating_sub(first));
            (first, place, count, stride)
        };
        let ([d, h, w], [_, high, width]) = ([0, 1, 2].map(inside), self.extents);
        let step = w.3 * along_w;
        for (deep, place) in (0..d.2).map(|k| (d.0 + k, d.1 + k * d.3)) {
            let from = channel * channels + place * along_d + h.1 * along_h + w.1 * along_w;
            for k in 0..h.2 {
                let to = to.get_mut((deep * high + h.0 + k) * width + w.0..).unwrap_or_default();
                let to = to.get_mut(..w.2).unwrap_or_default();
                let from = x.get(from + k * h.3 * along_h..).unwrap_or_default();
                spaced(from, step, to);
            }
        }
    }
}
