//! The CUDA half: the launches of `plan.rs`.

use super::kernel::Key;
use super::op::Sort;
use super::plan::steps;
use crate::core::error::Result;
use crate::engines::cuda::PlanBuilder;
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey};
use crate::libraries::kernel::{Loaded, load};

impl PlanKey for Key {
    type Plan = Loaded;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded>> {
        load(self.text()?, (), builder)
    }
}

/// The kernels of an operation that was checked, one for each launch.
pub(super) fn keys(sort: &Sort) -> Result<Vec<Key>> {
    Ok(steps(sort, [0; 3], &mut |_| Ok(0))?.into_iter().map(|step| step.key).collect())
}

pub(super) fn enqueue(sort: &Sort, queue: &mut Enqueue<'_, Sort>) -> Result<()> {
    let address = |span: Option<&crate::core::buffer::AnySpan>| span.map_or(0, |span| span.address());
    let x = address(queue.reads().first());
    let values = if sort.values { address(queue.writes().first()) } else { 0 };
    let indices = if sort.indices { address(queue.writes().get(usize::from(sort.values))) } else { 0 };
    let steps = steps(sort, [x, values, indices], &mut |bytes| queue.scratch(bytes))?;
    for (k, mut step) in steps.into_iter().enumerate() {
        let loaded = queue.plan::<Key>(k)?;
        // SAFETY: the kernel has as many words as the step. It reads what the layout of the operand
        // reaches, which lies inside (the check of the operation), and writes the operands and scratch memory of the sizes in
        // `plan.rs`, each place once.
        unsafe { loaded.launch(queue, (step.grid, step.threads), &mut step.words) }?;
    }
    Ok(())
}
