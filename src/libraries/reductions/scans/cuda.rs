//! The CUDA half: up the levels for the totals of chunks, and down again for the results, one kernel each; or the launches of `lines/`.

use super::kernel::{Key, Pass, total_size};
use super::levels::{Level, levels};
use super::lines::{self, steps};
use super::op::Scan;
use crate::core::error::Result;
use crate::device::tensor::Layout;
use crate::engines::cuda::PlanBuilder;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey, Prepare};
use crate::libraries::kernel::{Loaded, blocks, load, push_axes};

/// Threads of a block.
const BLOCK: u32 = 128;

impl PlanKey for Key {
    type Plan = Loaded;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded>> {
        load(self.text()?, (), builder)
    }
}

impl PlanKey for lines::Key {
    type Plan = Loaded;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded>> {
        load(self.text()?, (), builder)
    }
}

/// The launches in their order: the number of the level, and the kernel.
fn launches(scan: &Scan, levels: &[Level]) -> Vec<(usize, Key)> {
    let last = levels.len().saturating_sub(1);
    let key = |k: usize, level: &Level, pass: Pass| {
        let key = Key {
            kind: scan.kind,
            dtype: scan.dtype.part(),
            pass,
            is_leaf: k == 0,
            from_nothing: scan.exclusive,
            axes: level.loops.first().map_or(0, Layout::rank),
        };
        (k, key)
    };
    let up = levels.iter().enumerate().take(last).map(|(k, level)| key(k, level, Pass::Totals));
    let down =
        levels.iter().enumerate().rev().map(|(k, level)| {
            key(k, level, Pass::Results { exclusive: k > 0 || scan.exclusive, has_before: k < last })
        });
    up.chain(down).collect()
}

/// Requests the kernels of an operation that was checked.
pub(super) fn prepare(scan: &Scan, plans: &mut Prepare<'_>) {
    match steps(scan, [0; 2], &mut |_| Ok(0)) {
        Ok(Some(steps)) => steps.iter().for_each(|step| plans.plan(&step.key)),
        Ok(None) => {
            let levels = levels(scan).unwrap_or_default();
            launches(scan, &levels).iter().for_each(|(_, key)| plans.plan(key));
        }
        // The enqueue fails with it.
        Err(_) => {}
    }
}

/// Enqueues the launches of lines whose elements are neighbours.
fn enqueue_lines(steps: Vec<lines::Step>, queue: &mut Enqueue<'_, Scan>) -> Result<()> {
    for (k, mut step) in steps.into_iter().enumerate() {
        let loaded = queue.plan::<lines::Key>(k)?;
        // SAFETY: the kernel has as many words. It reads and writes what the layouts reach, which lies
        // inside the operands (the check of the operation), or totals in scratch memory, of which there is one for each group. A
        // group belongs to one warp, which reads all of it before it writes.
        unsafe { loaded.launch(queue, (step.grid, step.key.threads()), &mut step.words) }?;
    }
    Ok(())
}

pub(super) fn enqueue(scan: &Scan, queue: &mut Enqueue<'_, Scan>) -> Result<()> {
    let address = |span: Option<&crate::core::buffer::AnySpan>| span.map_or(0, |span| span.address());
    let (x, output) = (address(queue.reads().first()), address(queue.writes().first()));
    if let Some(steps) = steps(scan, [x, output], &mut |bytes| queue.scratch(bytes))? {
        return enqueue_lines(steps, queue);
    }
    let levels = levels(scan)?;
    let (dtype, result) = (scan.dtype.part(), scan.result_type().part());
    let total = total_size(scan.kind, dtype)?;
    let inner = levels.iter().take(levels.len().saturating_sub(1));
    let totals = inner.map(|level| queue.scratch(level.tasks() * total)).collect::<Result<Vec<u64>>>()?;
    for (k, (number, key)) in launches(scan, &levels).into_iter().enumerate() {
        let Some(level) = levels.get(number) else { continue };
        let own = totals.get(number).copied().unwrap_or(0);
        // Totals are scanned in their place.
        let below = number.checked_sub(1).and_then(|below| totals.get(below).copied());
        let (source, target) = (below.unwrap_or(x), below.unwrap_or(output));
        let (from, to) = if number == 0 { (dtype.size(), result.size()) } else { (total, total) };
        let sizes = [to, from, total, 1];
        let offset = |layout: usize, size: usize| (level.loops.get(layout).map_or(0, Layout::offset) * size) as u64;
        let target = if key.pass == Pass::Totals { own + offset(2, total) } else { target + offset(0, to) };
        let mut arguments = vec![level.tasks() as u64, target, source + offset(1, from)];
        if key.words() == 4 {
            arguments.push(own + offset(2, total));
        }
        let [to_step, from_step] = level.strides;
        arguments.extend([level.len as u64, (to_step * to as isize) as u64, (from_step * from as isize) as u64]);
        arguments.push(offset(3, 1));
        push_axes(&mut arguments, &level.loops.iter().zip(sizes).collect::<Vec<_>>());
        let loaded = queue.plan::<Key>(k)?;
        let blocks = blocks(level.tasks(), BLOCK);
        // SAFETY: the kernel has as many words as the arguments. It reads and writes what the layouts
        // reach, which lies inside the operands (the check of the operation), or totals in scratch memory, of which there is one for
        // each chunk. A chunk belongs to one thread, which reads a total before it writes it.
        unsafe { loaded.launch(queue, (blocks, BLOCK), &mut arguments) }?;
    }
    Ok(())
}
