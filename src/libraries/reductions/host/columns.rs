//! Results that are the lanes of vectors: their chains one after the other, joined as soon as two neighbours of the tree are
//! there.

use super::super::space::{CHAINS, GROUP};
use super::direct::{LINES, STRIP, Tile, Turn};
use super::lanes::resolve;
use super::pairs::PairRun;
use super::{Level, Source, Work};
use crate::libraries::expressions::host::blocks::Array;
use crate::libraries::expressions::host::gather::{self, offset_of};
use smallvec::SmallVec;

/// How many results are treated at once.
pub(super) fn tile(results: usize) -> usize {
    results.next_multiple_of(CHAINS).min(8 * CHAINS)
}

/// Results that a loop of their own treats at once, of which each run lies without gaps.
pub(super) struct Columns {
    run: Run,
    runs: usize,
    len: usize,
    /// The tiles of a run.
    each: usize,
}

/// The loop.
pub(super) enum Run {
    One {
        run: unsafe fn(&Tile),
        turn: Turn,
        /// From an element of a result to the next one.
        step: isize,
    },
    Pair(PairRun),
}

/// Bytes of a row of a tile: a line of numbers stays in the first cache with those that it is joined to.
const WIDE: usize = 2048;

impl Columns {
    /// Of so many results, of which each run of `len` lies without gaps, of elements of `size` bytes.
    pub(super) fn new(run: Run, results: usize, len: usize, size: usize) -> Self {
        Columns { run, runs: results / len, len, each: len.div_ceil(WIDE / size) }
    }

    pub(super) fn tiles(&self) -> usize {
        self.runs * self.each
    }

    /// The first result of a tile, and the one behind its last. Tiles of a run have as many results, or one more.
    pub(super) fn tile(&self, number: usize) -> (usize, usize) {
        let (run, k) = (number / self.each, number % self.each);
        let (share, more) = (self.len / self.each, self.len % self.each);
        let begin = |k: usize| run * self.len + k * share + k.min(more);
        (begin(k), begin(k + 1))
    }
}

impl Level<'_> {
    /// The tiles of a loop of their own, if there is one.
    pub(super) fn direct_columns(&self) -> Option<Columns> {
        let (direct, [source]) = (self.direct_loop?, &self.sources[..]) else { return None };
        let (run, len) = (direct.columns?, source.kept.shape().last().copied()?);
        let (Some(1), [step]) = (source.kept.strides().last(), source.reduced.strides()) else { return None };
        if len < STRIP {
            return None;
        }
        let run = Run::One { run, turn: direct.turn, step: *step };
        Some(Columns::new(run, self.space.results, len, source.lane.size()))
    }

    /// The group of this number of a tile.
    pub(super) fn direct_column(&self, work: &mut Work, columns: &Columns, (first, end): (usize, usize), group: usize) {
        let (run, turn, step) = match &columns.run {
            Run::One { run, turn, step } => (*run, *turn, *step),
            Run::Pair(pair) => return self.pair_column(work, pair, (first, end), group),
        };
        let (Some(source), len, before) = (self.sources.first(), end - first, group * GROUP) else { return };
        work.own.resize(Self::sizes(self.slots), len);
        work.lines.resize([8; 2].into_iter(), LINES * len);
        let mut out = [std::ptr::null_mut(); 3];
        for (out, array) in out.iter_mut().zip(work.own.arrays()) {
            *out = array;
        }
        let tile = Tile {
            x: source.at(first, before),
            step,
            there: (self.space.length - before).min(GROUP),
            len,
            first: before as i64,
            turn,
            lines: [0, 1].map(|k| work.lines.array(k)),
            out,
        };
        // SAFETY: the operand has these elements of each result, which lie side by side; lines and arrays have a number of 8 bytes for
        // each, or as many as their lanes. The vectors were detected.
        unsafe { run(&tile) };
        self.store(work, group * self.space.results + first, len);
    }

    /// The values of a source for results, at one of their elements.
    fn column_of(&self, work: &mut Work, k: usize, source: &Source, (first, len): (usize, usize), at: usize) -> Array {
        let size = source.lane.size();
        let advance = size * CHAINS;
        let shift = offset_of(&source.reduced, at) - source.reduced.offset() as isize;
        if !source.base.is_null() && matches!(source.kept.strides(), [1]) && len.is_multiple_of(CHAINS) {
            let offset = (source.kept.offset() + first) as isize + shift;
            return Array { base: source.base.wrapping_offset(offset * size as isize).cast_mut(), advance };
        }
        if work.stages.len() <= k {
            work.stages.resize_with(k + 1, Default::default);
        }
        let Some(stage) = work.stages.get_mut(k) else { return Array { base: std::ptr::null_mut(), advance } };
        stage.resize([size].into_iter(), len);
        let base = stage.array(0);
        if source.base.is_null() {
            // SAFETY: the stage has a place of 8 bytes for each result.
            let dst = unsafe { std::slice::from_raw_parts_mut(base.cast::<i64>(), len) };
            gather::positions(dst, &source.kept, first);
            dst.iter_mut().for_each(|x| *x += shift as i64);
        } else {
            let from = source.base.wrapping_offset(shift * size as isize);
            // SAFETY: the operand holds this element of each result.
            unsafe { gather::gather(base, from, size, &source.kept, first, len) };
        }
        Array { base, advance }
    }

    /// The group of this number of the results `first..end`.
    pub(super) fn column(&self, work: &mut Work, first: usize, end: usize, group: usize) {
        let len = end - first;
        let chunks = len.div_ceil(CHAINS);
        let before = group * GROUP;
        let there = (self.space.length - before).min(GROUP);
        let chains = there.min(CHAINS).next_power_of_two();
        work.own.resize(Self::sizes(self.slots), len);
        work.next.resize(Self::sizes(self.slots), len);
        let mut depth = 0;
        for turn in 0..chains {
            // The tree's neighbours come one after the other: the bits of the number are turned around.
            let chain = turn.reverse_bits() >> (usize::BITS - chains.trailing_zeros()).min(usize::BITS - 1);
            let chain = if chains == 1 { 0 } else { chain };
            self.clear(&mut work.own, len);
            for at in (chain..there).step_by(CHAINS) {
                self.take(work, (first, len), before + at, chunks);
            }
            for _ in 0..turn.trailing_ones() {
                depth -= 1;
                self.join_top(work, depth, chunks);
            }
            if work.stack.len() <= depth {
                work.stack.resize_with(depth + 1, Default::default);
            }
            if let Some(top) = work.stack.get_mut(depth) {
                top.resize(Self::sizes(self.slots), len);
                std::mem::swap(top, &mut work.own);
            }
            depth += 1;
        }
        if let Some(all) = work.stack.first_mut() {
            std::mem::swap(all, &mut work.own);
        }
        self.store(work, group * self.space.results + first, len);
    }

    /// Takes one element of each result into the accumulators.
    fn take(&self, work: &mut Work, results: (usize, usize), at: usize, chunks: usize) {
        let arrays: SmallVec<[Array; 8]> =
            self.sources.iter().enumerate().map(|(k, source)| self.column_of(work, k, source, results, at)).collect();
        let other = self.elements_of(work, &arrays, results.1);
        let own = self.arrays(&mut work.own, 0);
        let numbers = [[at as u64; 8]; 8];
        let last = Array { base: numbers.as_ptr().cast_mut().cast(), advance: 0 };
        let loads = resolve(&self.fold_feeds, &own, &other, last);
        let stores = work.next.arrays();
        // SAFETY: all arrays have the chunks, and the number is one.
        unsafe { self.fold.run(&loads, &stores, chunks, &mut work.scratch) };
        std::mem::swap(&mut work.own, &mut work.next);
    }

    /// Joins the top of the stack, which comes first, and the accumulators.
    fn join_top(&self, work: &mut Work, depth: usize, chunks: usize) {
        let Some(top) = work.stack.get_mut(depth) else { return };
        let own = self.arrays(top, 0);
        let other = self.arrays(&mut work.own, 0);
        let Some(last) = own.first().copied() else { return };
        let loads = resolve(&self.join_feeds, &own, &other, last);
        let stores = work.next.arrays();
        // SAFETY: all arrays have the chunks.
        unsafe { self.join.run(&loads, &stores, chunks, &mut work.scratch) };
        std::mem::swap(&mut work.own, &mut work.next);
    }
}
