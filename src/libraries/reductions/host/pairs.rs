//! Sums from which elements are normalised, by loops of their own: which operand of the formula is where.

use super::super::pairs::{Summed, Taken};
use super::super::recipe::wide;
use super::super::shape::Shape;
use super::super::space::{CHAINS, GROUP};
use super::columns::{Columns, Run};
use super::direct::pairs::{Group, Tile};
use super::direct::{LINES, PairLoops, STRIP, find_pairs};
use super::lanes::splat;
use super::{Level, Source, Work};
use crate::core::element::DType;
use crate::core::error::Result;
use crate::libraries::expressions::host::blocks::Blocks;
use crate::libraries::expressions::host::gather::{self, offset_of};
use crate::libraries::expressions::low::Lane;
use crate::libraries::expressions::low::lower::stored;
use half::{bf16, f16};

/// Where the elements of an operand are.
#[derive(Clone, Copy)]
enum Feed {
    /// Side by side.
    Near(usize),
    /// One for all elements of a result.
    Same(usize),
    /// Elsewhere.
    Apart(usize),
    /// Nowhere: these bits are each of them.
    Number(u64),
}

/// The loops with the operands.
pub(super) struct Pairs {
    loops: PairLoops,
    /// Elements, gradients, weights, means and inverse deviations, and their lanes.
    operands: [(Feed, Lane); 5],
    is_single: bool,
}

/// The bits of 1.
fn one(dtype: DType) -> u64 {
    match dtype {
        DType::F16 => f16::ONE.to_bits().into(),
        DType::Bf16 => bf16::ONE.to_bits().into(),
        DType::F32 => 1f32.to_bits().into(),
        _ => 1f64.to_bits(),
    }
}

impl Pairs {
    /// The loops of a reduction, if there are any.
    pub(super) fn find(shape: &Shape, element: &Blocks<'_>, sources: &[Source]) -> Result<Option<Self>> {
        let Some(pair) = shape.pair()? else { return Ok(None) };
        let Some(loops) = find_pairs(pair) else { return Ok(None) };
        let (dtype, own) = (pair.dtype, wide(pair.dtype));
        // An operand by an input of the formula and its part. What is not there changes nothing: a mean is 0, the others are 1.
        let feed = |input: Option<(usize, usize)>, dtype: DType, number: u64| {
            let lane = stored(dtype);
            let Some(input) = input else { return Some((Feed::Number(number), lane)) };
            let k = element.loads().position(|load| (load.number, load.part) == input)?;
            let source = sources.get(k).filter(|source| source.lane == lane && !source.base.is_null())?;
            Some((source.feed(k), lane))
        };
        let is_squares = pair.summed == Summed::Squares;
        let weight = (pair.summed == Summed::Gradients { weight: true }).then_some((3, 0));
        let mean = (pair.taken == Taken::Moments && !is_squares).then_some((2, 0));
        let (Some(x), Some(dy), Some(weight), Some(mean), Some(inverse)) = (
            feed(Some((0, 0)), dtype, 0),
            feed(Some(if is_squares { (0, 0) } else { (1, 0) }), dtype, 0),
            feed(weight, dtype, one(dtype)),
            feed(mean, own, 0),
            feed((!is_squares).then_some((2, 1)), own, one(own)),
        ) else {
            return Ok(None);
        };
        Ok(Some(Pairs { loops, operands: [x, dy, weight, mean, inverse], is_single: pair.is_single() }))
    }
}

impl Source {
    fn feed(&self, k: usize) -> Feed {
        if self.reduced.strides().iter().all(|stride| *stride == 0) {
            Feed::Same(k)
        } else if self.reduced.is_row_major() {
            Feed::Near(k)
        } else {
            Feed::Apart(k)
        }
    }
}

impl Level<'_> {
    /// The accumulators of the groups `start..end`.
    pub(super) fn pair_rows(&self, work: &mut Work, start: usize, end: usize, pairs: &Pairs) {
        let (count, groups, longest) = (end - start, self.space.groups(), self.space.length.min(GROUP));
        let room = |(feed, _): &(Feed, Lane)| match feed {
            Feed::Near(_) => 0,
            Feed::Same(_) | Feed::Number(_) => 8,
            Feed::Apart(_) => 8 * longest.div_ceil(CHAINS),
        };
        // Chunks of 64 numbers.
        work.lines.resize(pairs.operands.iter().map(room), 0);
        work.own.resize(Self::sizes(self.slots), count);
        let [sums, products] = self.of_pairs(work, pairs.is_single);
        let mut steps = [0; 5];
        for (step, (feed, _)) in steps.iter_mut().zip(&pairs.operands) {
            *step = if matches!(feed, Feed::Near(_) | Feed::Apart(_)) { CHAINS } else { 0 };
        }
        for task in start..end {
            let (result, first) = (task / groups, task % groups * GROUP);
            let len = (self.space.length - first).min(GROUP);
            let mut operands = [std::ptr::null(); 5];
            for (k, (operand, (feed, lane))) in operands.iter_mut().zip(&pairs.operands).enumerate() {
                *operand = self.operand(work.lines.array(k), *feed, *lane, (result, first, len));
            }
            let nth = task - start;
            let out = [sums.0.wrapping_add(nth * sums.1), products.0.wrapping_add(nth * products.1)];
            // SAFETY: each operand has the elements of the group, side by side or in the lines, or a chunk of the one that all have;
            // the arrays have a number for each task. The vectors were detected.
            unsafe { (pairs.loops.rows)(&Group { operands, steps, len, out }) };
        }
        self.store(work, start, count);
    }

    /// The arrays of the two accumulators with the sizes of their numbers; null and 0 for one that is not there.
    fn of_pairs(&self, work: &mut Work, is_single: bool) -> [(*mut u8, usize); 2] {
        let size = self.slots.first().map_or(0, |(.., lane)| lane.size());
        match is_single {
            true => [(std::ptr::null_mut(), 0), (work.own.array(0), size)],
            false => [(work.own.array(0), size), (work.own.array(1), size)],
        }
    }

    /// The elements of a group: where they are, or in memory that was made for them.
    fn operand(&self, made: *mut u8, feed: Feed, lane: Lane, (result, first, len): (usize, usize, usize)) -> *const u8 {
        let (size, source) = match feed {
            Feed::Near(k) | Feed::Same(k) | Feed::Apart(k) => (lane.size(), self.sources.get(k)),
            Feed::Number(_) => (lane.size(), None),
        };
        let number = match (feed, source) {
            (Feed::Near(_), Some(source)) => {
                let offset = offset_of(&source.kept, result) + first as isize;
                return source.base.wrapping_offset(offset * size as isize);
            }
            (Feed::Apart(_), Some(source)) => {
                let shift = offset_of(&source.kept, result) - source.reduced.offset() as isize;
                let from = source.base.wrapping_offset(shift * size as isize);
                // SAFETY: the operand holds all elements of the result, and the lines have a place for each of a group.
                unsafe { gather::gather(made, from, size, &source.reduced, first, len) };
                return made;
            }
            (_, Some(source)) => {
                let from = source.base.wrapping_offset(offset_of(&source.kept, result) * size as isize);
                let mut bits = [0u8; 8];
                // SAFETY: the operand holds the element, of so many bytes and at most 8.
                unsafe { std::ptr::copy_nonoverlapping(from, bits.as_mut_ptr(), size) };
                u64::from_le_bytes(bits)
            }
            (Feed::Number(bits), _) => bits,
            _ => 0,
        };
        // SAFETY: the lines have a chunk of 64 numbers, of at most 8 bytes, for the operand.
        unsafe { std::slice::from_raw_parts_mut(made.cast::<[u64; 8]>(), size) }.fill(splat(lane, number));
        made
    }

    /// The tiles of a loop for results that lie side by side and have the same mean and inverse deviation, if there is one.
    pub(super) fn pair_columns(&self) -> Option<Columns> {
        let pairs = self.pairs.as_ref()?;
        let (run, [x, dy, weight, mean, inverse]) = (pairs.loops.columns?, pairs.operands);
        let len = self.sources.first()?.kept.shape().last().copied()?;
        if len < STRIP || !matches!(weight, (Feed::Number(_), _)) {
            return None;
        }
        let operand = |(feed, _): (Feed, Lane), stride: isize| match feed {
            Feed::Number(0) => Some((None, 0)),
            Feed::Number(_) => None,
            Feed::Near(k) | Feed::Same(k) | Feed::Apart(k) => {
                let source = self.sources.get(k)?;
                let [step] = source.reduced.strides() else { return None };
                (source.kept.strides().last() == Some(&stride)).then_some((Some(k), *step))
            }
        };
        let operands = [operand(x, 1)?, operand(dy, 1)?, operand(mean, 0)?, operand(inverse, 0)?];
        Some(Columns::new(
            Run::Pair(PairRun { run, operands, is_single: pairs.is_single }),
            self.space.results,
            len,
            inverse.1.size(),
        ))
    }

    /// The group of this number of a tile.
    pub(super) fn pair_column(&self, work: &mut Work, pairs: &PairRun, (first, end): (usize, usize), group: usize) {
        // Of no mean: 0 of each type.
        const NOTHING: &u64 = &0;
        let (len, before) = (end - first, group * GROUP);
        work.own.resize(Self::sizes(self.slots), len);
        work.lines.resize([8; 2].into_iter(), LINES * len.next_multiple_of(STRIP));
        let [sums, products] = self.of_pairs(work, pairs.is_single);
        let nothing = std::ptr::from_ref(NOTHING).cast();
        let at =
            |k: Option<usize>| k.and_then(|k| self.sources.get(k)).map_or(nothing, |source| source.at(first, before));
        let [x, dy, mean, inverse] = pairs.operands;
        let tile = Tile {
            operands: [at(x.0), at(dy.0), at(mean.0), at(inverse.0)],
            steps: [x.1, dy.1, mean.1, inverse.1],
            there: (self.space.length - before).min(GROUP),
            len,
            lines: [work.lines.array(0), work.lines.array(1)],
            out: [sums.0, products.0],
        };
        // SAFETY: the operands have these elements of each result, which lie side by side, or one for all results; lines and arrays have
        // a number of 8 bytes for each, or as many as their lanes. The vectors were detected.
        unsafe { (pairs.run)(&tile) };
        self.store(work, group * self.space.results + first, len);
    }
}

/// Results of a loop.
pub(super) struct PairRun {
    run: unsafe fn(&Tile),
    /// Elements, gradients, means and inverse deviations: the source, if there is one, and from an element of a result to the next one.
    operands: [(Option<usize>, isize); 4],
    is_single: bool,
}
