//! The limits that a device sets for launches.

use super::LoadedCode;
use crate::core::epoch::Epoch;
use crate::core::error::Result;
use crate::core::launch::DeviceLimits;
use crate::core::sync::Arc;
use crate::engines::cuda::context::fault;

/// The limits, and the number of multiprocessors.
pub(crate) type Limits = DeviceLimits;

impl LoadedCode {
    /// The device's limits. They are queried once and kept. The context is current.
    pub(crate) fn limits(&self, epoch: &Arc<Epoch>) -> Result<Limits> {
        if let Some(limits) = self.modules.limits.get() {
            return Ok(*limits);
        }
        let api = self.context.api;
        let attribute = |which: u32| -> Result<u32> {
            let mut value = 0;
            // SAFETY: `value` is valid for the write.
            let code = unsafe { api.device_get_attribute(&mut value, which, self.context.device) };
            code.ok().map_err(|code| fault::classify(epoch, code, "cuDeviceGetAttribute"))?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both are valid for the write; the context is current.
        let code = unsafe { api.ctx_get_stream_priority_range(&mut least, &mut greatest) };
        code.ok().map_err(|code| fault::classify(epoch, code, "cuCtxGetStreamPriorityRange"))?;
        // `CUdevice_attribute` by number.
        let limits = Limits {
            block_threads: attribute(1)?,
            block: [attribute(2)?, attribute(3)?, attribute(4)?],
            grid: [attribute(5)?, attribute(6)?, attribute(7)?],
            shared: attribute(8)?.max(attribute(97)?),
            processors: attribute(16)?,
            cooperative: attribute(95)? != 0,
            clusters: attribute(120).unwrap_or(0) != 0,
            priorities: (greatest, least),
        };
        Ok(*self.modules.limits.get_or_init(|| limits))
    }
}
