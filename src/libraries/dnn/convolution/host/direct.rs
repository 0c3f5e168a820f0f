//! The forward pass, straight from planes: places of the result side by side, filters below each other.
//!
//! The work on an image is cut into blocks, filters times places, however many threads there are to share them. Places run on from
//! line to line of a plane, over those between the lines too, where that takes fewer vectors than line by line.

use super::super::problem::Problem;
use super::missing;
use super::planes::Planes;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::scratch::lent;
use crate::libraries::dnn::product::tiles::{Factors, SLACK, Shared, multiply, multiply_into};
use crate::libraries::dnn::product::{Matrix, Real, spaced};
use crate::numerics::parallel::try_each_number;
use smallvec::SmallVec;

/// Places of a block: a few vectors.
pub(super) const WIDTH: usize = 48;
/// Filters that are computed together at least.
pub(super) const FILTERS: usize = 8;
/// Blocks for each thread.
pub(super) const BLOCKS: usize = 4;

/// Neighbours in a plane.
#[derive(Clone, Copy)]
struct Chunk {
    first: usize,
    len: usize,
}

/// A part of a block's columns that belongs to the result: its first column, its first place, its length.
pub(super) type Pieces = SmallVec<[[usize; 3]; 8]>;

/// How the forward pass of a problem is computed.
pub(super) struct Direct<'p> {
    problem: &'p Problem,
    planes: Planes<'p>,
    chunks: Vec<Chunk>,
    /// Filters of a block.
    filters: usize,
}

impl<'p> Direct<'p> {
    /// `None` where the panels of `columns.rs` are better.
    pub(super) fn new(problem: &'p Problem) -> Result<Option<Self>> {
        let Some(planes) = Planes::new(problem)? else { return Ok(None) };
        let threads = rayon::current_num_threads();
        let wide = if problem.batch < threads { WIDTH } else { 3 * WIDTH };
        let chunks = chunks(problem, planes.extents, wide)?;
        let own = problem.of_group();
        let blocks = (BLOCKS * threads).div_ceil(problem.batch * problem.groups * chunks.len().max(1)).max(1);
        let filters = own.div_ceil(blocks).next_multiple_of(FILTERS);
        Ok(Some(Direct { problem, planes, chunks, filters }))
    }

    /// Computes an image.
    pub(super) fn image<A: Real>(&self, x: &[A], w: &[A], y: &mut [A]) -> Result<()> {
        let planes = self.planes.fill(x)?;
        let parts = self.problem.of_group().div_ceil(self.filters.max(1));
        let (groups, to) = (self.problem.groups, Shared::new(y));
        try_each_number(groups * parts * self.chunks.len(), 1, &|block| {
            let (place, rest) = (block / (groups * parts), block % (groups * parts));
            let chunk = self.chunks.get(place).copied().ok_or_else(missing)?;
            let block = Block { of: self, group: rest / parts, first: rest % parts * self.filters, chunk };
            block.compute(&planes, w, &to)
        })
    }
}

/// The places of the result in planes.
fn chunks(problem: &Problem, [_, high, width]: [usize; 3], wide: usize) -> Result<Vec<Chunk>> {
    let [deep, lines, line] = problem.output;
    let mut all = Vec::new();
    let total = ((deep - 1) * high + lines - 1) * width + line;
    let vectors = |n: usize| n.div_ceil(SLACK);
    let mut cut = |from: usize, len: usize| -> Result<()> {
        for first in (0..len).step_by(wide) {
            room::push(&mut all, Chunk { first: from + first, len: wide.min(len - first) })?;
        }
        Ok(())
    };
    match vectors(total) <= deep * lines * vectors(line) {
        true => cut(0, total)?,
        false => (0..deep * lines).try_for_each(|at| cut((at / lines * high + at % lines) * width, line))?,
    }
    Ok(all)
}

/// Some filters of a group at some places.
struct Block<'b, 'p> {
    of: &'b Direct<'p>,
    group: usize,
    /// The first filter in the group.
    first: usize,
    chunk: Chunk,
}

impl Block<'_, '_> {
    fn pieces(&self) -> Pieces {
        let [_, lines, width] = self.of.problem.output;
        let [_, high, wide] = self.of.planes.extents;
        let (mut all, end) = (Pieces::new(), self.chunk.first + self.chunk.len);
        let mut at = self.chunk.first;
        while at < end {
            let (line, column) = (at / wide, at % wide);
            let next = end.min(at - column + wide);
            if line % high < lines && column < width {
                let place = (line / high * lines + line % high) * width + column;
                let (own, len) = (at - self.chunk.first, (next - at).min(width - column));
                match all.last_mut().filter(|[column, first, len]| (*column + *len, *first + *len) == (own, place)) {
                    Some([_, _, before]) => *before += len,
                    None => all.push([own, place, len]),
                }
            }
            at = next;
        }
        all
    }

    fn compute<A: Real>(&self, planes: &[A], w: &[A], y: &Shared<'_, A>) -> Result<()> {
        let problem = self.of.problem;
        let rows = self.of.filters.min(problem.of_group() - self.first);
        let filter = self.group * problem.of_group() + self.first;
        let (size, channel) = (problem.filter_size(), self.group * problem.each() * self.of.planes.channel);
        let a = (w, Matrix::rows(filter * size, size));
        let factors = Factors { a, b: (planes, channel + self.chunk.first), offsets: &self.of.planes.offsets };
        write(problem, factors, [filter, rows, self.chunk.len], &self.pieces(), y)
    }
}

/// Computes some filters at columns, and writes the pieces of these, which belong to the caller.
pub(super) fn write<A: Real>(
    problem: &Problem,
    factors: Factors<'_, A>,
    [filter, rows, columns]: [usize; 3],
    pieces: &[[usize; 3]],
    y: &Shared<'_, A>,
) -> Result<()> {
    let places = problem.places();
    if let ([[0, place, whole]], false) = (pieces, problem.channels_last)
        && *whole == columns
    {
        let of_c = Matrix { first: filter * places + place, down: places, right: 1 };
        // SAFETY: these filters at these places belong to the caller.
        return unsafe { multiply_into([rows, columns], factors, y, of_c, false) };
    }
    lent(rows * columns, |block| {
        multiply([rows, columns], factors, (&mut *block, columns), false)?;
        for [column, place, count] in pieces {
            match problem.channels_last {
                true => (0..*count).for_each(|k| {
                    // SAFETY: these filters at this place belong to the caller.
                    let to = unsafe { y.line((place + k) * problem.filters + filter, rows) };
                    let from = block.get(column + k..).unwrap_or_default().iter().step_by(columns);
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                }),
                false => block.chunks(columns).enumerate().for_each(|(row, line)| {
                    // SAFETY: these places of this filter belong to the caller.
                    let to = unsafe { y.line((filter + row) * places + place, *count) };
                    spaced(line.get(*column..).unwrap_or_default(), 1, to);
                }),
            }
        }
        Ok(())
    })
}
