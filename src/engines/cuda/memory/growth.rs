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

use super::lent::release;
use crate::core::buffer::{Allocation, Owner};
use crate::core::clock;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Site};
use crate::core::order::AccessHistory;
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::engines::config::EngineConfig;
use crate::engines::cuda::api::{Access, Code, Driver, Location, MemoryProperties};
use crate::engines::cuda::context::fault;
use crate::engines::cuda::housekeeping::Nudge;
use crate::engines::cuda::{Core, CudaEngine};

/// A mapping is at least this part of what is mapped.
const PART: u64 = 8;

/// The reserves of one epoch.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    inner: Mutex<Inner>,
    /// The granularity of mappings; 0 until the driver was asked.
    granule: AtomicU64,
}

#[derive(Debug, Default)]
struct Inner {
    all: Vec<Reserve>,
    /// The number of the next reserve or shrinking.
    next: u64,
    /// GPUs that have access, besides this one.
    peers: Vec<i32>,
}

#[derive(Debug)]
struct Reserve {
    number: u64,
    address: u64,
    bytes: u64,
    /// Where its mappings end, from its beginning.
    ends: Vec<u64>,
    /// Up to here the GPUs have access.
    opened: u64,
    /// Mappings that begin here or behind may go.
    keep: u64,
    /// The last shrinking.
    cut: u64,
    /// All work that used what lies behind `keep` is complete.
    is_idle: bool,
    /// Nothing uses it any more.
    dropped: bool,
    /// A thread makes calls for it.
    busy: bool,
    /// The driver refused to take something back: not tried again for a while.
    refused: bool,
}

impl Reserve {
    fn mapped(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The least end of a mapping that covers `to`; `None` if less is mapped.
    fn covering(&self, to: u64) -> Option<u64> {
        if to == 0 { Some(0) } else { self.ends.iter().copied().find(|end| *end >= to) }
    }

    fn has_work(&self) -> bool {
        !self.refused && (self.dropped || (self.is_idle && self.keep < self.mapped()))
    }
}

/// Mappings of a reserve, as address and length, the last one first.
fn mappings(address: u64, ends: &[u64], from: u64) -> Vec<(u64, u64)> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let all = starts.zip(ends).filter(|(start, _)| *start >= from).map(|(start, end)| (address + start, end - start));
    let mut all: Vec<_> = all.collect();
    all.reverse();
    all
}

/// What is to be given back: the reserve's number, its mappings, and its addresses if it is gone.
struct Work {
    number: u64,
    mappings: Vec<(u64, u64)>,
    addresses: Option<(u64, u64)>,
}

/// What owns a reserve, or what lies behind a shrinking; its drop makes no driver call.
struct Held {
    number: u64,
    cut: Option<u64>,
    growth: Arc<Growth>,
    nudge: Arc<Nudge>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let marked = self.growth.of(self.number, |reserve| {
            reserve.refused = false;
            match self.cut {
                None => reserve.dropped = true,
                // Growth, or another shrinking, may have come in between.
                Some(cut) => reserve.is_idle |= reserve.cut == cut,
            }
        });
        // The end of its epoch may have freed it.
        if marked.is_some() {
            self.nudge.nudge();
        }
    }
}

/// The right to make calls for a reserve.
struct Turn<'a> {
    growth: &'a Growth,
    number: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.growth.of(self.number, |reserve| reserve.busy = false);
    }
}

impl Growth {
    fn of<R>(&self, number: u64, f: impl FnOnce(&mut Reserve) -> R) -> Option<R> {
        self.inner.lock().all.iter_mut().find(|reserve| reserve.number == number).map(f)
    }

    fn next(&self) -> u64 {
        let mut inner = self.inner.lock();
        inner.next += 1;
        inner.next
    }

    /// Adds a reserve that nothing is mapped to.
    fn add(&self, address: u64, bytes: u64) -> u64 {
        let number = self.next();
        let (ends, opened, keep, cut) = (Vec::new(), 0, 0, 0);
        let (is_idle, dropped, busy, refused) = (false, false, false, false);
        let reserve = Reserve { number, address, bytes, ends, opened, keep, cut, is_idle, dropped, busy, refused };
        self.inner.lock().all.push(reserve);
        number
    }

    /// The reserve that begins there.
    fn number_of(&self, address: u64) -> Option<u64> {
        self.inner.lock().all.iter().find(|reserve| reserve.address == address).map(|reserve| reserve.number)
    }

    /// The turn, unless another thread has it.
    fn turn(&self, number: u64) -> Option<Turn<'_>> {
        let free = self.of(number, |reserve| !std::mem::replace(&mut reserve.busy, true));
        (free == Some(true)).then_some(Turn { growth: self, number })
    }

    /// Objects of the driver: reserves and mappings.
    pub(crate) fn count(&self) -> usize {
        self.inner.lock().all.iter().map(|reserve| 1 + reserve.ends.len()).sum()
    }

    /// Whether something waits to be given back, or is being given back.
    pub(crate) fn has_work(&self) -> bool {
        self.inner.lock().all.iter().any(Reserve::has_work)
    }

    /// Something to give back; its reserve is busy until [`done`](Self::done).
    fn take_work(&self) -> Option<Work> {
        let mut inner = self.inner.lock();
        let reserve = inner.all.iter_mut().find(|reserve| reserve.has_work() && !reserve.busy)?;
        reserve.busy = true;
        let from = if reserve.dropped { 0 } else { reserve.keep };
        let mappings = mappings(reserve.address, &reserve.ends, from);
        let addresses = reserve.dropped.then_some((reserve.address, reserve.bytes));
        Some(Work { number: reserve.number, mappings, addresses })
    }

    /// So many of its mappings are unmapped; `all` of it is given back, or the driver refused the rest, which stays.
    fn done(&self, work: &Work, unmapped: usize, all: bool) {
        let mut inner = self.inner.lock();
        if all && work.addresses.is_some() {
            return inner.all.retain(|reserve| reserve.number != work.number);
        }
        if let Some(reserve) = inner.all.iter_mut().find(|reserve| reserve.number == work.number) {
            reserve.ends.truncate(reserve.ends.len().saturating_sub(unmapped));
            reserve.opened = reserve.opened.min(reserve.mapped());
            (reserve.busy, reserve.refused) = (false, !all);
        }
    }

    /// What was refused is tried again.
    fn again(&self) {
        self.inner.lock().all.iter_mut().for_each(|reserve| reserve.refused = false);
    }

    /// Forgets all of it, and returns what has to be given back.
    fn take_all(&self) -> Vec<Work> {
        let all = std::mem::take(&mut self.inner.lock().all);
        let work = |reserve: Reserve| Work {
            number: reserve.number,
            mappings: mappings(reserve.address, &reserve.ends, 0),
            addresses: Some((reserve.address, reserve.bytes)),
        };
        all.into_iter().map(work).collect()
    }

    /// Gives everything back at the end of the epoch.
    ///
    /// # Safety
    /// Everything is idle, and nothing of the epoch is used any more.
    pub(crate) unsafe fn destroy(&self, api: &Driver, gone: &mut dyn FnMut(Code)) {
        // SAFETY: the caller's promise.
        self.take_all().iter().for_each(|work| unsafe {
            let (unmapped, all) = give_back(api, work);
            // What is left leaks: mappings, and the addresses.
            let left = work.mappings.len() - unmapped + usize::from(!all);
            (0..left).for_each(|_| gone(Code(NOT_SUPPORTED)));
        });
    }
}

/// Unmaps, and frees the addresses, up to the first refusal. Returns how many mappings are gone, and whether all of it is.
///
/// # Safety
/// What is unmapped was mapped by this file, is unmapped once, and nothing uses it any more.
unsafe fn give_back(api: &Driver, work: &Work) -> (usize, bool) {
    let went = |code: Option<Code>| code.is_some_and(Code::is_success);
    // SAFETY: the caller's promise; each range is that of one mapping.
    let unmap = |(address, bytes): &&(u64, u64)| went(unsafe { api.mem_unmap(*address, *bytes as usize) });
    let unmapped = work.mappings.iter().take_while(unmap).count();
    // Addresses that have memory cannot be freed.
    let all = unmapped == work.mappings.len()
        && work.addresses.is_none_or(|(address, bytes)| {
            // SAFETY: the caller's promise; the range is that of a reserve.
            went(unsafe { api.mem_address_free(address, bytes as usize) })
        });
    (unmapped, all)
}

const NOT_SUPPORTED: i32 = 801;
/// `cuMemSetAccess` was seen to answer this while the GPU had much to do (WSL 2).
const NOT_READY: i32 = 600;
/// How often it is asked again then.
const MOST_ASKED: usize = 100;

fn absent(call: &str) -> Error {
    Error::unsupported(format!("growth in place needs `{call}`, which this driver lacks"))
}

/// What memory of this device is asked for.
fn properties(device: i32) -> MemoryProperties {
    const PINNED: i32 = 1;
    MemoryProperties { kind: PINNED, location: Location { kind: 1, id: device }, ..MemoryProperties::default() }
}

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

impl Core {
    /// The granularity of mappings. Refuses where there are none.
    fn granule(&self, epoch: &Arc<Epoch>) -> Result<u64> {
        const VIRTUAL_MEMORY: u32 = 102;
        const MINIMUM: u32 = 0;
        let known = self.memory.growth.granule.load(Ordering::Relaxed);
        if known > 0 {
            return Ok(known);
        }
        let api = self.context.api;
        let mut value = 0;
        // SAFETY: `value` is valid for the write.
        let code = unsafe { api.device_get_attribute(&mut value, VIRTUAL_MEMORY, self.context.device) };
        code.ok().map_err(|code| fault::classify(epoch, code, "cuDeviceGetAttribute"))?;
        if value == 0 {
            let what =
                "growth in place: this GPU, or its driver, has no virtual memory management (attribute 102 is 0)";
            return Err(Error::unsupported(what));
        }
        let _bound = self.context.bind_for(epoch)?;
        let mut granule = 0;
        // SAFETY: both pointers are valid.
        let code = unsafe { api.mem_granularity(&mut granule, &properties(self.context.device), MINIMUM) };
        let code = code.ok_or_else(|| absent("cuMemGetAllocationGranularity"))?;
        code.ok().map_err(|code| fault::classify(epoch, code, "cuMemGetAllocationGranularity"))?;
        let granule = (granule as u64).max(1);
        self.memory.growth.granule.store(granule, Ordering::Relaxed);
        Ok(granule)
    }

    /// Waits for a bounded time while another thread makes calls for the reserve.
    fn wait_for_turn(&self, number: u64) -> Result<Turn<'_>> {
        let start = self.timing.clock.start();
        let growth = &self.memory.growth;
        loop {
            if let Some(turn) = growth.turn(number) {
                return Ok(turn);
            }
            if growth.of(number, |_| ()).is_none() {
                return Err(Error::library("internal error: no such reserve of addresses"));
            }
            if start.elapsed() > self.timing.memory.others {
                return Err(Error::Timeout { waited: start.elapsed(), site: Site::none() });
            }
            clock::pause(self.timing.waits.glance);
        }
    }

    /// Maps `size` bytes of new memory there. After a refusal nothing is left; if the driver refuses that as well, `stays` lists the
    /// mapping, or the handle leaks. The context is current.
    fn map_more(&self, epoch: &Arc<Epoch>, address: u64, size: u64, stays: &mut dyn FnMut()) -> Result<()> {
        let api = self.context.api;
        let size = size as usize;
        let refused = |code: Option<Code>, call: &'static str| {
            let code = code.ok_or_else(|| absent(call))?;
            code.ok().map_err(|code| fault::refused(epoch, code, call, size))
        };
        let gone = |code: Option<Code>| {
            let failed = !code.is_some_and(Code::is_success);
            self.counters.leaked.fetch_add(u64::from(failed), Ordering::Relaxed);
        };
        let mut handle = 0;
        // SAFETY: both pointers are valid; the context is current.
        let made = unsafe { api.mem_create(&mut handle, size, &properties(self.context.device), 0) };
        refused(made, "cuMemCreate")?;
        // SAFETY: the range lies in a reserve of ours, whose turn this thread has, and nothing is mapped there; the handle was just
        // made, with this size.
        let mapped = unsafe { api.mem_map(address, size, 0, handle, 0) };
        // SAFETY: the handle is released once. What is mapped stays.
        let released = unsafe { api.mem_release(handle) };
        refused(mapped, "cuMemMap").inspect_err(|_| gone(released))?;
        let open = refused(released, "cuMemRelease")
            .inspect_err(|_| gone(released))
            .and_then(|()| self.open(epoch, address, size as u64));
        open.inspect_err(|_| {
            // SAFETY: mapped above, and nothing knows of it.
            if !unsafe { api.mem_unmap(address, size) }.is_some_and(Code::is_success) {
                stays();
            }
        })
    }

    /// This GPU and its peers get access. The context is current, and this thread has the reserve's turn.
    fn open(&self, epoch: &Arc<Epoch>, address: u64, size: u64) -> Result<()> {
        let mut all = vec![self.context.device];
        all.extend(&self.memory.growth.inner.lock().peers);
        let code = self.set_access(address, size, &all);
        code.ok().map_err(|code| fault::refused(epoch, code, "cuMemSetAccess", size as usize))
    }

    /// These GPUs may read and write what is mapped there.
    fn set_access(&self, address: u64, size: u64, devices: &[i32]) -> Code {
        const READ_WRITE: i32 = 3;
        let all = devices.iter().map(|id| Access { location: Location { kind: 1, id: *id }, flags: READ_WRITE });
        let all: Vec<Access> = all.collect();
        for _ in 0..MOST_ASKED {
            // SAFETY: the descriptions are valid; the range is mapped, and this thread has the reserve's turn.
            let code = unsafe { self.context.api.mem_set_access(address, size as usize, all.as_ptr(), all.len()) };
            match code {
                Some(Code(NOT_READY)) => clock::pause(self.timing.waits.glance),
                Some(code) => return code,
                None => return Code(NOT_SUPPORTED),
            }
        }
        Code(NOT_READY)
    }

    /// Gives back what nothing uses any more: dropped reserves, and what lies behind a shrinking; also what was refused before, if
    /// memory is short.
    pub(crate) fn free_dropped_growth(&self, is_short: bool) {
        if is_short {
            self.memory.growth.again();
        }
        while self.memory.growth.has_work() {
            // The epoch does not end meanwhile. No lease: the driver may wait for work of other code on the GPU.
            let inside = self.streams.waits().enter();
            if self.streams.have_ended() {
                return;
            }
            let Some(work) = self.memory.growth.take_work() else { return };
            let (unmapped, all) = match self.context.bind() {
                // SAFETY: its reserve is busy, so given back once. All its uses are complete: its owner was dropped behind them.
                Ok(_bound) => unsafe { give_back(self.context.api, &work) },
                Err(_) => (0, false),
            };
            // Before the epoch may end, which would give it back again.
            self.memory.growth.done(&work, unmapped, all);
            drop(inside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(growth: &Arc<Growth>, number: u64, cut: Option<u64>) -> Held {
        Held { number, cut, growth: growth.clone(), nudge: Nudge::idle() }
    }

    fn mapped(growth: &Growth, number: u64, ends: &[u64], keep: u64) {
        growth.of(number, |reserve| (reserve.ends, reserve.keep) = (ends.to_vec(), keep)).unwrap();
    }

    #[test]
    fn only_whole_mappings_behind_what_is_kept_go_and_the_last_one_first() {
        let growth = Arc::new(Growth::default());
        let number = growth.add(0x1000, 100);
        mapped(&growth, number, &[10, 20, 40], 10);
        assert!(!growth.has_work() && growth.take_work().is_none(), "work may be in flight");
        growth.of(number, |reserve| reserve.cut = 7).unwrap();
        drop(held(&growth, number, Some(6)));
        assert!(!growth.has_work(), "an earlier shrinking, which growth has ended");
        drop(held(&growth, number, Some(7)));
        let work = growth.take_work().unwrap();
        assert_eq!((&*work.mappings, work.addresses), (&[(0x1014, 20), (0x100a, 10)][..], None));
        assert!(growth.has_work() && growth.take_work().is_none() && growth.turn(number).is_none(), "it is busy");
        growth.done(&work, 1, false);
        assert!(!growth.has_work() && growth.count() == 3, "the second was refused");
        growth.again();
        let work = growth.take_work().unwrap();
        assert_eq!(work.mappings, [(0x100a, 10)]);
        growth.done(&work, 1, true);
        assert!(!growth.has_work() && growth.count() == 2);
        drop(growth.turn(number).unwrap());
        drop(held(&growth, number, None));
        let work = growth.take_work().unwrap();
        assert_eq!((&*work.mappings, work.addresses), (&[(0x1000, 10)][..], Some((0x1000, 100))));
        growth.done(&work, 1, false);
        assert_eq!((growth.count(), growth.has_work()), (1, false), "the addresses were refused");
        growth.again();
        let work = growth.take_work().unwrap();
        assert!(work.mappings.is_empty());
        growth.done(&work, 0, true);
        assert_eq!((growth.count(), growth.has_work()), (0, false));
        drop(held(&growth, number, None)); // finds nothing
    }

    #[test]
    fn a_mapping_covers_what_lies_before_its_end() {
        let growth = Growth::default();
        let number = growth.add(0, 100);
        mapped(&growth, number, &[10, 20], 20);
        let covering = |to| growth.of(number, |reserve| reserve.covering(to)).unwrap();
        assert_eq!([0, 1, 10, 11, 20, 21].map(covering), [Some(0), Some(10), Some(10), Some(20), Some(20), None]);
        assert_eq!(growth.take_all().iter().map(|work| work.mappings.len()).sum::<usize>(), 2);
        assert_eq!(growth.count(), 0);
    }
}
