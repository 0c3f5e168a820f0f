//! Memory that grows where it lies: a reserve of addresses, to which the driver maps more and more memory.
//!
//! ```text
//!   addresses  |====|====|========|................................|   granules; nothing is copied, no address changes
//!              mapping 1  2    3   ^keep: what is behind may go     ^end of the reserve
//! ```
//!
//! - **Growth** (`cuMemCreate`, `cuMemMap`, `cuMemRelease`, `cuMemSetAccess` of the new range alone) waits for nothing. The handle is
//!   released at once: the memory lives until it is unmapped. Each mapping is at least an eighth of what is mapped, so that many
//!   small steps make few mappings; if there is no memory for that, it is as small as it can be.
//! - **Shrinking** first only moves `keep`. What lies behind it is unmapped by the housekeeping thread, by whole mappings, when all
//!   work that used it is complete; `cuMemUnmap` itself would not wait for that. Growth before that takes it again.
//! - **The end** of a reserve, behind all work on it, unmaps everything and frees the addresses.
//! - **A refused call** of these loses nothing. What could not be unmapped stays listed: growth uses it again, and it is tried again at
//!   the next shrinking, at the drop, when memory is short, and at the end of the epoch; only what is refused there leaks. A mapping
//!   behind `opened` is one whose access was refused, and whose unmapping was refused as well.
//!
//! Measured on an H200 (driver 580.159, CUDA 13.0), medians in microseconds:
//!
//! | mapping | reserve | create | map | release | access | unmap | free |
//! |---|---|---|---|---|---|---|---|
//! | 2 MiB | 2 | 10 | 2 | 1 | 22 | 25 | 1 |
//! | 64 MiB | 4 | 11 | 2 | 1 | 38 | 56 | 3 |
//! | 1 GiB | 5 | 45 | 3 | 1 | 63 | 323 | 4 |
//!
//! Beside a kernel of 150 ms each call took at most 260 us, and another thread that launched kernels meanwhile was not held up: neither
//! by access nor by unmapping. (Four launching threads and a replaying graph: growth by 64 MiB in 107 us, at most 407.) A process has
//! 128 TiB of addresses: 2045 reserves of 64 GiB, and no more. Fresh memory was zero, which nothing promises: it is filled.
//!
//! It is not of the pool: it is charged to the device's limit by granules, and peers get access to it here. No driver call is made
//! under the lock. Who works on a reserve marks it as busy; others wait for a bounded time.
//!
//! `reserves.rs` has the list, `calls.rs` the driver's calls; here is what an engine does with both.

mod calls;
mod reserves;

pub(crate) use reserves::Growth;

use super::lent::release;
use crate::core::buffer::{Allocation, Owner};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::order::AccessHistory;
use crate::core::sync::Arc;
use crate::engines::config::EngineConfig;
use crate::engines::cuda::CudaEngine;
use crate::engines::cuda::context::fault;
use calls::absent;
use reserves::{Held, Reserve};

/// A mapping is at least this part of what is mapped.
const PART: u64 = 8;

impl CudaEngine {
    /// Reserves addresses for `bytes` bytes.
    pub(crate) fn reserve_addresses(
        &self,
        epoch: &Arc<Epoch>,
        bytes: usize,
        label: Option<&'static str>,
    ) -> Result<(Arc<Allocation>, AccessHistory)> {
        let core = &self.core;
        let growth = &core.memory.growth;
        let _inside = core.streams.waits().enter();
        epoch.go_on()?;
        let granule = core.granule(epoch)?;
        epoch.meter.take(0)?;
        let uncounted = |_: &Error| epoch.meter.give(0);
        let size = (bytes.max(1) as u64).checked_next_multiple_of(granule);
        let size = size.and_then(|size| usize::try_from(size).ok());
        let size =
            size.ok_or_else(|| Error::invalid("rows", "the reserve of addresses overflows")).inspect_err(uncounted)?;
        let _bound = core.context.bind_for(epoch).inspect_err(uncounted)?;
        let mut address = 0;
        // SAFETY: the pointer is valid.
        let code = unsafe { core.context.api.mem_address_reserve(&mut address, size, 0, 0, 0) };
        let code = code.ok_or_else(|| absent("cuMemAddressReserve"));
        code.and_then(|code| code.ok().map_err(|code| fault::refused(epoch, code, "cuMemAddressReserve", bytes)))
            .inspect_err(uncounted)?;
        let number = growth.add(address, size as u64);
        let held = Held { number, cut: None, growth: growth.clone(), nudge: core.memory.reclaim.nudge.clone() };
        // Without a stream, which no engine is, the reserve is dropped here.
        let home = self.lent(Owner::new(Box::new(held)));
        let home = home.ok_or_else(|| Error::library("internal error: no stream")).inspect_err(uncounted)?;
        let allocation = Allocation::growing((address, bytes as u64), home, epoch.meter.clone(), label);
        Ok((Arc::new(allocation), AccessHistory::default()))
    }

    /// Maps memory, so that `to` bytes of a reserve have some.
    pub(crate) fn grow(
        &self,
        epoch: &Arc<Epoch>,
        config: &EngineConfig,
        allocation: &Arc<Allocation>,
        to: u64,
    ) -> Result<()> {
        match self.try_grow(epoch, allocation, to) {
            Err(Error::OutOfMemory { .. }) => {}
            other => return other,
        }
        let attempt = || self.try_grow(epoch, allocation, to).map(|()| (allocation.clone(), AccessHistory::default()));
        self.climb(epoch, config, &attempt).map(drop)
    }

    fn try_grow(&self, epoch: &Arc<Epoch>, allocation: &Allocation, to: u64) -> Result<()> {
        let core = &self.core;
        let growth = &core.memory.growth;
        let _inside = core.streams.waits().enter();
        epoch.go_on()?;
        let lost = || Error::library("internal error: no such reserve of addresses");
        let number = growth.number_of(allocation.address).ok_or_else(lost)?;
        let turn = core.wait_for_turn(number)?;
        let look = |reserve: &mut Reserve| {
            let place = (reserve.address, reserve.bytes);
            (reserve.covering(to), reserve.mapped(), place, reserve.opened, reserve.keep)
        };
        let (covered, mapped, (address, bytes), opened, keep) = growth.of(number, look).ok_or_else(lost)?;
        let charged = allocation.charged();
        // What a shrinking has left is taken again. What is kept is charged.
        let kept = covered.unwrap_or(mapped);
        if opened < kept {
            let _bound = core.context.bind_for(epoch)?;
            core.open(epoch, address + opened, mapped - opened)?;
            growth.of(number, |reserve| reserve.opened = mapped);
        }
        allocation.charge_to(kept)?;
        growth.of(number, |reserve| {
            // What lies behind this may go as before.
            reserve.keep = reserve.keep.max(kept);
        });
        if covered.is_some() {
            return Ok(());
        }
        let more = || {
            let granule = core.granule(epoch)?;
            let need = (to - mapped).next_multiple_of(granule);
            let more = need.max(mapped / PART / granule * granule).min(bytes - mapped);
            let _bound = core.context.bind_for(epoch)?;
            let step = |size: u64| {
                allocation.charge_to(mapped + size)?;
                let made = core.map_more(epoch, address + mapped, size, &mut || {
                    growth.of(number, |reserve| {
                        reserve.ends.push(mapped + size);
                        // Nothing has used it. If something else is to go before it, that one's work decides.
                        (reserve.refused, reserve.is_idle) = (true, reserve.is_idle || keep >= mapped);
                    });
                });
                made.inspect_err(|_| allocation.uncharge_to(mapped)).map(|()| mapped + size)
            };
            match step(more) {
                Err(Error::OutOfMemory { .. }) if more > need => step(need),
                answer => answer,
            }
        };
        let end = more().inspect_err(|_| {
            // What a shrinking has left goes after all.
            allocation.uncharge_to(charged);
            growth.of(number, |reserve| reserve.keep = keep);
            if growth.has_work() {
                core.memory.reclaim.nudge.nudge();
            }
        })?;
        growth.of(number, |reserve| {
            reserve.ends.push(end);
            (reserve.keep, reserve.opened) = (end, end);
        });
        drop(turn);
        Ok(())
    }

    /// What lies behind `to` may be unmapped when `history` is complete.
    pub(crate) fn shrink(&self, allocation: &Allocation, to: u64, history: AccessHistory) {
        let (core, growth) = (&self.core, &self.core.memory.growth);
        let Some(number) = growth.number_of(allocation.address) else { return };
        let cut = growth.next();
        let kept = growth.of(number, |reserve| {
            let kept = reserve.covering(to).unwrap_or(reserve.mapped());
            (reserve.keep, reserve.cut, reserve.is_idle) = (kept, cut, false);
            kept
        });
        allocation.uncharge_to(kept.unwrap_or(0));
        let nudge = core.memory.reclaim.nudge.clone();
        let owner = Owner::new(Box::new(Held { number, cut: Some(cut), growth: growth.clone(), nudge }));
        if let Some(home) = self.lent(owner) {
            release(Arc::new(Allocation::uncounted(allocation.address + to, home)), history);
        }
    }

    /// Gives the GPU numbered `peer` access to all memory of reserves, and to what they will get.
    pub(crate) fn share_reserves(&self, epoch: &Arc<Epoch>, peer: i32) -> Result<()> {
        let (core, growth) = (&self.core, &self.core.memory.growth);
        let numbers: Vec<u64> = {
            let mut inner = growth.inner.lock();
            if !inner.peers.contains(&peer) {
                inner.peers.push(peer);
            }
            inner.all.iter().map(|reserve| reserve.number).collect()
        };
        let _inside = core.streams.waits().enter();
        epoch.go_on()?;
        let _bound = core.context.bind_for(epoch)?;
        for number in numbers {
            let _turn = match core.wait_for_turn(number) {
                Ok(turn) => turn,
                // Without the access, a copy would fault.
                Err(error @ Error::Timeout { .. }) => {
                    growth.inner.lock().peers.retain(|one| *one != peer);
                    return Err(error);
                }
                Err(_) => continue, // it is gone
            };
            if let Some((address, mapped)) = growth.of(number, |reserve| (reserve.address, reserve.mapped()))
                && mapped > 0
            {
                let answer = core.set_access(address, mapped, &[peer]).ok();
                answer.map_err(|code| {
                    growth.inner.lock().peers.retain(|one| *one != peer);
                    fault::classify(epoch, code, "cuMemSetAccess")
                })?;
            }
        }
        Ok(())
    }
}
