//! The forward pass, straight from planes: places of the result side by side, filters below each other.
//!
//! The work on an image is cut into blocks, filters times places, however many threads there are to share them. Places run on from
//! line to line of a plane, over those between the lines too, where that takes fewer vectors than line by line.

use super::super::problem::Problem;
use super::lost;
use super::planes::Planes;
use crate::core::error::Result;
use crate::core::room;
use crate::libraries::dnn::product::tiles::{Factors, Offsets, SLACK, Shared, each_block, multiply, multiply_into};
use crate::libraries::dnn::product::{Matrix, Real};
use smallvec::SmallVec;

/// Places of a block: a few vectors.
const WIDTH: usize = 48;
/// Filters that are computed together at least.
const FILTERS: usize = 8;
/// Blocks for each thread.
const BLOCKS: usize = 4;
/// Images with more places are packed block by block if their windows have one element: their channels lie too far apart.
const FAR: usize = 1 << 10;

/// Neighbours in a plane.
#[derive(Clone, Copy)]
struct Chunk {
    first: usize,
    len: usize,
}

/// A part of a chunk that belongs to the result: its first column, its first place, its length.
type Piece = [usize; 3];

/// How the forward pass of a problem is computed.
pub(super) struct Direct<'p> {
    problem: &'p Problem,
    planes: Planes<'p>,
    chunks: Vec<Chunk>,
    /// Places of a block, at most.
    wide: usize,
    /// Filters of a block.
    filters: usize,
    /// Set if the input itself is what is multiplied.
    packed: Option<Offsets>,
}

impl<'p> Direct<'p> {
    /// `None` where the panels of `columns.rs` are better.
    pub(super) fn new(problem: &'p Problem) -> Result<Option<Self>> {
        let Some(planes) = Planes::new(problem)? else { return Ok(None) };
        let threads = rayon::current_num_threads();
        let wide = if problem.batch < threads { WIDTH } else { 3 * WIDTH };
        let packed = match problem.is_plain() && !problem.channels_last && problem.places() > FAR {
            true => Some(Offsets::even(problem.each(), wide)?),
            false => None,
        };
        let chunks = chunks(problem, planes.extents, wide)?;
        let own = problem.of_group();
        let blocks = (BLOCKS * threads).div_ceil(problem.batch * problem.groups * chunks.len().max(1)).max(1);
        let filters = own.div_ceil(blocks).next_multiple_of(FILTERS);
        Ok(Some(Direct { problem, planes, chunks, wide, filters, packed }))
    }

    /// Computes an image.
    pub(super) fn image<A: Real>(&self, x: &[A], w: &[A], y: &mut [A]) -> Result<()> {
        let planes = if self.packed.is_some() { Vec::new() } else { self.planes.fill(x)? };
        let parts = self.problem.of_group().div_ceil(self.filters.max(1));
        let (groups, to) = (self.problem.groups, Shared::new(y));
        each_block(groups * parts * self.chunks.len(), &|block| {
            let (place, rest) = (block / (groups * parts), block % (groups * parts));
            let chunk = self.chunks.get(place).copied().ok_or_else(lost)?;
            let block = Block { of: self, group: rest / parts, first: rest % parts * self.filters, chunk };
            block.compute((x, &planes), w, &to)
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
    fn pieces(&self) -> SmallVec<[Piece; 8]> {
        let [_, lines, width] = self.of.problem.output;
        let [_, high, wide] = self.of.planes.extents;
        let (mut all, end): (SmallVec<[Piece; 8]>, usize) = (SmallVec::new(), self.chunk.first + self.chunk.len);
        let mut at = self.chunk.first;
        while at < end {
            let (line, column) = (at / wide, at % wide);
            let next = end.min(at - column + wide);
            if line % high < lines && column < width {
                let place = (line / high * lines + line % high) * width + column;
                let len = (next - at).min(width - column);
                let own = at - self.chunk.first;
                match all.last_mut().filter(|[column, first, len]| (column + len, first + len) == (own, place)) {
                    Some([_, _, before]) => *before += len,
                    None => all.push([own, place, len]),
                }
            }
            at = next;
        }
        all
    }

    fn compute<A: Real>(&self, (x, planes): (&[A], &[A]), w: &[A], y: &Shared<'_, A>) -> Result<()> {
        let (problem, len) = (self.of.problem, self.chunk.len);
        let rows = self.of.filters.min(problem.of_group() - self.first);
        let filter = self.group * problem.of_group() + self.first;
        let size = problem.filter_size();
        let channel = self.group * problem.each();
        let a = (w, Matrix::rows(filter * size, size));
        let pieces = self.pieces();
        let copy;
        let factors = match &self.of.packed {
            None => Factors { a, b: (planes, channel * self.of.planes.channel + self.chunk.first), offsets: &self.of.planes.offsets },
            Some(offsets) => {
                copy = self.pack(x, channel)?;
                Factors { a, b: (&copy, 0), offsets }
            }
        };
        let places = problem.places();
        if let ([[0, place, whole]], false) = (&pieces[..], problem.channels_last)
            && *whole == len
        {
            let of_c = Matrix { first: filter * places + place, down: places, right: 1 };
            // SAFETY: these filters at these places belong to this block.
            return unsafe { multiply_into([rows, len], factors, y, of_c, false) };
        }
        let mut block = room::zeroed(rows * len)?;
        multiply([rows, len], factors, (&mut block, len), false)?;
        for [column, place, count] in pieces {
            match problem.channels_last {
                true => (0..count).for_each(|k| {
                    // SAFETY: these filters at this place belong to this block.
                    let to = unsafe { y.line((place + k) * problem.filters + filter, rows) };
                    let from = block.get(column + k..).unwrap_or_default().iter().step_by(len);
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                }),
                false => block.chunks(len).enumerate().for_each(|(row, line)| {
                    // SAFETY: these places of this filter belong to this block.
                    let to = unsafe { y.line((filter + row) * places + place, count) };
                    let from = line.get(column..).unwrap_or_default();
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                }),
            }
        }
        Ok(())
    }

    /// The elements of the input at the places of this block, channel after channel.
    fn pack<A: Real>(&self, x: &[A], channel: usize) -> Result<Vec<A>> {
        let (problem, len, wide) = (self.of.problem, self.chunk.len, self.of.wide);
        let places = problem.places();
        let mut all = room::with_capacity(problem.each() * wide + SLACK)?;
        for row in 0..problem.each() {
            let from = x.get((channel + row) * places + self.chunk.first..).unwrap_or_default();
            all.extend_from_slice(from.get(..len).unwrap_or_default());
            all.resize((row + 1) * wide, A::default());
        }
        all.resize(problem.each() * wide + SLACK, A::default());
        Ok(all)
    }
}
