//! The launches, as plain data.

use super::kernel::{Before, GROUP, Key, Pass};
use crate::core::error::{Error, Result};
use crate::device::tensor::{Layout, fused};
use crate::libraries::kernel::push_axes;
use crate::libraries::reductions::scans::kernel::total_size;
use crate::libraries::reductions::scans::levels::{CHUNK, parts};
use crate::libraries::reductions::scans::op::Scan;

/// A launch of blocks.
#[derive(Debug)]
pub(in crate::libraries::reductions::scans) struct Step {
    pub(in crate::libraries::reductions::scans) key: Key,
    pub(in crate::libraries::reductions::scans) grid: u32,
    pub(in crate::libraries::reductions::scans) words: Vec<u64>,
}

/// Lines that are shorter go by chunks of one thread.
const SHORTEST: usize = 5;
/// Warps of a block that share nothing.
const WARPS: usize = 4;

/// Lines of one length.
struct Lines {
    /// Over the lines, where each begins in the target and in what is read, in elements.
    loops: Vec<Layout>,
    count: usize,
    len: usize,
    /// The distances of neighbours in the target and in what is read, in elements.
    steps: [isize; 2],
    /// The sizes of their elements.
    sizes: [usize; 2],
    /// Where both begin.
    addresses: [u64; 2],
}

fn along(layout: &Layout, axis: usize) -> isize {
    layout.strides().get(axis).copied().unwrap_or(0)
}

/// The lines of an operation that was checked, if this way is for them.
fn lines(scan: &Scan, [x, output]: [u64; 2]) -> Result<Option<Lines>> {
    let is_complex = scan.dtype.is_complex();
    let (target, source) = (parts(&scan.output, is_complex)?, parts(&scan.x, is_complex)?);
    let len = source.shape().get(scan.axis).copied().unwrap_or(0);
    let steps = [along(&target, scan.axis), along(&source, scan.axis)];
    if source.is_empty() || len < SHORTEST || steps.iter().any(|step| step.unsigned_abs() != 1) {
        return Ok(None);
    }
    let others = |layout: &Layout| {
        let keep = |all: &mut dyn Iterator<Item = usize>| all.filter(|a| *a != scan.axis).collect::<Vec<usize>>();
        let axes = keep(&mut (0..layout.rank()));
        let extents: Vec<usize> = axes.iter().filter_map(|a| layout.shape().get(*a)).copied().collect();
        let strides: Vec<isize> = axes.iter().filter_map(|a| layout.strides().get(*a)).copied().collect();
        Layout::new(extents, strides, layout.offset())
    };
    let loops = fused(&[&others(&target)?, &others(&source)?]);
    let count = loops.first().map_or(0, Layout::len);
    let sizes = [scan.result_type().part().size(), scan.dtype.part().size()];
    Ok(Some(Lines { loops, count, len, steps, sizes, addresses: [output, x] }))
}

/// A launch for all lines.
fn step(scan: &Scan, lines: &Lines, (is_leaf, pass): (bool, Pass), other: u64, warps: usize) -> Result<Step> {
    let groups = lines.len.div_ceil(GROUP);
    let (groups, each) = match pass {
        Pass::Results { before: Before::Nothing, .. } => (1, 32 / lines.len.div_ceil(CHUNK).clamp(1, 32)),
        Pass::Results { before: Before::Block, .. } => (warps, 1),
        _ => (groups, 1),
    };
    let tasks = lines.count.div_ceil(each).saturating_mul(groups);
    let axes = lines.loops.first().map_or(0, Layout::rank);
    let (kind, dtype) = (scan.kind, scan.dtype.part());
    let key = Key { kind, dtype, pass, is_leaf, from_nothing: scan.exclusive, axes, warps };
    let offset = |k: usize| {
        let (layout, size) = (lines.loops.get(k), lines.sizes.get(k).copied().unwrap_or(0));
        (layout.map_or(0, Layout::offset) * size) as u64
    };
    let [target, source] = lines.addresses;
    let target = if pass == Pass::Totals { other } else { target + offset(0) };
    let [to_step, from_step] = [0, 1].map(|k| {
        let size = lines.sizes.get(k).copied().unwrap_or(0) as isize;
        (lines.steps.get(k).copied().unwrap_or(0) * size) as u64
    });
    let rows = lines.len.div_ceil(CHUNK).clamp(1, 32);
    let mut words = vec![lines.count as u64, target, source + offset(1), other, lines.len as u64];
    words.extend([to_step, from_step, groups as u64, rows as u64, each as u64]);
    push_axes(&mut words, &lines.loops.iter().zip(lines.sizes).collect::<Vec<_>>());
    let grid = u32::try_from(tasks.div_ceil(warps)).ok().filter(|grid| *grid <= i32::MAX as u32);
    let grid = grid.ok_or_else(|| Error::invalid("x", "more lines than a launch has blocks"))?;
    Ok(Step { key, grid, words })
}

/// The launches in their order, if this way is for the operation.
pub(in crate::libraries::reductions::scans) fn steps(
    scan: &Scan,
    addresses: [u64; 2],
    scratch: &mut dyn FnMut(usize) -> Result<u64>,
) -> Result<Option<Vec<Step>>> {
    let Some(mut lines) = lines(scan, addresses)? else { return Ok(None) };
    if lines.count.div_ceil(WARPS) > i32::MAX as usize {
        return Ok(None);
    }
    let size = total_size(scan.kind, scan.dtype.part())?;
    let most = if size > 4 { 4 } else { 8 };
    let (mut up, mut down, mut is_leaf) = (Vec::new(), Vec::new(), true);
    loop {
        let exclusive = !is_leaf || scan.exclusive;
        let groups = lines.len.div_ceil(GROUP);
        if groups <= most {
            let (before, warps) =
                if groups <= 1 { (Before::Nothing, WARPS) } else { (Before::Block, groups.next_power_of_two()) };
            down.push(step(scan, &lines, (is_leaf, Pass::Results { exclusive, before }), 0, warps)?);
            break;
        }
        let count = lines.count.checked_mul(groups).ok_or_else(|| Error::invalid("x", "too many elements"))?;
        let totals = scratch(count.saturating_mul(size))?;
        up.push(step(scan, &lines, (is_leaf, Pass::Totals), totals, WARPS)?);
        let pass = Pass::Results { exclusive, before: Before::Memory };
        down.push(step(scan, &lines, (is_leaf, pass), totals, WARPS)?);
        let own = Layout::new([lines.count], vec![groups as isize], 0)?;
        lines = Lines {
            loops: fused(&[&own, &own]),
            count: lines.count,
            len: groups,
            steps: [1; 2],
            sizes: [size; 2],
            addresses: [totals; 2],
        };
        is_leaf = false;
    }
    up.extend(down.into_iter().rev());
    Ok(Some(up))
}
