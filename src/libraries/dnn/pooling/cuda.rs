//! The CUDA half: kernels as plans, and their launch.

use super::kernel::{Argument, Key, write};
use super::op::Pooling;
use crate::core::error::Result;
use crate::device::tensor::{Layout, fused};
use crate::engines::cuda::PlanBuilder;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey};
use crate::libraries::kernel::{BLOCK, Loaded, Words, blocks, load};

impl PlanKey for Key {
    type Plan = Loaded<Words<Argument>>;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded<Words<Argument>>>> {
        let (text, words) = write(self)?;
        load(text, words, builder)
    }
}

/// The axes before those of the windows: of the target, and of the sources.
fn outer(op: &Pooling) -> Result<Vec<Layout>> {
    let rank = op.outer.len();
    let target = Layout::row_major(&op.outer)?;
    let before = |layout: &Layout| {
        let strides: Vec<isize> = match layout.is_empty() {
            true => vec![0; rank],
            false => layout.strides().iter().take(rank).copied().collect(),
        };
        Layout::new(&op.outer, strides, layout.offset())
    };
    let mut layouts = vec![target];
    for source in &op.sources {
        layouts.push(before(source)?);
    }
    Ok(fused(&layouts.iter().collect::<Vec<_>>()))
}

/// The kernel of an operation that was checked; none if nothing is written.
pub(super) fn key(op: &Pooling) -> Result<Option<Key>> {
    let target = op.target();
    if target.contains(&0) {
        return Ok(None);
    }
    let far = |layout: &Layout| -> u128 {
        let axes = layout.shape().iter().zip(layout.strides());
        axes.map(|(n, stride)| *n as u128 * stride.unsigned_abs() as u128).sum::<u128>() + layout.offset() as u128
    };
    let units: u128 = target.iter().map(|n| *n as u128).product();
    let farthest = op.sources.iter().map(far).max().unwrap_or(0).max(units) * 8;
    let largest = op.axes.iter().map(super::axis::Axis::largest).max().unwrap_or(0);
    Ok(Some(Key {
        pass: op.pass,
        dtype: op.dtype,
        axes: op.axes.len(),
        outer: outer(op)?.first().map_or(0, Layout::rank),
        adaptive: op.axes.iter().any(|axis| axis.adaptive),
        dilated: op.axes.iter().any(|axis| axis.dilation != 1),
        is_wide: farthest.max(largest) > 1 << 30,
    }))
}

pub(super) fn enqueue(op: &Pooling, queue: &mut Enqueue<'_, Pooling>) -> Result<()> {
    if key(op)?.is_none() {
        return Ok(());
    }
    let (outer, units) = (outer(op)?, op.target().iter().product::<usize>());
    let size = |k: usize| if k == 0 { op.dtype.size() } else { 8 };
    let targets: Vec<u64> = queue.writes().iter().map(|span| span.address()).collect();
    // What has no elements has no place. Nothing is read there.
    let place = |k: usize, span: &crate::core::buffer::AnySpan| match span.is_empty() {
        true => targets.first().copied().unwrap_or(0),
        false => span.address() + (outer.get(k + 1).map_or(0, Layout::offset) * size(k)) as u64,
    };
    let sources: Vec<u64> = queue.reads().iter().enumerate().map(|(k, span)| place(k, span)).collect();
    let stride = |layout: Option<&Layout>, axis: usize, k: usize| {
        layout.and_then(|layout| layout.strides().get(axis)).copied().unwrap_or(0) * size(k) as isize
    };
    let axis = |d: usize, of: fn(&super::axis::Axis) -> usize| op.axes.get(d).map_or(1, of);
    let word = |argument: &Argument| match *argument {
        Argument::Units => units as u64,
        Argument::Target(k) => targets.get(k).copied().unwrap_or(0),
        Argument::Source(k) => sources.get(k).copied().unwrap_or(0),
        Argument::Outer(axis) => outer.first().and_then(|l| l.shape().get(axis)).copied().unwrap_or(1) as u64,
        Argument::OuterStride(k, axis) => stride(outer.get(k + 1), axis, k) as u64,
        Argument::SourceStride(k, d) => stride(op.sources.get(k), op.outer.len() + d, k) as u64,
        Argument::Step(k, d) => {
            let times = if op.pass.is_back() { 1 } else { axis(d, |axis| axis.dilation) };
            stride(op.sources.get(k), op.outer.len() + d, k).wrapping_mul(times as isize) as u64
        }
        Argument::Input(d) => axis(d, |axis| axis.input) as u64,
        Argument::Output(d) => axis(d, |axis| axis.output) as u64,
        Argument::Window(d) => axis(d, |axis| axis.window) as u64,
        Argument::Stride(d) => axis(d, |axis| axis.stride) as u64,
        Argument::Dilation(d) => axis(d, |axis| axis.dilation) as u64,
        Argument::Before(d) => axis(d, |axis| axis.before) as u64,
        Argument::After(d) => axis(d, |axis| axis.after) as u64,
    };
    let loaded = queue.plan::<Key>(0)?;
    let mut arguments = loaded.kernel.values(word);
    // SAFETY: the kernel has as many words as the arguments. It reads what the layouts reach, which lies inside the operands (the check
    // of the operation), and writes as many elements as the targets have.
    unsafe { loaded.launch(queue, (blocks(units, BLOCK), BLOCK), &mut arguments) }
}
