//! Access of one GPU to the memory of another.
//!
//! A peer copy is a dispatch over two devices (`across.rs`). It runs on a stream of the **target**, which first waits for
//! the stream of the source, and so for the source's writers. Then the stream of the **source** waits for the copy. So all
//! code that uses the source's memory needs to look only at the source's own streams; this includes the drain before a
//! rebuild of that device.
//!
//! Another GPU can access a pool's memory only after `cuMemPoolSetAccess`. `device/copy/peer_path.rs` checks each path once
//! with known data, because some drivers were seen to copy nothing.

use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use crate::engines::cuda::context::Context;
use crate::engines::cuda::context::fault;
use crate::engines::cuda::dispatch::Queue;
use crate::engines::cuda::{Core, CudaEngine};
use cudarc::driver::sys::CUmemAccessDesc;

/// The device that a peer copy reads from, by its context.
pub(crate) struct Peer(Arc<Context>);

impl CudaEngine {
    /// Whether both engines are on one GPU.
    pub(crate) fn is_same_gpu(&self, other: &CudaEngine) -> bool {
        self.core.context.device == other.core.context.device
    }

    /// The number of its GPU among those that the process sees.
    pub(crate) fn ordinal(&self) -> i32 {
        self.core.context.device
    }

    /// This engine's GPU, for a copy that reads from it.
    pub(crate) fn peer(&self) -> Peer {
        Peer(self.core.context.clone())
    }

    /// Whether `to` has access to our pool, on a path that was found to work.
    pub(crate) fn has_path(&self, to: &CudaEngine) -> bool {
        self.core.memory.peers.lock().contains(&to.core.context.device)
    }

    /// The path to `to` works.
    pub(crate) fn path_works(&self, to: &CudaEngine) {
        let mut peers = self.core.memory.peers.lock();
        if !peers.contains(&to.core.context.device) {
            peers.push(to.core.context.device);
        }
    }

    /// Gives `to`, the GPU of the device `name`, access to our pool.
    pub(crate) fn give_access(&self, epoch: &Arc<Epoch>, to: &CudaEngine, name: &str) -> Result<()> {
        let (core, other) = (&self.core, to.core.context.device);
        let mut can = 0;
        // SAFETY: `can` is valid for the write; both devices exist.
        let code = unsafe { core.context.api.device_can_access_peer(&mut can, other, core.context.device) };
        code.ok().map_err(|code| fault::classify(epoch, code, "cuDeviceCanAccessPeer"))?;
        if can == 0 {
            return Err(Error::unsupported(format!(
                "{name} cannot access the memory of {}; use download and upload instead",
                epoch.label
            )));
        }
        set_access(core, epoch, other)?;
        self.share_reserves(epoch, other)
    }
}

/// Gives the GPU numbered `other` access to the pool.
fn set_access(core: &Core, epoch: &Arc<Epoch>, other: i32) -> Result<()> {
    const LOCATION_DEVICE: u32 = 1;
    const READ_WRITE: u32 = 3;
    let _lease = core.streams.lease(&[]);
    epoch.admit()?;
    let _bound = core.context.bind_for(epoch)?;
    let mut access = std::mem::MaybeUninit::<CUmemAccessDesc>::zeroed();
    let at = access.as_mut_ptr().cast::<u32>();
    // SAFETY: the struct is a location (a type and an id of 32 bits each) followed by flags of 32 bits.
    let code = unsafe {
        at.write(LOCATION_DEVICE);
        at.add(1).write(other as u32);
        at.add(2).write(READ_WRITE);
        core.context.api.mem_pool_set_access(core.memory.pool.raw.0, access.as_ptr(), 1)
    };
    code.ok().map_err(|code| fault::classify(epoch, code, "cuMemPoolSetAccess"))
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
