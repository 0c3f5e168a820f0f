//! Attributes of a kernel, and the occupancy of its launches.

use super::kernel::Kernel;
use crate::core::error::{Error, Result};
use crate::core::launch::{KernelAttributes, LaunchConfig};

impl Kernel {
    /// Checks that all blocks of a cooperative launch can be resident on the device at the same time.
    #[cfg(feature = "cuda")]
    pub(super) fn check_cooperative(&self, config: &LaunchConfig, processors: u32) -> Result<()> {
        let threads = config.block().count() as u32;
        let each = self.active_blocks(threads, config.shared_bytes())?;
        let (most, wanted) = (u128::from(each) * u128::from(processors), config.grid().count());
        if wanted <= most {
            return Ok(());
        }
        let reason = format!(
            "{wanted} blocks at once, but {most} of `{}` fit the device ({each} on each of {processors} multiprocessors)",
            self.name(),
        );
        Err(Error::invalid("grid", reason))
    }

    /// Registers, memory and limits of the kernel (`cuFuncGetAttribute`).
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a host device, which has no code of the kernel.
    pub fn attributes(&self) -> Result<KernelAttributes> {
        #[cfg(feature = "cuda")]
        if let Some((function, _)) = self.function() {
            return Ok(*function.attributes());
        }
        Err(Error::unsupported("a host device has no compiled kernel, so there are no attributes"))
    }

    /// The number of blocks of `threads` threads, with `shared` bytes of dynamic shared memory each, that one
    /// multiprocessor can hold at the same time (`cuOccupancyMaxActiveBlocksPerMultiprocessor`).
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a host device; [`Error::GpuRefStale`] for a kernel of an earlier generation.
    pub fn active_blocks(&self, threads: u32, shared: u32) -> Result<u32> {
        #[cfg(feature = "cuda")]
        if let Some((function, epoch)) = self.function() {
            return function.active_blocks(epoch, threads, shared);
        }
        let _ = (threads, shared);
        Err(Error::unsupported("a host device has no multiprocessors"))
    }

    /// The number of threads per block that gives the best occupancy, with `shared` bytes of dynamic shared memory per
    /// block (`cuOccupancyMaxPotentialBlockSize`). 256 on a host device.
    ///
    /// # Errors
    /// [`Error::GpuRefStale`] for a kernel of an earlier generation; an error of the driver.
    pub fn best_block(&self, shared: u32) -> Result<u32> {
        #[cfg(feature = "cuda")]
        if let Some((function, epoch)) = self.function() {
            return function.best_block(epoch, shared);
        }
        let _ = shared;
        Ok(256)
    }

    /// A configuration with at least one thread for each of `n` elements, in blocks of [`best_block`](Self::best_block)
    /// threads.
    ///
    /// # Errors
    /// As [`best_block`](Self::best_block) and [`LaunchConfig::for_elements`].
    pub fn config_for_elements(&self, n: usize) -> Result<LaunchConfig> {
        LaunchConfig::for_elements_in_blocks(n, self.best_block(0)?.max(1))
    }
}
