//! Some rows at a time: what the reduction has read is in a cache when the map reads it. Exponentials of softmax are kept from the sum
//! to the map, so that each is computed once; where a row is one group, it stays in the first cache until its sum is there.

use super::super::exponentials;
use super::super::host::run as reduce;
use super::super::host::spread::Normal;
use super::super::kind::ReductionKind;
use super::super::op::Reduce;
use super::super::shape::Shape;
use super::super::space::{CHAINS, GROUP};
use super::op::Rows;
use super::softmax::of_exponential;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::core::room;
use crate::core::sync::Arc;
use crate::device::tensor::Layout;
use crate::libraries::expressions::formula::{Shared, record};
use crate::libraries::expressions::host::blocks::{Array, Scratch};
use crate::libraries::expressions::op::Map;
use crate::numerics::parallel;
use smallvec::SmallVec;

/// Elements below which rows are computed at once.
const FEW: usize = 1 << 16;
/// Elements of a block at most: as many as one thread computes alone.
const MOST: usize = (1 << 15) - 1;

/// A layout as results by elements of one, and the distance between neighbouring results, if the leading axes continue each other.
fn by_result(layout: &Layout, lead: usize) -> Option<(Vec<usize>, Vec<isize>)> {
    let (extents, strides) = (layout.shape(), layout.strides());
    let (mut all, mut step) = (1usize, 0isize);
    for (n, stride) in extents.iter().zip(strides).take(lead).rev().filter(|(n, _)| **n != 1) {
        if all == 1 {
            step = *stride;
        } else if step.checked_mul(all as isize) != Some(*stride) {
            return None;
        }
        all *= n;
    }
    let rest = |k: &usize| *k >= lead;
    let extents = std::iter::once(all).chain((0..extents.len()).filter(rest).filter_map(|k| extents.get(k).copied()));
    let strides = std::iter::once(step).chain((0..strides.len()).filter(rest).filter_map(|k| strides.get(k).copied()));
    Some((extents.collect(), strides.collect()))
}

/// The operation for some of the results.
struct Part {
    reduce: Reduce,
    map: Map,
    /// Of the exponentials of rows: their largest elements, the exponentials, their sums.
    exponentials: Option<(Reduce, Map, Reduce)>,
    /// In the map's place.
    normal: Option<Normal>,
    rows: usize,
    /// From a row to the next one in the first operand, in bytes.
    step: isize,
}

/// The layouts of all operands of the map, and the axes of a row that are reduced.
struct Split {
    layouts: Vec<(Vec<usize>, Vec<isize>, usize)>,
    axes: u64,
    results: usize,
}

fn plain(shape: Arc<Shape>) -> Reduce {
    Reduce { shape, less: 0, scalars: Vec::new(), finish_scalars: Vec::new() }
}

impl Split {
    fn new(rows: &Rows) -> Option<Self> {
        let (shape, map) = (&rows.reduce.shape, &rows.map.shape);
        let target = map.outputs.first()?;
        let lead = (shape.axes.trailing_zeros() as usize).min(target.rank());
        let layouts: Option<Vec<_>> = map
            .inputs
            .iter()
            .chain([target])
            .map(|layout| by_result(layout, lead).map(|(extents, strides)| (extents, strides, layout.offset())))
            .collect();
        let results = target.shape().iter().take(lead).product();
        // All axes behind the first one that is reduced are.
        let row = 1u64.checked_shl((target.rank() - lead) as u32)?.wrapping_sub(1);
        (row > 0 && shape.axes.checked_shr(lead as u32) == Some(row)).then_some(())?;
        let axes = row << 1;
        Some(Split { layouts: layouts?, axes, results })
    }

    /// The layouts for some results.
    fn of(&self, rows: usize) -> Result<Vec<Layout>> {
        let layout = |(extents, strides, offset): &(Vec<usize>, Vec<isize>, usize)| {
            let mut extents = extents.clone();
            extents.iter_mut().take(1).for_each(|n| *n = rows);
            Layout::new(extents, strides.clone(), *offset)
        };
        self.layouts.iter().map(layout).collect()
    }

    /// From a result to the next one in each layout.
    fn step(&self, k: usize) -> isize {
        self.layouts.get(k).and_then(|(_, strides, _)| strides.first()).copied().unwrap_or(0)
    }
}

impl Part {
    fn new(all: &Rows, split: &Split, rows: usize) -> Result<Self> {
        let (shape, map) = (&all.reduce.shape, &all.map);
        let mut inputs = split.of(rows)?;
        let target: Vec<Layout> = inputs.pop().into_iter().collect();
        let ones = target.first().map_or(0, Layout::rank).saturating_sub(1);
        let output = Layout::row_major(std::iter::once(rows).chain(std::iter::repeat_n(1, ones)).collect::<Vec<_>>())?;
        let reduced: Vec<Layout> = inputs.iter().take(shape.inputs.len()).cloned().collect();
        let part = shape.part(reduced, split.axes, output);
        let mut exponentials = None;
        let mut formula = map.formula.clone();
        if exponentials::is_it(shape.kind) {
            let [largest, _] = part.exponentials()?;
            let dtype = shape.element_type()?;
            let own = exponentials::own(dtype);
            let kept = match &shape.finish {
                Some(finish) => of_exponential(dtype, &finish.0.expr, &map.formula.0.expr)?,
                None => None,
            };
            let extents = part.shape().to_vec();
            let (dense, most) = (Layout::row_major(&extents)?, part.output.broadcast(&extents)?);
            let distance = exponentials::distance(dtype)?;
            let shapes =
                [part.inputs.first().cloned().into_iter().chain([most]).collect::<Vec<_>>(), vec![dense.clone()]];
            let [read, written] = &shapes;
            let distances = distance.shape(written, read, false);
            let itself = record(&[own], |open| vec![open.input(0)])?.kept;
            let sum = part.of_kind(ReductionKind::Sum, itself, vec![dense.clone()]);
            let largest = plain(largest.clone());
            exponentials = Some((largest, Map::new(Shared(distance), Vec::new(), distances), plain(Arc::new(sum))));
            if let Some(kept) = kept {
                formula = Shared(kept);
                inputs.iter_mut().take(1).for_each(|input| *input = dense.clone());
            }
        }
        let normal = match (all.spreading.normal(shape, &formula)?, &target[..]) {
            (Some(spread), [target]) => Normal::find(spread, &inputs, target),
            _ => None,
        };
        let made = formula.0.shape(&target, &inputs, false);
        let scalars = if formula == map.formula { map.scalars.clone() } else { Vec::new() };
        let reduce = Reduce {
            shape: Arc::new(part),
            less: all.reduce.less,
            scalars: all.reduce.scalars.clone(),
            finish_scalars: all.reduce.finish_scalars.clone(),
        };
        let step = split.step(0) * shape.element_type()?.size() as isize;
        Ok(Part { reduce, map: Map::new(formula, scalars, made), exponentials, normal, rows, step })
    }

    /// Of a part of one row: whether it is one group of whole chunks, whose elements lie side by side and are computed as they are.
    fn is_group(&self) -> Result<bool> {
        let (shape, dtype) = (&self.reduce.shape, self.reduce.shape.element_type()?);
        let len = shape.inputs.first().filter(|layout| layout.is_row_major()).map_or(0, Layout::len);
        Ok(self.exponentials.is_some()
            && exponentials::own(dtype) == dtype
            && (1..=GROUP).contains(&len)
            && len.is_multiple_of(CHAINS))
    }

    /// # Safety
    /// As [`run`], from the part's first result on; `one` is of one row.
    unsafe fn run(&self, operands: &Operands<'_>, keeps: bool, one: Option<&Part>, spare: &mut Vec<u64>) -> Result<()> {
        match exponentials::own(self.reduce.shape.element_type()?) {
            // SAFETY: the caller's promise.
            DType::F64 => unsafe { self.run_of::<f64>(operands, keeps, one, spare) },
            // SAFETY: the caller's promise.
            _ => unsafe { self.run_of::<f32>(operands, keeps, one, spare) },
        }
    }

    /// The largest elements, the exponentials and their sums of as many rows as there are numbers, row by row. This part is a
    /// [group](Self::is_group).
    ///
    /// # Safety
    /// As [`run`]; nothing else uses the exponentials, of which there is one for each element.
    unsafe fn by_row<W: Copy>(&self, x: *const u8, made: *mut u8, most: &mut [W], sums: &mut [W]) -> Result<()> {
        let Some((largest, distances, sum)) = &self.exponentials else { return Ok(()) };
        let (len, offset) = self.reduce.shape.inputs.first().map_or((0, 0), |layout| (layout.len(), layout.offset()));
        let blocks = distances.formula.0.program().blocks(&distances.scalars, &[]);
        let mut scratch = Scratch::new();
        for (nth, (most, sum_of_row)) in most.iter_mut().zip(sums).enumerate() {
            let x = x.wrapping_offset(nth as isize * self.step);
            let made = made.wrapping_add(nth * len * size_of::<W>());
            // SAFETY: the row of the operand (the caller's promise), and a number of each vector.
            unsafe { reduce(largest, &[x], (&raw mut *most).cast())? };
            let chunk = [*most; CHAINS];
            let base = x.wrapping_add(offset * size_of::<W>()).cast_mut();
            let row = Array { base, advance: CHAINS * size_of::<W>() };
            let same = Array { base: chunk.as_ptr().cast_mut().cast(), advance: 0 };
            let loads: SmallVec<[Array; 2]> =
                blocks.loads().map(|load| if load.number == 0 { row } else { same }).collect();
            // SAFETY: the row is whole chunks, side by side; so are its exponentials, which are this task's alone.
            unsafe {
                blocks.run(&loads, &[made], len / CHAINS, &mut scratch);
                reduce(sum, &[made.cast_const()], (&raw mut *sum_of_row).cast())?;
            }
        }
        Ok(())
    }

    /// # Safety
    /// As [`run`](Self::run).
    unsafe fn run_of<W: Copy + Default>(
        &self,
        &Operands { sources, target, results }: &Operands<'_>,
        keeps: bool,
        one: Option<&Part>,
        spare: &mut Vec<u64>,
    ) -> Result<()> {
        let mut sources = sources.to_vec();
        // SAFETY: the caller's promise for the operands; the others are vectors of as many numbers as there are elements or results.
        unsafe {
            if let (Some((largest, distances, sum)), Some(x)) = (&self.exponentials, sources.first_mut()) {
                let len = distances.shape.outputs.first().map_or(0, Layout::len);
                room::grown(spare, len, 0)?;
                let made = spare.as_mut_ptr().cast::<u8>();
                let (mut most, mut sums) =
                    (room::filled(self.rows, W::default())?, room::filled(self.rows, W::default())?);
                match one {
                    Some(one) => one.by_row(*x, made, &mut most, &mut sums)?,
                    None => {
                        reduce(largest, &[*x], most.as_mut_ptr().cast())?;
                        distances.compute(&[*x, most.as_ptr().cast()], &[made])?;
                        reduce(sum, &[made.cast_const()], sums.as_mut_ptr().cast())?;
                    }
                }
                exponentials::finish(&self.reduce, &most, &sums, results)?;
                if keeps {
                    *x = made;
                }
            } else {
                reduce(&self.reduce, sources.get(..self.reduce.shape.inputs.len()).unwrap_or_default(), results)?;
            }
            sources.push(results.cast_const());
            match &self.normal {
                Some(normal) => normal.run(&sources, target),
                None => self.map.compute(&sources, &[target])?,
            }
            Ok(())
        }
    }
}

/// Computes the operation by blocks, if there are enough elements and its results are rows; false if nothing was done.
///
/// # Safety
/// The layouts of the operation lie inside the operands, which are aligned for their types; nothing else uses those that are written,
/// which are dense.
pub(super) unsafe fn run(rows: &Rows, sources: &[*const u8], target: *mut u8, results: *mut u8) -> Result<bool> {
    let len = rows.map.shape.outputs.first().map_or(0, Layout::len);
    let split = if len < FEW { None } else { Split::new(rows) };
    let Some(split) = split.filter(|split| split.results > 1 && len / split.results <= MOST) else { return Ok(false) };
    let block = (MOST / (len / split.results)).clamp(1, split.results);
    let part = Part::new(rows, &split, block)?;
    let may_be_group = part.exponentials.is_some() && len / split.results <= GROUP;
    let one = if may_be_group { Some(Part::new(rows, &split, 1)?) } else { None };
    let one = match &one {
        Some(one) if one.is_group()? => Some(one),
        _ => None,
    };
    let rest = split.results % block;
    let last = if rest > 0 { Some(Part::new(rows, &split, rest)?) } else { None };
    let types = rows.map.formula.0.expr.inputs();
    let sizes: Vec<usize> = types.iter().map(|dtype| dtype.size()).collect();
    let (target_size, result_size) =
        (rows.map.formula.0.expr.output_types().next().map_or(1, DType::size), rows.reduce.shape.result_type().size());
    let keeps = part.exponentials.is_some() && part.map.formula != rows.map.formula;
    let all = &Operands { sources, target, results };
    parallel::try_each_range(split.results.div_ceil(block), 1, &|range| {
        let mut spare = Vec::new();
        range.into_iter().try_for_each(|number| {
            let first = number * block;
            let own = last.as_ref().filter(|_| first + block > split.results).unwrap_or(&part);
            let shifted = |k: usize, size: usize| split.step(k) * (first * size) as isize;
            let read: Vec<*const u8> = (all.sources.iter().zip(&sizes).enumerate())
                .map(|(k, (base, size))| base.wrapping_offset(shifted(k, *size)))
                .collect();
            let target = all.target.wrapping_offset(shifted(sizes.len(), target_size));
            let results = all.results.wrapping_add(first * result_size);
            // SAFETY: the rows of this block, which lie inside the operands, and are this task's alone.
            unsafe { own.run(&Operands { sources: &read, target, results }, keeps, one, &mut spare) }
        })
    })?;
    Ok(true)
}

/// Where the operands are.
struct Operands<'o> {
    sources: &'o [*const u8],
    target: *mut u8,
    results: *mut u8,
}

// SAFETY: what is read is written by nobody, and each row and each result belong to one task.
unsafe impl Sync for Operands<'_> {}
