//! The CUDA half: enqueues what the plan says.

use super::plan::{Axes, Axis, From, Plan};
use super::{Assign, Source};
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::device::tensor::Layout;
use crate::engines::cuda::{KernelArg, Ptx};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::Op;
use std::ffi::CStr;

static KERNELS: Ptx = Ptx::new(include_str!("kernels/assign.ptx"));

/// Threads of a block; what the tiles of `turn` are made for.
const BLOCK: u32 = 256;
/// Enough blocks to fill any GPU. A thread goes on to further elements.
const MOST_BLOCKS: usize = 1 << 20;
/// What the kernels count with 32 bits stays below this.
const MOST: usize = 1 << 31;

/// The kernels for units of 1, 2, 4, 8 and 16 bytes.
const WALK: [&CStr; 5] = [c"walk_1", c"walk_2", c"walk_4", c"walk_8", c"walk_16"];
const WALK_TABLE: [&CStr; 5] = [c"walk_table_1", c"walk_table_2", c"walk_table_4", c"walk_table_8", c"walk_table_16"];
const TURN: [&CStr; 5] = [c"turn_1", c"turn_2", c"turn_4", c"turn_8", c"turn_16"];

/// The side of a tile of `turn`, in units of `unit` bytes.
const fn side(unit: usize) -> usize {
    if unit <= 4 { 64 } else { 32 }
}

pub(super) fn enqueue(op: &Assign, queue: &mut Enqueue<'_, Assign>) -> Result<()> {
    let missing = || Error::library("internal error: an operand is missing");
    let size = op.dtype.size();
    let operand = queue.writes().first().ok_or_else(missing)?;
    if op.target.is_empty() {
        return Ok(());
    }
    // Inside the operands: the check of the operation has compared their lengths with the layouts.
    let address = |base: u64, layout: &Layout| base + (layout.offset() * size) as u64;
    let to = address(operand.address(), &op.target);
    match &op.source {
        Source::Layout(layout) => {
            let from = address(queue.reads().first().ok_or_else(missing)?.address(), layout);
            let plan = Plan::new(size, (&op.target, to), (layout, From::Elements(from)));
            // SAFETY: two operands, which hold the layouts (checked); the target's elements differ (checked), and no operand
            // that is written is also read.
            unsafe { run(queue, plan, to, from) }
        }
        Source::Value(bytes) if op.target.len() == operand.len() => {
            // SAFETY: all elements of an operand.
            unsafe { queue.fill(operand.address(), operand.len(), bytes.get(..size).unwrap_or_default()) }
        }
        Source::Value(bytes) => {
            let from = queue.scratch(bytes.len())?;
            // SAFETY: 16 bytes of scratch.
            unsafe { queue.fill(from, 1, bytes) }?;
            let plan = Plan::new(size, (&op.target, to), (&op.target.broadcast_of_one()?, From::Value));
            // SAFETY: as above; of the scratch, one unit of at most 16 bytes is read.
            unsafe { run(queue, plan, to, from) }
        }
    }
}

/// # Safety
/// What the plan reads from `from` on and writes from `to` on lies in memory that this dispatch may read and write; nothing is
/// both or is written twice.
pub(crate) unsafe fn run<O: Op>(queue: &mut Enqueue<'_, O>, plan: Plan, to: u64, from: u64) -> Result<()> {
    match plan {
        // SAFETY: the caller's promise.
        Plan::Flat(bytes) => unsafe { queue.copy(to, from, bytes) },
        Plan::Pieces { rows, cols, to: to_pitch, from: from_pitch } => {
            // SAFETY: the caller's promise.
            unsafe { queue.copy_columns((to, to_pitch), (from, from_pitch), rows, cols) }
        }
        Plan::Turn { unit, a, b, mut rest } => {
            let tiles = a.n.div_ceil(side(unit)).checked_mul(b.n.div_ceil(side(unit)));
            let blocks = tiles.and_then(|tiles| tiles.checked_mul(count(&rest)?));
            let Some(blocks) = blocks.filter(|blocks| *blocks < MOST && a.n < MOST && b.n < MOST) else {
                rest.extend([b, a]);
                // SAFETY: the caller's promise: the same elements.
                return unsafe { walk(queue, unit, &rest, to, from) };
            };
            let mut args = vec![from.into(), to.into(), a.n.into(), b.n.into(), step(a.from), step(b.to)];
            args.extend([KernelArg::from(count(&rest).unwrap_or(0)), rest.len().into()]);
            push_axes::<6>(&mut args, &rest);
            // SAFETY: the arguments are the kernel's parameters in order and type; what it reads and writes is the plan's.
            unsafe { queue.launch(&KERNELS, for_unit(TURN, unit), dims(blocks), &args) }
        }
        // SAFETY: the caller's promise.
        Plan::Walk { unit, axes } => unsafe { walk(queue, unit, &axes, to, from) },
    }
}

/// # Safety
/// As [`run`], for these axes.
unsafe fn walk<O: Op>(queue: &mut Enqueue<'_, O>, unit: usize, axes: &Axes, to: u64, from: u64) -> Result<()> {
    let total = count(axes).ok_or_else(|| Error::invalid("target", "more elements than `usize` can count"))?;
    let grid = dims(total.div_ceil(BLOCK as usize));
    let mut args: Vec<KernelArg> = vec![from.into(), to.into(), total.into()];
    if axes.len() > 8 || total >= MOST {
        let axes_of = |axis: &Axis| [axis.n as u64, axis.from as u64, axis.to as u64];
        let table = queue.table(|words| words.extend(axes.iter().rev().flat_map(axes_of)))?;
        args.extend([KernelArg::from(table), axes.len().into()]);
        // SAFETY: the arguments are the kernel's parameters in order and type; the table has three words for each axis, and is
        // kept until the work is done.
        return unsafe { queue.launch(&KERNELS, for_unit(WALK_TABLE, unit), grid, &args) };
    }
    args.push(axes.len().into());
    push_axes::<8>(&mut args, axes);
    // SAFETY: the arguments are the kernel's parameters in order and type; what it reads and writes is the plan's.
    unsafe { queue.launch(&KERNELS, for_unit(WALK, unit), grid, &args) }
}

/// The extents, the steps of the source and those of the target, the fastest axis first, filled up to `N`.
fn push_axes<const N: usize>(args: &mut Vec<KernelArg>, axes: &Axes) {
    let axis = |i: usize| axes.iter().rev().nth(i).copied().unwrap_or(Axis { n: 1, to: 0, from: 0 });
    args.extend((0..N).map(|i| KernelArg::from(axis(i).n)));
    args.extend((0..N).map(|i| step(axis(i).from)));
    args.extend((0..N).map(|i| step(axis(i).to)));
}

fn step(step: isize) -> KernelArg {
    (step as i64).into()
}

fn count(axes: &Axes) -> Option<usize> {
    axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.n))
}

fn dims(blocks: usize) -> LaunchDims {
    LaunchDims { grid: (blocks.clamp(1, MOST_BLOCKS) as u32, 1, 1), block: (BLOCK, 1, 1), shared: 0 }
}

/// The kernel for units of so many bytes.
fn for_unit(kernels: [&'static CStr; 5], unit: usize) -> &'static CStr {
    let place = unit.trailing_zeros() as usize;
    kernels.get(place).copied().unwrap_or_default()
}
