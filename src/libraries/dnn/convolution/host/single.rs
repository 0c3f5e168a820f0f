//! The forward pass of windows of one element: products of filters and places, those of one image after those of another.
//!
//! A block gathers its places, channel after channel, and is large enough that this costs little.

use super::super::problem::Problem;
use super::direct::{BLOCKS, FILTERS, Pieces, WIDTH, write};
use crate::core::error::Result;
use crate::libraries::dnn::product::scratch::lent;
use crate::libraries::dnn::product::tiles::{Factors, Offsets, SLACK, Shared};
use crate::libraries::dnn::product::{Matrix, Real, spaced};
use crate::numerics::parallel::try_each_number;
use smallvec::SmallVec;

/// Filters of a block, at least: for fewer, gathering costs too much.
const LEAST: usize = 32;

/// Channels of a wide block, at most: they fit into the second cache.
const FAR: usize = 1 << 10;

/// Neighbours that are gathered: the first column, the element of the first channel, the number.
type Segments = SmallVec<[[usize; 3]; 8]>;

/// How the forward pass of a problem is computed.
pub(super) struct Single<'p> {
    problem: &'p Problem,
    /// Places of a block.
    wide: usize,
    chunks: usize,
    filters: usize,
    offsets: Offsets,
}

impl<'p> Single<'p> {
    /// `None` if the window has more elements, or if there are few places for the threads to share.
    pub(super) fn new(problem: &'p Problem) -> Result<Option<Self>> {
        let is_single = problem.kernel == [1; 3] && problem.before == [0; 3] && problem.after == [0; 3];
        let (own, columns) = (problem.of_group(), problem.batch * problem.places());
        let many = BLOCKS * rayon::current_num_threads();
        // In a wide block more is read of each channel, which lies far from the next one.
        let wide = if columns / (3 * WIDTH) >= many && problem.each() <= FAR { 3 * WIDTH } else { WIDTH };
        let chunks = columns.div_ceil(wide);
        let blocks = many.div_ceil((chunks * problem.groups).max(1));
        let filters = own.div_ceil(blocks).next_multiple_of(FILTERS);
        if !is_single || problem.channels_last || filters < LEAST.min(own) {
            return Ok(None);
        }
        Ok(Some(Single { problem, wide, chunks, filters, offsets: Offsets::even(problem.each(), wide)? }))
    }

    pub(super) fn run<A: Real>(&self, x: &[A], w: &[A], y: &mut [A]) -> Result<()> {
        let (problem, wide, to) = (self.problem, self.wide, Shared::new(y));
        let (parts, size) = (problem.of_group().div_ceil(self.filters.max(1)), problem.each());
        try_each_number(self.chunks * problem.groups * parts, 1, &|block| {
            let (chunk, rest) = (block / (problem.groups * parts), block % (problem.groups * parts));
            let (group, first) = (rest / parts, rest % parts * self.filters);
            let columns = chunk * wide..(problem.batch * problem.places()).min((chunk + 1) * wide);
            let (pieces, segments) = self.lines(columns.clone());
            lent(size * wide + SLACK, |b| {
                self.gather(x, group, &segments, b);
                let filter = group * problem.of_group() + first;
                let a = (w, Matrix::rows(filter * size, size));
                let factors = Factors { a, b: (&*b, 0), offsets: &self.offsets };
                let rows = self.filters.min(problem.of_group() - first);
                write(problem, factors, [filter, rows, columns.len()], &pieces, &to)
            })
        })
    }

    /// What columns are in the result and in the input.
    fn lines(&self, columns: std::ops::Range<usize>) -> (Pieces, Segments) {
        let (problem, places) = (self.problem, self.problem.places());
        let ([image, _], [d, h, w]) = problem.strides(problem.x());
        let [_, lines, width] = problem.output;
        let [along_d, along_h, along_w] = problem.stride;
        let (mut pieces, mut segments, mut at) = (Pieces::new(), Segments::new(), columns.start);
        while at < columns.end {
            let (number, place) = (at / places, at % places);
            let (line, column) = (place / width, place % width);
            let len = (width - column).min(columns.end - at);
            let from = number * image + line / lines * along_d * d + line % lines * along_h * h + column * along_w * w;
            let (own, to) = (at - columns.start, number * problem.filters * places + place);
            join(&mut pieces, [own, to, len], 1);
            join(&mut segments, [own, from, len], along_w);
            at += len;
        }
        (pieces, segments)
    }

    /// The elements of a group's channels, line after line.
    fn gather<A: Real>(&self, x: &[A], group: usize, segments: &[[usize; 3]], to: &mut [A]) {
        let (problem, each) = (self.problem, self.problem.each());
        let ([_, channel], _) = problem.strides(problem.x());
        for (row, line) in to.chunks_mut(self.wide).take(each).enumerate() {
            for [column, from, len] in segments {
                let to = line.get_mut(*column..column + len).unwrap_or_default();
                let from = x.get(from + (group * each + row) * channel..).unwrap_or_default();
                spaced(from, problem.stride[2], to);
            }
        }
    }
}

/// Adds neighbours to those before, if they follow each other.
fn join(all: &mut SmallVec<[[usize; 3]; 8]>, next: [usize; 3], step: usize) {
    let [column, first, len] = next;
    match all.last_mut().filter(|[at, from, n]| (*at + *n, *from + *n * step) == (column, first)) {
        Some([_, _, before]) => *before += len,
        None => all.push(next),
    }
}
