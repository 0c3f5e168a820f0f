//! Kernels that are loaded, and their launches.

use super::Writer;
use crate::core::error::{Error, Result};
use crate::core::launch::{LaunchConfig, LaunchDims};
use crate::core::sync::Arc;
use crate::engines::cuda::{Function, PlanBuilder, Queue};
use crate::engines::op::Built;
use std::ffi::{CString, c_void};

/// The usual threads of a block.
pub(crate) const BLOCK: u32 = 256;
/// Enough blocks to fill any GPU. A thread goes on to further tasks.
const MOST_BLOCKS: usize = 1 << 16;

/// The blocks of so many threads in which each task has a thread, as far as there are so many.
pub(crate) fn blocks(tasks: usize, threads: u32) -> u32 {
    tasks.div_ceil(threads as usize).clamp(1, MOST_BLOCKS) as u32
}

/// A loaded kernel, and what its launches have to know of it.
pub(crate) struct Loaded<K = ()> {
    pub(crate) kernel: K,
    function: Function,
}

/// Loads a module of [`Writer::module`] as a plan.
pub(crate) fn load<K>(text: String, kernel: K, builder: &PlanBuilder<'_>) -> Result<Built<Loaded<K>>> {
    let (function, bytes) = function(text, builder)?;
    Ok(Built { plan: Loaded { kernel, function }, bytes })
}

/// The kernel, and about how large its code is.
fn function(text: String, builder: &PlanBuilder<'_>) -> Result<(Function, u64)> {
    // Code of a kernel, roughly: a word of 16 bytes for each line.
    let bytes = 16 * text.lines().count() as u64;
    let text = CString::new(text).map_err(|_| Error::library("internal error: a zero byte in a kernel"))?;
    let (core, epoch) = (builder.core()?, builder.epoch);
    let module = Arc::new(core.code.load_module(epoch, text.as_bytes_with_nul(), true)?);
    let function = Function::find(core, epoch, &module, Writer::ENTRY)?;
    let function = function.ok_or_else(|| Error::library("internal error: a module without its kernel"))?;
    Ok((function, bytes))
}

impl<K> Loaded<K> {
    /// Enqueues a launch of so many blocks of so many threads.
    ///
    /// # Safety
    /// The words are those of the kernel's parameter, and with them the kernel accesses only operands and scratch memory of the dispatch.
    pub(crate) unsafe fn launch(
        &self,
        queue: &mut Queue<'_>,
        (grid, threads): (u32, u32),
        words: &mut [u64],
    ) -> Result<()> {
        let config = LaunchConfig::from(LaunchDims { grid: (grid, 1, 1), block: (threads, 1, 1), shared: 0 });
        let mut parameters = [words.as_mut_ptr().cast::<c_void>()];
        // SAFETY: the caller's promise; there is one parameter.
        unsafe { self.function.launch(queue, &config, &mut parameters) }
    }
}
