//! The host half: the levels of the tree, one after the other, each on all threads.
//!
//! A level makes the accumulators of groups from elements, or from those of the groups before. Where the elements of a result lie
//! side by side a vector holds the chains of a group (`rows.rs`), where results do it holds a chain of each of them
//! (`columns.rs`). The bits are the same. `lanes.rs` keeps the arrays. Both run programs, step by step; for elements that are read as
//! they are, of the usual types and kinds, and for normalisation (its sums in `pairs.rs`, what is made of them in `spread.rs`), `direct/` has loops of its own.

mod columns;
mod direct;
mod lanes;
// Under Miri there are no vectors, and so none of these loops.
#[cfg(test)]
#[cfg(not(miri))]
mod pair_tests;
mod pairs;
mod rows;
pub(super) mod spread;
#[cfg(test)]
mod tests;

use super::kind::ReductionKind;
use super::op::Reduce;
use super::recipe::Recipe;
use super::space::{CHAINS, GROUP, Space};
use crate::core::element::DType;
use crate::core::error::{Error, Result};
use crate::core::room;
use crate::device::tensor::Layout;
use crate::libraries::expressions::Scalar;
use crate::libraries::expressions::host::blocks::{Array, Blocks, Scratch};
use crate::libraries::expressions::host::gather::{self, offset_of};
use crate::libraries::expressions::host::in_parts;
use crate::libraries::expressions::low::Lane;
use crate::numerics::parallel;
use direct::Direct;
use lanes::{Feed, Lanes, Slots, feeds, resolve, slots, splat};
use pairs::Pairs;
use smallvec::SmallVec;

/// A part of an operand that is read.
struct Source {
    /// Of the element of offset 0; null for positions.
    base: *const u8,
    lane: Lane,
    /// Over the results.
    kept: Layout,
    /// Over the elements of a result, from the one that comes first in memory.
    reduced: Layout,
}

/// A part of what is written.
struct Target {
    base: *mut u8,
    size: usize,
    layout: Layout,
}

/// What makes results of accumulators.
struct Finish<'a> {
    blocks: Blocks<'a>,
    feeds: Vec<Feed>,
    count: [u64; 8],
    /// The caller's formula.
    after: Option<Blocks<'a>>,
}

/// A level of the tree.
struct Level<'a> {
    space: &'a Space,
    sources: Vec<Source>,
    /// Makes elements of the sources, if these are no accumulators.
    element: Option<Blocks<'a>>,
    /// The sources that are the parts of an element, if nothing is to be computed.
    direct: Option<Vec<usize>>,
    x: Slots,
    slots: &'a Slots,
    fold: Blocks<'a>,
    fold_feeds: Vec<Feed>,
    join: Blocks<'a>,
    join_feeds: Vec<Feed>,
    identity: Vec<[u64; 8]>,
    finish: Option<Finish<'a>>,
    targets: Vec<Target>,
    positional: bool,
    direct_loop: Option<Direct>,
    pairs: Option<Pairs>,
}

// SAFETY: the pointers are to inputs, which nothing writes, and to outputs, each of which belongs to one task of one thread.
unsafe impl Sync for Level<'_> {}

/// Memory of one thread.
#[derive(Default)]
struct Work {
    stages: Vec<Lanes>,
    x: Lanes,
    own: Lanes,
    next: Lanes,
    stack: Vec<Lanes>,
    numbers: Lanes,
    lines: Lanes,
    results: Lanes,
    after: Lanes,
    scratch: Scratch,
}

/// A part of a level's work, by its number.
type Task<'t> = dyn Fn(&mut Work, usize) + Sync + 't;

/// Elements below which a second thread costs more than it gains.
const PARALLEL: usize = 1 << 15;

fn missing() -> Error {
    Error::library("internal error: an operand is missing")
}

/// The same steps over the reduced axes, in units of a part, as a layout that begins at the lowest element.
fn walked(space: &Space, strides: &[isize], dtype: DType) -> Result<Layout> {
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let strides: SmallVec<[isize; 4]> = strides.iter().map(|stride| stride * parts).collect();
    let below =
        |(n, stride): (&usize, &isize)| if *stride < 0 { n.saturating_sub(1) * stride.unsigned_abs() } else { 0 };
    let offset = space.reduced.iter().zip(&strides).map(below).sum();
    Layout::new(&space.reduced, strides, offset)
}

/// Reduces a few elements of one operand, side by side, whose accumulator is the result, by a loop of their own: without the levels, which
/// cost more than that. False if they are not such.
///
/// # Safety
/// As [`run`].
unsafe fn few(reduce: &Reduce, space: &Space, inputs: &[*const u8], output: *mut u8) -> bool {
    let (shape, dtype) = (&reduce.shape, reduce.shape.result_type());
    let is_kind = matches!(shape.kind, ReductionKind::Sum | ReductionKind::Max | ReductionKind::Min);
    let is_plain = matches!(dtype, DType::F32 | DType::F64) && shape.formula.0.expr.inputs() == [dtype];
    let is_small = space.length > 0 && space.results.saturating_mul(space.length) <= GROUP;
    let ([x], [walk]) = (inputs, &space.walks[..]) else { return false };
    if !is_kind || !is_plain || !is_small || shape.finish.is_some() || walk.reduced[..] != [1] {
        return false;
    }
    let Some(direct) = direct::find(shape).filter(|direct| !direct.is_computed) else { return false };
    let size = dtype.size() as isize;
    for result in 0..space.results {
        let x = x.wrapping_offset(offset_of(&walk.kept, result) * size);
        let to = output.wrapping_offset(offset_of(&space.output, result) * size);
        let out = [to, std::ptr::null_mut(), std::ptr::null_mut()];
        // SAFETY: the operands hold the elements of the result, which are neighbours, and the result; they are aligned (the caller's
        // promise). The vectors were detected.
        unsafe { (direct.rows)(&direct::Group { x, len: space.length, first: 0, turn: direct.turn, out }) };
    }
    true
}

/// Computes the reduction.
///
/// # Safety
/// The layouts of the operation lie inside the operands, which are aligned for their types; the elements of the output are
/// distinct and nothing else uses them.
pub(super) unsafe fn run(reduce: &Reduce, inputs: &[*const u8], output: *mut u8) -> Result<()> {
    let prepared = reduce.shape.prepared()?;
    // SAFETY: the caller's promise.
    if unsafe { few(reduce, &prepared.space, inputs, output) } {
        return Ok(());
    }
    let (recipe, mut space) = (&prepared.recipe, prepared.space.clone());
    let slots = slots(&recipe.accumulators);
    let expr = &prepared.element.expr;
    let extents = reduce.shape.shape();
    let element = prepared.element.program().blocks(&reduce.scalars, extents);
    let mut sources = Vec::new();
    for load in element.loads() {
        let (walk, base, dtype) = if load.is_position {
            let nth = expr.positions().iter().position(|axis| usize::from(*axis) == load.number).unwrap_or(0);
            (space.walks.get(expr.inputs().len() + nth), std::ptr::null(), DType::I64)
        } else {
            let dtype = expr.inputs().get(load.number).copied().unwrap_or(DType::U8);
            (space.walks.get(load.number), inputs.get(load.number).copied().ok_or_else(missing)?, dtype)
        };
        let walk = walk.ok_or_else(missing)?;
        let kept = in_parts(&walk.kept, dtype, load.part)?;
        sources.push(Source { base, lane: load.lane, kept, reduced: walked(&space, &walk.reduced, dtype)? });
    }
    let mut element = Some(element);
    let mut partials: Vec<Vec<[u64; 8]>>;
    loop {
        let (tasks, is_last) = (space.results * space.groups(), space.groups() == 1);
        let mut next: Vec<Vec<[u64; 8]>> = Vec::new();
        let mut targets = Vec::new();
        if is_last {
            let dtype = reduce.shape.result_type();
            for part in 0..if dtype.is_complex() { 2 } else { 1 } {
                let size = dtype.part().size();
                targets.push(Target { base: output, size, layout: in_parts(&space.output, dtype, part)? });
            }
        } else {
            for (.., lane) in &slots {
                let mut data: Vec<[u64; 8]> = room::zeroed((tasks * lane.size()).div_ceil(64))?;
                let layout = Layout::row_major([tasks])?;
                targets.push(Target { base: data.as_mut_ptr().cast(), size: lane.size(), layout });
                next.push(data);
            }
        }
        let by_result = by_result(&space);
        let level = Level::new(reduce, recipe, &space, &slots, element.take(), sources, targets)?;
        level.go(by_result);
        drop(level);
        if is_last {
            return Ok(());
        }
        partials = next;
        let groups = space.of_groups(slots.len(), by_result)?;
        sources = Vec::new();
        for ((walk, data), (.., lane)) in groups.walks.iter().zip(&partials).zip(&slots) {
            let reduced = walked(&groups, &walk.reduced, DType::U8)?;
            sources.push(Source { base: data.as_ptr().cast(), lane: *lane, kept: walk.kept.clone(), reduced });
        }
        space = groups;
    }
}

/// Whether a vector holds results, not chains.
fn by_result(space: &Space) -> bool {
    space.is_by_result(CHAINS / 2, CHAINS / 4)
}

fn identity_of(recipe: &Recipe, slots: &Slots, is_empty: bool) -> Vec<[u64; 8]> {
    let values: &[Scalar] = if is_empty { &recipe.empty } else { &recipe.identity };
    let of = |(k, part, lane): &(usize, usize, Lane)| {
        let words = values.get(*k).map_or([0; 2], |scalar| scalar.words());
        splat(*lane, words.get(*part).copied().unwrap_or(0))
    };
    slots.iter().map(of).collect()
}

impl<'a> Level<'a> {
    fn new(
        reduce: &'a Reduce,
        recipe: &'a Recipe,
        space: &'a Space,
        slots: &'a Slots,
        element: Option<Blocks<'a>>,
        sources: Vec<Source>,
        targets: Vec<Target>,
    ) -> Result<Self> {
        let accumulators = recipe.accumulators.len();
        let join = recipe.join.program().blocks(&[], &[]);
        let join_feeds = feeds(&join, slots, slots, accumulators, accumulators);
        let is_leaf = element.is_some();
        let fold =
            if is_leaf { recipe.step.program().blocks(&[], &[]) } else { recipe.join.program().blocks(&[], &[]) };
        let prepared = reduce.shape.prepared()?;
        let x = if is_leaf {
            self::slots(&prepared.element.expr.output_types().collect::<Vec<_>>())
        } else {
            slots.clone()
        };
        let others = if is_leaf { 1 } else { accumulators };
        let fold_feeds = feeds(&fold, slots, &x, accumulators, others);
        let direct = match &element {
            Some(element) => element.moved(),
            None => Some((0..slots.len()).collect()),
        };
        let pairs = match &element {
            Some(element) if space.length > 0 => Pairs::find(&reduce.shape, element, &sources)?,
            _ => None,
        };
        let mut finish = None;
        if space.groups() == 1 {
            let blocks = recipe.finish.program().blocks(&[], &[]);
            let after = reduce.shape.finish.as_ref().map(|kept| kept.0.program().blocks(&reduce.finish_scalars, &[]));
            let (lane, bits) = reduce.count_bits(recipe);
            let feeds = feeds(&blocks, slots, slots, accumulators, 0);
            finish = Some(Finish { blocks, feeds, count: splat(lane, bits), after });
        }
        Ok(Level {
            space,
            sources,
            element,
            direct,
            x,
            slots,
            fold,
            fold_feeds,
            join,
            join_feeds,
            identity: identity_of(recipe, slots, is_leaf && space.length == 0),
            finish,
            targets,
            positional: is_leaf && recipe.is_positional,
            direct_loop: if is_leaf && space.length > 0 { direct::find(&reduce.shape) } else { None },
            pairs,
        })
    }

    /// Runs all tasks.
    fn go(&self, by_result: bool) {
        let (results, groups) = (self.space.results, self.space.groups());
        let elements = results.saturating_mul(self.space.length.max(1));
        let (count, run): (usize, &Task<'_>) =
            if let (true, Some(columns)) = (by_result, self.direct_columns().or_else(|| self.pair_columns())) {
                (columns.tiles() * groups, &move |work, k| {
                    let (first, end) = columns.tile(k % columns.tiles());
                    self.direct_column(work, &columns, (first, end), k / columns.tiles());
                })
            } else if by_result {
                let tile = columns::tile(results);
                let tiles = results.div_ceil(tile);
                (tiles * groups, &move |work, k| {
                    let first = k % tiles * tile;
                    self.column(work, first, results.min(first + tile), k / tiles);
                })
            } else {
                let (tasks, block) = (results * groups, rows::block(self.space.length));
                (tasks.div_ceil(block), &move |work, k| self.rows(work, k * block, tasks.min((k + 1) * block)))
            };
        if elements < PARALLEL || rayon::current_num_threads() == 1 {
            let mut work = Work::default();
            (0..count).for_each(|k| run(&mut work, k));
        } else {
            parallel::each_range(count, 1, &|range| {
                let mut work = Work::default();
                range.for_each(|k| run(&mut work, k));
            });
        }
    }

    fn sizes(slots: &Slots) -> impl Iterator<Item = usize> {
        slots.iter().map(|(.., lane)| lane.size())
    }

    /// Fills accumulators with the identity.
    fn clear(&self, lanes: &mut Lanes, len: usize) {
        for (k, ((.., lane), value)) in self.slots.iter().zip(&self.identity).enumerate() {
            let count = (len * lane.size()).div_ceil(64);
            // SAFETY: the array has `len` elements and a chunk more, and begins at a multiple of 64 bytes of its memory, whose
            // elements are of 64 bytes.
            unsafe { std::slice::from_raw_parts_mut(lanes.array(k).cast::<[u64; 8]>(), count) }.fill(*value);
        }
    }

    /// The accumulators as arrays, from element `from` on.
    fn arrays(&self, lanes: &mut Lanes, from: usize) -> SmallVec<[Array; 4]> {
        let array = |(k, (.., lane)): (usize, &(usize, usize, Lane))| Array {
            base: lanes.array(k).wrapping_add(from * lane.size()),
            advance: lane.size() * CHAINS,
        };
        self.slots.iter().enumerate().map(array).collect()
    }

    /// Writes the accumulators, or the results, of tasks `first..first + len`, which are side by side in `own`.
    fn store(&self, work: &mut Work, first: usize, len: usize) {
        let mut arrays = work.own.arrays();
        if let Some(finish) = &self.finish {
            let chunks = len.div_ceil(CHAINS);
            let own = self.arrays(&mut work.own, 0);
            let count = Array { base: finish.count.as_ptr().cast_mut().cast(), advance: 0 };
            // The number is read as a chunk.
            let counts: [[u64; 8]; 8] = [finish.count; 8];
            let count = Array { base: counts.as_ptr().cast_mut().cast(), ..count };
            let loads = resolve(&finish.feeds, &own, &own, count);
            work.results.resize(finish.blocks.stores().map(Lane::size), len);
            arrays = work.results.arrays();
            // SAFETY: the arrays have the chunks; the number is one chunk of the widest lane.
            unsafe { finish.blocks.run(&loads, &arrays, chunks, &mut work.scratch) };
            if let Some(after) = &finish.after {
                let lanes: SmallVec<[Lane; 2]> = finish.blocks.stores().collect();
                let load = |k: usize| Array {
                    base: arrays.get(k).copied().unwrap_or(std::ptr::null_mut()),
                    advance: CHAINS * lanes.get(k).map_or(1, |lane| lane.size()),
                };
                let loads: SmallVec<[Array; 2]> = after.loads().map(|operand| load(operand.part)).collect();
                work.after.resize(after.stores().map(Lane::size), len);
                let results = work.after.arrays();
                // SAFETY: as above.
                unsafe { after.run(&loads, &results, chunks, &mut work.scratch) };
                arrays = results;
            }
        }
        for (target, array) in self.targets.iter().zip(arrays) {
            // SAFETY: the target holds its layout, whose elements are distinct; this task is the only one with these.
            unsafe { gather::scatter(target.base, array.cast_const(), target.size, &target.layout, first, len) };
        }
    }
}

const _: () = assert!(CHAINS == crate::libraries::expressions::host::CHUNK && GROUP.is_multiple_of(CHAINS));
