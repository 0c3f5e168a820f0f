//! The CUDA half: the launches of `plan.rs`.

use super::kernel::Key;
use super::op::Sort;
use super::plan::steps;
use crate::core::error::{Error, Result};
use crate::core::launch::{LaunchConfig, LaunchDims};
use crate::core::sync::Arc;
use crate::engines::cuda::{Function, PlanBuilder};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, PlanKey};
use std::ffi::{CString, c_void};

/// A loaded kernel.
pub(super) struct Loaded(Function);

impl PlanKey for Key {
    type Plan = Loaded;

    fn build(&self, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded>> {
        let text = self.text();
        let bytes = 16 * text.lines().count() as u64;
        let text = CString::new(text).map_err(|_| Error::library("internal error: a zero byte in a kernel"))?;
        let (core, epoch) = (builder.core, builder.epoch);
        let module = Arc::new(core.code.load_module(epoch, text.as_bytes_with_nul(), true)?);
        let function = Function::find(core, epoch, &module, c"expression")?;
        let function = function.ok_or_else(|| Error::library("internal error: a module without its kernel"))?;
        Ok(Built { plan: Loaded(function), bytes })
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
        let config =
            LaunchConfig::from(LaunchDims { grid: (step.grid, 1, 1), block: (step.threads, 1, 1), shared: 0 });
        let mut parameters = [step.words.as_mut_ptr().cast::<c_void>()];
        // SAFETY: the kernel has one parameter, a block of as many words as the step has. It reads what the layout of the operand
        // reaches, which lies inside (the check of the operation), and writes the operands and scratch memory of the sizes in
        // `plan.rs`, each place once.
        unsafe { loaded.0.launch(queue, &config, &mut parameters) }?;
    }
    Ok(())
}
