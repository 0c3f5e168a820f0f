//! The forward pass of windows of one element: products of filters and places, those of one image after those of another.
//!
//! A block gathers its places, channel after channel, and is large enough that this costs little.

use super::super::problem::Problem;
use super::direct::{BLOCKS, FILTERS, Pieces, WIDTH, write};
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::tiles::{Factors, Offsets, SLACK, Shared, each_block};
use crate::libraries::dnn::product::{Matrix, Real, spaced};
use smallvec::SmallVec;

/// Filters of a block, at least: for fewer, gathering costs too much.
const LEAST: usize = 32;

/// Neighbours that are gathered: the first column, the element of the first channel, the number.
type Segments = SmallVec<[[usize; 3]; 8]>;

/// How the forward pass of a problem is computed.
pub(super) struct Single<'p> {
    problem: &'p Problem,
    chunks: usize,
    filters: usize,
    offsets: Offsets,
}

impl<'p> Single<'p> {
    /// `None` if the window has more elements, or if there are few places for the threads to share.
    pub(super) fn new(problem: &'p Problem) -> Result<Option<Self>> {
        let is_single = problem.kernel == [1; 3] && problem.before == [0; 3] && problem.after == [0; 3];
        let (own, chunks) = (problem.of_group(), (problem.batch * problem.places()).div_ceil(WIDTH));
        let blocks = (BLOCKS * rayon::current_num_threads()).div_ceil((chunks * problem.groups).max(1));
        let filters = own.div_ceil(blocks).next_multiple_of(FILTERS);
        if !is_single || problem.channels_last || filters < LEAST.min(own) {
            return Ok(None);
        }
        Ok(Some(Single { problem, chunks, filters, offsets: Offsets::even(problem.each(), WIDTH)? }))
    }

    pub(super) fn run<A: Real>(&self, x: &[A], w: &[A], y: &mut [A]) -> Result<()> {
        let (problem, to) = (self.problem, Shared::new(y));
        let parts = problem.of_group().div_ceil(self.filters.max(1));
        each_block(self.chunks * problem.groups * parts, &|block| {
            let (chunk, rest) = (block / (problem.groups * parts), block % (problem.groups * parts));
            let (group, first) = (rest / parts, rest % parts * self.filters);
            let columns = chunk * WIDTH..(problem.batch * problem.places()).min((chunk + 1) * WIDTH);
            let (pieces, segments) = self.lines(columns.clone());
            let b = self.gather(x, group, &segments)?;
            let (size, filter) = (problem.each(), group * problem.of_group() + first);
            let factors = Factors { a: (w, Matrix::rows(filter * size, size)), b: (&b, 0), offsets: &self.offsets };
            let rows = self.filters.min(problem.of_group() - first);
            write(problem, factors, [filter, rows, columns.len()], &pieces, &to)
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

    /// The elements of a group's channels, line after line of [`WIDTH`].
    fn gather<A: Real>(&self, x: &[A], group: usize, segments: &[[usize; 3]]) -> Result<Vec<A>> {
        let (problem, each) = (self.problem, self.problem.each());
        let ([_, channel], _) = problem.strides(problem.x());
        let mut all = room::zeroed(each * WIDTH + SLACK)?;
        let step = problem.stride[2];
        for (row, line) in all.chunks_mut(WIDTH).take(each).enumerate() {
            for [column, from, len] in segments {
                let to = line.get_mut(*column..column + len).unwrap_or_default();
                let from = x.get(from + (group * each + row) * channel..).unwrap_or_default();
                spaced(from, step, to);
            }
        }
        Ok(all)
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
