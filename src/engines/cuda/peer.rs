//! Copies between GPUs.
//!
//! A peer copy runs on a stream of the **target** device, which waits for the source's writers across devices. When it
//! is enqueued, a stream of the **source** device is made to wait for it, and its mark there is what the source buffer
//! remembers as its reader: so everything that touches the source's memory, also the drain before a rebuild of its
//! device, needs to look at its own streams only.
//!
//! From before the copy is enqueued until it is followed there, its thread counts as inside the epochs of both sides
//! (`blocking_wait.rs`), so that neither the events it waits for nor the memory it reads can go meanwhile. Memory of a pool is
//! reached from another GPU only after the pool was told (`cuMemPoolSetAccess`), and a path is checked once by a known
//! answer, because drivers have been seen that copy nothing.

use super::context::Context;
use super::queue::Queue;
use super::slot::Mark;
use super::submit::Around;
use super::{Core, CudaEngine, fault};
use crate::engine::{Completion, Epoch};
use crate::sync::Arc;
use crate::{Device, Error, Result};
use cudarc::driver::sys::CUmemAccessDesc;

/// The device that a peer copy reads from.
pub(crate) struct Peer(Arc<Context>);

fn engine(epoch: &Epoch) -> Option<&CudaEngine> {
    epoch.engine.as_cuda()
}

impl Peer {
    /// The way from `source` to `device`; `None` where no driver is needed (host devices) or it is the same GPU.
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
                "a copy from {} to {} on the device; download and upload instead",
                source.label, target.label
            ))),
        }
    }
}

/// After a copy was enqueued, which ends with `end`: the sources' own streams follow it. The caller counts as inside the
/// epochs of both sides since before, so that neither the events nor the memory go until this is done; it has no lease.
pub(super) fn follow_back(s: Around<'_, '_>, end: &Mark) {
    let sources = s.views.iter().take(s.read_count).map(|view| view.region);
    for source in sources.filter(|source| !Arc::ptr_eq(&source.epoch, s.epoch)) {
        let Some(from) = engine(&source.epoch) else { continue };
        let Some(reader) = from.core.mirror(&source.epoch, end) else {
            // The source is being closed, and looks at its own streams only; or the end was not recorded. Then there is
            // nothing left to follow: it is over, or the target is.
            end.slot.reclaim.nudge.nudge();
            end.outlast();
            continue;
        };
        source.history.lock().publish_read(&Completion::Cuda(reader));
    }
}

impl Core {
    /// Makes a stream of ours wait for another device's mark; gives the mark that follows it here.
    fn mirror(&self, epoch: &Arc<Epoch>, mark: &Mark) -> Option<Mark> {
        let mut lease = self.lease(&[]);
        if !epoch.alive() {
            return None;
        }
        let _bound = self.context.bind().ok()?;
        let (shared, state) = (&lease.slot.shared, &mut *lease.state);
        // SAFETY: the event is of the target's epoch, which the caller is inside of; the stream is leased.
        let code = unsafe { self.context.api.stream_wait_event(state.stream.0, mark.event?.0, 0) };
        code.ok().ok()?;
        let (ticket, event, _) = state.record(shared);
        state.ring.push(ticket, event, None);
        Some(Mark { slot: shared.clone(), ticket, event })
    }

    /// Lets `to` reach our pool, once, and checks the path.
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
                "{} cannot reach the memory of {}; download and upload instead",
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
        // Whoever comes meanwhile checks it as well.
        self.check_path(epoch, target)?;
        let mut peers = self.peers.lock();
        if !peers.contains(&other) {
            peers.push(other);
        }
        Ok(())
    }

    /// Copies a known answer over.
    fn check_path(&self, epoch: &Arc<Epoch>, target: &Device) -> Result<()> {
        let Some(owner) = epoch.owner.upgrade() else {
            return Err(epoch.admit().err().unwrap_or_else(|| Error::unsupported("the source device is gone")));
        };
        let source = Device::bound_to(owner, epoch.clone());
        let answer: Vec<u32> = (0..64).map(|i| 0x5A5A_0000 ^ (i * 0x0101)).collect();
        let from = source.upload(&answer)?.into_output();
        let to = target.fill(target.uninit(64)?, 0u32)?.into_output();
        let to = target.copy_on_path(from.as_in(), to, Some(Peer(self.context.clone())))?;
        let arrived = target.download(&to.await_result()?)?.await_result()?;
        if arrived == answer {
            Ok(())
        } else {
            Err(Error::unsupported(format!("a copy from {} to {} did not arrive", epoch.label, target.name())))
        }
    }
}

impl Queue<'_> {
    /// Copies `bytes` bytes from another GPU's memory.
    ///
    /// # Safety
    /// As [`copy`](Self::copy); what is read lies in memory of `peer`, in an operand of this dispatch.
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
