//! A kernel in a loaded module. A launch in flight holds it.

use super::module::LoadedModule;
use crate::core::epoch::Epoch;
use crate::core::error::Result;
use crate::core::launch::{DeviceLimits, KernelAttributes, LaunchConfig, Parameter};
use crate::core::order::KeepAlive;
use crate::core::sync::{Arc, AtomicU64, Ordering};
use crate::engines::cuda::context::fault;
use crate::engines::cuda::{Core, Native, Queue};
use cudarc::driver::sys::CUfunction;
use std::ffi::{CStr, c_void};

/// A kernel, and all that its launches are checked against. It holds no `Epoch`, so that work in flight may hold it.
pub(crate) struct Function {
    raw: Native<CUfunction>,
    module: Arc<LoadedModule>,
    pub(crate) attributes: KernelAttributes,
    pub(crate) limits: DeviceLimits,
    /// The most bytes of dynamic shared memory that a launch may use, as set in the driver.
    allowed: AtomicU64,
}

impl KeepAlive for Function {
    fn retire(&self) {}
}

impl Function {
    /// The kernel `name` of a module; `None` when the module has none of that name.
    pub(crate) fn find(
        core: &Arc<Core>,
        epoch: &Arc<Epoch>,
        module: &Arc<LoadedModule>,
        name: &CStr,
    ) -> Result<Option<Self>> {
        crate::engines::worker::shared::first_use::begin(); // the driver may load the kernel's code in this call
        core.code.inside(epoch, || {
            let Some(raw) = module.function(core, epoch, name)? else { return Ok(None) };
            let attribute = |which: u32| -> Result<u32> {
                let mut value = 0;
                // SAFETY: `value` is valid for the write, the module is loaded.
                let code = unsafe { core.context.api.func_get_attribute(&mut value, which, raw) };
                code.ok().map_err(|code| fault::classify(epoch, code, "cuFuncGetAttribute"))?;
                Ok(u32::try_from(value).unwrap_or(0))
            };
            // `CUfunction_attribute` by number.
            let attributes = KernelAttributes {
                max_threads: attribute(0)?,
                shared_bytes: attribute(1)?,
                constant_bytes: attribute(2)?,
                local_bytes: attribute(3)?,
                registers: attribute(4)?,
                ptx_version: attribute(5)?,
                binary_version: attribute(6)?,
            };
            let allowed = attribute(8)?;
            let limits = core.code.limits(epoch)?;
            let (raw, module) = (Native(raw), module.clone());
            Ok(Some(Function { raw, module, attributes, limits, allowed: AtomicU64::new(allowed.into()) }))
        })
    }

    /// The kernel's parameters, as the driver reports them. `None` if the driver cannot report them (before CUDA 12.4).
    pub(crate) fn parameters(&self, core: &Arc<Core>, epoch: &Arc<Epoch>) -> Result<Option<Vec<Parameter>>> {
        const INVALID_VALUE: i32 = 1;
        core.code.inside(epoch, || {
            let mut all = Vec::new();
            loop {
                let (mut offset, mut bytes) = (0, 0);
                // SAFETY: both are valid for the write, the module is loaded. An index past the last is refused.
                let code =
                    unsafe { core.context.api.func_get_param_info(self.raw.0, all.len(), &mut offset, &mut bytes) };
                match code.map(|code| code.ok()) {
                    None => return Ok(None),
                    Some(Ok(())) => all.push(Parameter::of_size(bytes)),
                    Some(Err(code)) if code.0 == INVALID_VALUE => return Ok(Some(all)),
                    Some(Err(code)) => return Err(fault::classify(epoch, code, "cuFuncGetParamInfo")),
                }
            }
        })
    }

    /// How many blocks of `threads` threads and `shared` bytes of dynamic shared memory can be resident on one
    /// multiprocessor.
    pub(crate) fn active_blocks(&self, core: &Arc<Core>, epoch: &Arc<Epoch>, threads: u32, shared: u32) -> Result<u32> {
        core.code.inside(epoch, || {
            self.allow(core, epoch, shared)?;
            let mut blocks = 0;
            // SAFETY: `blocks` is valid for the write, the module is loaded.
            let code = unsafe {
                let threads = i32::try_from(threads).unwrap_or(i32::MAX);
                core.context.api.occupancy_max_active_blocks(&mut blocks, self.raw.0, threads, shared as usize)
            };
            code.ok().map_err(|code| fault::classify(epoch, code, "cuOccupancyMaxActiveBlocksPerMultiprocessor"))?;
            Ok(u32::try_from(blocks).unwrap_or(0))
        })
    }

    /// The block size with the best occupancy, and the smallest number of blocks that reaches it.
    pub(crate) fn best_block(&self, core: &Arc<Core>, epoch: &Arc<Epoch>, shared: u32) -> Result<(u32, u32)> {
        core.code.inside(epoch, || {
            self.allow(core, epoch, shared)?;
            let (mut grid, mut block) = (0, 0);
            // SAFETY: both are valid for the write, the module is loaded; no callback, so the size is a constant.
            let code = unsafe {
                let (none, shared) = (std::ptr::null(), shared as usize);
                core.context.api.occupancy_max_potential_block_size(&mut grid, &mut block, self.raw.0, none, shared, 0)
            };
            code.ok().map_err(|code| fault::classify(epoch, code, "cuOccupancyMaxPotentialBlockSize"))?;
            Ok((u32::try_from(block).unwrap_or(0), u32::try_from(grid).unwrap_or(0)))
        })
    }

    /// Makes sure that a launch may use `shared` bytes of dynamic shared memory. The driver requires an opt-in above 48
    /// KiB. The opt-in is made once, for all that the device has. The context is current.
    fn allow(&self, core: &Core, epoch: &Arc<Epoch>, shared: u32) -> Result<()> {
        const MAX_DYNAMIC_SHARED: u32 = 8;
        if u64::from(shared) <= self.allowed.load(Ordering::Acquire) {
            return Ok(());
        }
        let most = self.limits.shared.saturating_sub(self.attributes.shared_bytes).max(shared);
        // SAFETY: the module is loaded. The driver refuses more than the device has.
        let code = unsafe {
            let most = i32::try_from(most).unwrap_or(i32::MAX);
            core.context.api.func_set_attribute(self.raw.0, MAX_DYNAMIC_SHARED, most)
        };
        code.ok().map_err(|code| fault::classify(epoch, code, "cuFuncSetAttribute"))?;
        self.allowed.store(most.into(), Ordering::Release);
        Ok(())
    }

    /// Launches it on the dispatch's stream.
    ///
    /// # Safety
    /// `parameters` point to the kernel's parameters and match them in number, order and size. The kernel accesses only
    /// what this dispatch may.
    pub(crate) unsafe fn launch(
        &self,
        queue: &mut Queue<'_>,
        config: &LaunchConfig,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        self.module.admit(queue)?;
        self.allow(queue.core, queue.epoch, config.shared_bytes())?;
        // SAFETY: the function is of this epoch, and its module is loaded while `self` lives; the caller vouches for
        // the rest.
        unsafe { queue.launch_function(self.raw.0, config, parameters) }
    }
}
