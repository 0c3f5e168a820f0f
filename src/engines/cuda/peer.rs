//! Copies between GPUs.
//!
//! A peer copy is a dispatch over two devices (`across.rs`). It runs on a stream of the **target**, which first waits for
//! the stream of the source, and so for the source's writers. Then the stream of the **source** waits for the copy. So all
//! code that uses the source's memory needs to look only at the source's own streams; this includes the drain before a
//! rebuild of that device.
//!
//! Another GPU can access a pool's memory only after `cuMemPoolSetAccess`. Each path is checked once with known data,
//! because some drivers were seen to copy nothing.

use super::context::Context;
use super::queue::Queue;
use super::{Core, CudaEngine, fault};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::device::Device;
use cudarc::driver::sys::CUmemAccessDesc;

/// The device that a peer copy reads from, by its context.
pub(crate) struct Peer(Arc<Context>);

fn engine(epoch: &Epoch) -> Option<&CudaEngine> {
    epoch.engine.as_cuda()
}

impl Peer {
    /// The path from `source` to `device`. `None` if no peer copy is needed: both are host devices, or the same GPU.
    pub(crate) fn find(device: &Device, source: &Arc<Epoch>) -> Result<Option<Self>> {
        let target = device.epoch();
        match (engine(source), engine(&target)) {
            (None, None) => Ok(None),
            (Some(from), Some(to)) if from.core.context.device == to.core.context.device => Ok(None),
            (Some(from), Some(to)) => {
                source.admit()?;
                target.admit()?;
                from.core.open_path(source, &to.core, device)?;
                Ok(Some(Peer(from.core.context.clone())))
            }
            _ => Err(Error::unsupported(format!(
                "{} and {} cannot copy directly to each other; use download and upload instead",
                source.label, target.label
            ))),
        }
    }
}

impl Core {
    /// Gives `to` access to our pool, once, and checks the path.
    fn open_path(&self, epoch: &Arc<Epoch>, to: &Arc<Core>, target: &Device) -> Result<()> {
        let other = to.context.device;
        if self.peers.lock().contains(&other) {
            return Ok(());
        }
        let mut can = 0;
        // SAFETY: `can` is valid for the write; both devices exist.
        let code = unsafe { self.context.api.device_can_access_peer(&mut can, other, self.context.device) };
        code.ok().map_err(|code| fault::classify(epoch, code, "cuDeviceCanAccessPeer"))?;
        if can == 0 {
            return Err(Error::unsupported(format!(
                "{} cannot access the memory of {}; use download and upload instead",
                target.name(),
                epoch.label
            )));
        }
        {
            const LOCATION_DEVICE: u32 = 1;
            const READ_WRITE: u32 = 3;
            let _lease = self.lease(&[]);
            epoch.admit()?;
            let _bound = self.bind(epoch)?;
            let mut access = std::mem::MaybeUninit::<CUmemAccessDesc>::zeroed();
            let at = access.as_mut_ptr().cast::<u32>();
            // SAFETY: the struct is a location (a type and an id of 32 bits each) followed by flags of 32 bits.
            let code = unsafe {
                at.write(LOCATION_DEVICE);
                at.add(1).write(other as u32);
                at.add(2).write(READ_WRITE);
                self.context.api.mem_pool_set_access(self.pool.0.0, access.as_ptr(), 1)
            };
            code.ok().map_err(|code| fault::classify(epoch, code, "cuMemPoolSetAccess"))?;
        }
        // Other threads that open the path meanwhile check it as well.
        self.check_path(epoch, target)?;
        let mut peers = self.peers.lock();
        if !peers.contains(&other) {
            peers.push(other);
        }
        Ok(())
    }

    /// Copies known data over the path, and compares what arrives.
    fn check_path(&self, epoch: &Arc<Epoch>, target: &Device) -> Result<()> {
        let Some(source) = Device::of_epoch(epoch) else {
            return Err(epoch.admit().err().unwrap_or_else(|| Error::unsupported("the source device was dropped")));
        };
        let answer: Vec<u32> = (0..64).map(|i| 0x5A5A_0000 ^ (i * 0x0101)).collect();
        let from = source.upload(&answer)?.into_output();
        let to = target.fill(target.uninit(64)?, 0u32)?.into_output();
        let to = target.copy_on_path(&source, from.as_in(), to, Some(Peer(self.context.clone())))?;
        let arrived = target.download(&to.await_result()?)?.await_result()?;
        if arrived == answer {
            Ok(())
        } else {
            Err(Error::unsupported(format!(
                "a test copy from {} to {} arrived with wrong data; use download and upload instead",
                epoch.label,
                target.name()
            )))
        }
    }
}

impl Queue<'_> {
    /// Copies `bytes` bytes from another GPU's memory.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy). The source lies in memory of `peer`, in an operand of this dispatch.
    pub(crate) unsafe fn copy_from_peer(&mut self, to: u64, peer: &Peer, from: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let (here, there) = (self.core.context.raw.0, peer.0.raw.0);
        let stream = self.stream();
        // SAFETY: the caller's promise.
        let code = unsafe { self.core.context.api.memcpy_peer_async(to, here, from, there, bytes, stream) };
        self.check("cuMemcpyPeerAsync", code)
    }
}
