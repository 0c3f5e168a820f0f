//! The path of a peer copy between two GPUs: opened, and checked, once.

use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::Device;
use crate::engines::cuda::{CudaEngine, Peer};

impl Device {
    /// The path from the device of `source` to this one. `None` if no peer copy is needed: both are host devices, or the same
    /// GPU.
    pub(super) fn path_from(&self, source: &Arc<Epoch>) -> Result<Option<Peer>> {
        let target = self.epoch();
        match (source.engine.as_cuda(), target.engine.as_cuda()) {
            (None, None) => Ok(None),
            (Some(from), Some(to)) if from.is_same_gpu(to) => Ok(None),
            (Some(from), Some(to)) => {
                source.admit()?;
                target.admit()?;
                self.open_path(source, (from, to))?;
                Ok(Some(from.peer()))
            }
            _ => Err(Error::unsupported(format!(
                "{} and {} cannot copy directly to each other; use download and upload instead",
                source.label, target.label
            ))),
        }
    }

    /// Opens the path from `other` to this device: its kernels may access the memory of `other` from then on.
    pub(crate) fn open_path_from(&self, other: &Device) -> Result<()> {
        self.path_from(&other.epoch()).map(drop)
    }

    fn open_path(&self, source: &Arc<Epoch>, (from, to): (&CudaEngine, &CudaEngine)) -> Result<()> {
        if from.has_path(to) {
            return Ok(());
        }
        from.give_access(source, to, &self.name())?;
        // Other threads that open the path meanwhile check it as well.
        self.check_path(source, from)?;
        from.path_works(to);
        Ok(())
    }

    /// Copies known data over the path, and compares what arrives.
    fn check_path(&self, epoch: &Arc<Epoch>, from: &CudaEngine) -> Result<()> {
        let Some(source) = Device::of_epoch(epoch) else {
            return Err(epoch.admit().err().unwrap_or_else(|| Error::unsupported("the source device was dropped")));
        };
        let answer: Vec<u32> = (0..64).map(|i| 0x5A5A_0000 ^ (i * 0x0101)).collect();
        let data = source.upload(&answer)?.into_output();
        let to = self.filled(self.unwritten(64)?, 0u32)?.into_output();
        let to = self.copy_on_path(&source, data.as_in(), to, Some(from.peer()))?;
        let arrived = self.download(&to.await_result()?)?.await_result()?;
        if arrived == answer {
            Ok(())
        } else {
            Err(Error::unsupported(format!(
                "a test copy from {} to {} arrived with wrong data; use download and upload instead",
                epoch.label,
                self.name()
            )))
        }
    }
}
