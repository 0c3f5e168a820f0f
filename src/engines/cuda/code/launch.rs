//! The driver call that launches a kernel. Every launch uses it.

use crate::core::error::Result;
use crate::core::launch::LaunchConfig;
use crate::engines::cuda::dispatch::Queue;
use cudarc::driver::sys::{CUfunction, CUstream};
use smallvec::SmallVec;
use std::ffi::c_void;

/// The layout of `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct RawConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: CUstream,
    attributes: *const RawAttribute,
    count: u32,
}

/// The layout of `CUlaunchAttribute`: a number, then a union of 64 bytes, aligned to 8.
#[repr(C)]
struct RawAttribute {
    number: u32,
    _pad: u32,
    value: [u32; 16],
}

const _: () = assert!(size_of::<RawConfig>() == 56 && size_of::<RawAttribute>() == 72);

impl RawAttribute {
    fn new(number: u32, words: &[u32]) -> Self {
        let mut value = [0; 16];
        for (to, from) in value.iter_mut().zip(words) {
            *to = *from;
        }
        RawAttribute { number, _pad: 0, value }
    }
}

/// The attributes that `config` asks for.
fn attributes(config: &LaunchConfig) -> SmallVec<[RawAttribute; 3]> {
    const COOPERATIVE: u32 = 2;
    const CLUSTER_DIMENSION: u32 = 4;
    const PRIORITY: u32 = 8;
    let mut all = SmallVec::new();
    if config.is_cooperative() {
        all.push(RawAttribute::new(COOPERATIVE, &[1]));
    }
    if let Some(cluster) = config.cluster_dims() {
        all.push(RawAttribute::new(CLUSTER_DIMENSION, &cluster.array()));
    }
    if let Some(priority) = config.launch_priority() {
        all.push(RawAttribute::new(PRIORITY, &[priority.cast_unsigned()]));
    }
    all
}

impl Queue<'_> {
    /// Launches `function`. If the driver refuses the launch at once, the stream and the operands stay as they were.
    ///
    /// # Safety
    /// The function belongs to this epoch. `parameters` point to its parameters and match them in number, order and
    /// size. The kernel accesses only what this dispatch may.
    pub(crate) unsafe fn launch_function(
        &mut self,
        function: CUfunction,
        config: &LaunchConfig,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let (grid, block, shared) = (config.grid(), config.block(), config.shared_bytes());
        if config.is_plain() {
            let (grid, block) = ((grid.x, grid.y, grid.z), (block.x, block.y, block.z));
            // SAFETY: the caller's promise.
            return unsafe { self.launch_plain(function, grid, block, shared, parameters) };
        }
        let attributes = attributes(config);
        let raw = RawConfig {
            grid: grid.array(),
            block: block.array(),
            shared,
            stream: self.state.stream.0,
            attributes: attributes.as_ptr(),
            count: attributes.len() as u32,
        };
        // SAFETY: as in `launch_plain`; the configuration and its attributes live until the call returns.
        let code = unsafe {
            self.core.context.api.launch_kernel_ex(&raw, function, parameters.as_mut_ptr(), std::ptr::null_mut())
        };
        let code = code.ok_or_else(|| crate::core::error::Error::unsupported("this driver has no cuLaunchKernelEx"))?;
        self.check("cuLaunchKernelEx", code)?;
        self.left.untouched = false;
        Ok(())
    }

    /// As [`launch_function`](Self::launch_function), with nothing beyond grid, block and shared memory.
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub(super) unsafe fn launch_plain(
        &mut self,
        function: CUfunction,
        (gx, gy, gz): (u32, u32, u32),
        (bx, by, bz): (u32, u32, u32),
        shared: u32,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let (api, stream, none) = (self.core.context.api, self.state.stream.0, std::ptr::null_mut());
        // SAFETY: function and stream are alive under the lease; the driver copies the parameters before it returns; the
        // caller vouches for the kernel.
        let code = unsafe {
            let parameters = parameters.as_mut_ptr();
            api.launch_kernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, none)
        };
        self.check("cuLaunchKernel", code)?;
        self.left.untouched = false;
        Ok(())
    }
}
