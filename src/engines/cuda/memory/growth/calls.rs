//! The driver's calls for reserves: none of them under the lock of the list.

use super::reserves::{Growth, Turn, Work};
use crate::core::clock;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result, Site};
use crate::core::sync::{Arc, Ordering};
use crate::engines::cuda::Core;
use crate::engines::cuda::api::{Access, Code, Driver, Location, MemoryProperties};
use crate::engines::cuda::context::fault;

const NOT_SUPPORTED: i32 = 801;
/// `cuMemSetAccess` was seen to answer this while the GPU had much to do (WSL 2).
const NOT_READY: i32 = 600;
/// How often it is asked again then.
const MOST_ASKED: usize = 100;

pub(super) fn absent(call: &str) -> Error {
    Error::unsupported(format!("growth in place needs `{call}`, which this driver lacks"))
}

/// What memory of this device is asked for.
fn properties(device: i32) -> MemoryProperties {
    const PINNED: i32 = 1;
    MemoryProperties { kind: PINNED, location: Location { kind: 1, id: device }, ..MemoryProperties::default() }
}

impl Growth {
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

impl Core {
    /// The granularity of mappings. Refuses where there are none.
    pub(super) fn granule(&self, epoch: &Arc<Epoch>) -> Result<u64> {
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
    pub(super) fn wait_for_turn(&self, number: u64) -> Result<Turn<'_>> {
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
    pub(super) fn map_more(&self, epoch: &Arc<Epoch>, address: u64, size: u64, stays: &mut dyn FnMut()) -> Result<()> {
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
    pub(super) fn open(&self, epoch: &Arc<Epoch>, address: u64, size: u64) -> Result<()> {
        let mut all = vec![self.context.device];
        all.extend(&self.memory.growth.inner.lock().peers);
        let code = self.set_access(address, size, &all);
        code.ok().map_err(|code| fault::refused(epoch, code, "cuMemSetAccess", size as usize))
    }

    /// These GPUs may read and write what is mapped there.
    pub(super) fn set_access(&self, address: u64, size: u64, devices: &[i32]) -> Code {
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
