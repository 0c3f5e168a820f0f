//! Kernels of this folder: texts with one entry and one parameter, a block of words.

use crate::core::error::{Error, Result};
use crate::core::launch::{LaunchConfig, LaunchDims};
use crate::core::sync::Arc;
use crate::engines::cuda::{Function, PlanBuilder};
use crate::engines::cuda_enqueue::Enqueue;
use crate::engines::op::{Built, Op};
use std::ffi::{CString, c_void};

/// A loaded kernel.
pub(super) struct Loaded(Function);

/// Loads a text.
pub(super) fn load(text: String, builder: &mut PlanBuilder<'_>) -> Result<Built<Loaded>> {
    let bytes = 16 * text.lines().count() as u64;
    let text = CString::new(text).map_err(|_| Error::library("internal error: a zero byte in a kernel"))?;
    let (core, epoch) = (builder.core, builder.epoch);
    let module = Arc::new(core.code.load_module(epoch, text.as_bytes_with_nul(), true)?);
    let function = Function::find(core, epoch, &module, c"expression")?;
    let function = function.ok_or_else(|| Error::library("internal error: a module without its kernel"))?;
    Ok(Built { plan: Loaded(function), bytes })
}

impl Loaded {
    /// Enqueues a launch of as many blocks of as many threads.
    ///
    /// # Safety
    /// The words are those of the kernel's parameter, and the kernel accesses only operands and scratch memory of the dispatch.
    pub(super) unsafe fn launch<O: Op>(
        &self,
        queue: &mut Enqueue<'_, O>,
        (grid, threads): (u32, u32),
        words: &mut [u64],
    ) -> Result<()> {
        let config = LaunchConfig::from(LaunchDims { grid: (grid, 1, 1), block: (threads, 1, 1), shared: 0 });
        let mut parameters = [words.as_mut_ptr().cast::<c_void>()];
        // SAFETY: the caller's promise; there is one parameter.
        unsafe { self.0.launch(queue, &config, &mut parameters) }
    }
}
