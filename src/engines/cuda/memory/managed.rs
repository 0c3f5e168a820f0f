//! Managed memory: pages that the driver moves between the GPU and the host.
//!
//! It is not of the pool. `cuMemFree` may wait for the GPU, so what is dropped is listed here, and freed by the housekeeping
//! thread while nothing of this crate is in flight, when memory is short, or at the end of the epoch.
//!
//! While a slice of it is out, the host reads or writes the pages. The end of an epoch frees them, so it waits for the
//! slices, as it waits for work in flight: a rebuild fails with a timeout, a device that is dropped is torn down later.

use crate::core::buffer::{Allocation, Owner};
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::order::AccessHistory;
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::engines::config::EngineConfig;
use crate::engines::cuda::api::{Code, Driver, Location};
use crate::engines::cuda::context::fault;
use crate::engines::cuda::dispatch::Queue;
use crate::engines::cuda::housekeeping::Nudge;
use crate::engines::cuda::{Core, CudaEngine};

/// No page belongs to two allocations, nor any block of pages of which the driver may move all when a kernel touches some: a kernel that
/// runs beside a slice must not take its pages along. Only what is touched takes memory.
const PAGE: u64 = 2 << 20;

/// The managed memory of one epoch.
#[derive(Debug, Default)]
pub(crate) struct Managed {
    pieces: Mutex<Pieces>,
    /// How many slices of it the program holds.
    slices: AtomicU64,
}

#[derive(Debug, Default)]
struct Pieces {
    all: Vec<Piece>,
    /// The number of the next piece.
    next: u64,
    /// The size of all pieces, and of those that are about to be made or are being freed.
    bytes: u64,
    /// How many pieces are being freed.
    freeing: usize,
}

#[derive(Debug)]
struct Piece {
    number: u64,
    address: u64,
    bytes: u64,
    /// Nothing uses it any more.
    dropped: bool,
}

/// What owns a piece; its drop makes no driver call.
struct Held {
    number: u64,
    managed: Arc<Managed>,
    nudge: Arc<Nudge>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let is_listed = {
            let mut pieces = self.managed.pieces.lock();
            let piece = pieces.all.iter_mut().find(|piece| piece.number == self.number);
            piece.map(|piece| piece.dropped = true).is_some()
        };
        // The end of its epoch may have freed it.
        if is_listed {
            self.nudge.nudge();
        }
    }
}

/// Keeps the epoch from its end while the program holds a slice.
#[derive(Debug)]
pub(crate) struct SliceHold(Arc<Managed>);

impl Drop for SliceHold {
    fn drop(&mut self) {
        self.0.slices.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Managed {
    /// Whether the program holds slices.
    pub(crate) fn has_slices(&self) -> bool {
        self.slices.load(Ordering::SeqCst) > 0
    }

    /// Whether something waits to be freed, or is being freed.
    pub(crate) fn has_dropped(&self) -> bool {
        let pieces = self.pieces.lock();
        pieces.freeing > 0 || pieces.all.iter().any(|piece| piece.dropped)
    }

    /// The number of pieces.
    pub(crate) fn count(&self) -> usize {
        self.pieces.lock().all.len()
    }

    /// Bytes of all pieces.
    fn bytes(&self) -> u64 {
        self.pieces.lock().bytes
    }

    /// Counts `bytes` as used, if so many are free, as if no page of the others were on the GPU.
    fn reserve(&self, bytes: u64, free: u64) -> bool {
        let mut pieces = self.pieces.lock();
        let fits = pieces.bytes.checked_add(bytes).filter(|all| *all <= free);
        fits.map(|all| pieces.bytes = all).is_some()
    }

    fn unreserve(&self, bytes: u64) {
        self.pieces.lock().bytes -= bytes;
    }

    /// Adds a piece, whose bytes are counted already, and returns its number.
    fn add(&self, address: u64, bytes: u64) -> u64 {
        let mut pieces = self.pieces.lock();
        let number = pieces.next;
        pieces.next += 1;
        pieces.all.push(Piece { number, address, bytes, dropped: false });
        number
    }

    /// Takes a piece out that nothing uses any more. Its bytes count until [`freed`](Self::freed).
    fn take_dropped(&self) -> Option<Piece> {
        let mut pieces = self.pieces.lock();
        let place = pieces.all.iter().position(|piece| piece.dropped)?;
        pieces.freeing += 1;
        Some(pieces.all.swap_remove(place))
    }

    /// A piece that was taken out is freed.
    fn freed(&self, piece: &Piece) {
        let mut pieces = self.pieces.lock();
        pieces.freeing -= 1;
        pieces.bytes -= piece.bytes;
    }

    /// The addresses of all pieces, which are forgotten here.
    pub(crate) fn take_all(&self) -> Vec<u64> {
        let mut pieces = self.pieces.lock();
        pieces.bytes -= pieces.all.iter().map(|piece| piece.bytes).sum::<u64>();
        std::mem::take(&mut pieces.all).into_iter().map(|piece| piece.address).collect()
    }
}

/// Where pages can be, as the driver names it.
pub(crate) fn location(device: Option<i32>) -> Location {
    device.map_or(Location { kind: 2, id: 0 }, |id| Location { kind: 1, id })
}

fn absent(call: &str) -> Error {
    Error::unsupported(format!("managed memory needs `{call}`, which this driver lacks: CUDA 12.2 or later has it"))
}

impl CudaEngine {
    /// Allocates managed memory.
    pub(crate) fn allocate_managed(
        &self,
        epoch: &Arc<Epoch>,
        bytes: usize,
        config: &EngineConfig,
    ) -> Result<(Arc<Allocation>, AccessHistory)> {
        self.core.check_managed(epoch)?;
        if bytes == 0 {
            return Self::nothing(epoch);
        }
        let attempt = || self.try_managed(epoch, bytes);
        match attempt() {
            Err(Error::OutOfMemory { .. }) => {}
            other => return other,
        }
        self.climb(epoch, config, &attempt).map_err(|mut error| {
            if let Error::OutOfMemory { free, .. } = &mut error {
                *free = free.saturating_sub(self.core.memory.managed.bytes());
            }
            error
        })
    }

    fn try_managed(&self, epoch: &Arc<Epoch>, bytes: usize) -> Result<(Arc<Allocation>, AccessHistory)> {
        epoch.meter.take(bytes as u64)?;
        let made = self.fresh_managed(epoch, bytes);
        let (address, number) = made.inspect_err(|_| epoch.meter.give(bytes as u64))?;
        let core = &self.core;
        let (managed, nudge) = (core.memory.managed.clone(), core.memory.reclaim.nudge.clone());
        let home = self.lent(Owner::new(Box::new(Held { number, managed, nudge })));
        // Without a stream, which no engine is, the piece is dropped here.
        let home = home.ok_or_else(|| Error::library("internal error: no stream"));
        let home = home.inspect_err(|_| epoch.meter.give(bytes as u64))?;
        let allocation = Allocation::new(address, bytes as u64, home, epoch.meter.clone());
        Ok((Arc::new(allocation), AccessHistory::default()))
    }

    /// Address and number of a new piece. Never more than the GPU has free: a GPU that lacks room for the pages that its
    /// kernels use moves them to and fro, and may appear to hang.
    fn fresh_managed(&self, epoch: &Arc<Epoch>, bytes: usize) -> Result<(u64, u64)> {
        const ATTACH_GLOBAL: u32 = 1;
        let (core, managed) = (&self.core, &self.core.memory.managed);
        let size = (bytes as u64).next_multiple_of(PAGE);
        // No lease: the driver may wait for whatever the GPU does.
        let _inside = core.streams.waits().enter();
        epoch.go_on()?;
        let _bound = core.context.bind_for(epoch)?;
        let api = core.context.api;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: the pointers are valid; the epoch does not end while this thread is inside.
        let code = unsafe { api.mem_get_info(&mut free, &mut total) };
        code.ok().map_err(|code| fault::classify(epoch, code, "cuMemGetInfo"))?;
        if !managed.reserve(size, free as u64) {
            return Err(Error::out_of_memory(bytes as u64, [0; 3]));
        }
        let mut address = 0;
        let made = match usize::try_from(size) {
            // SAFETY: the pointer is valid; the context is current.
            Ok(size) => unsafe { api.mem_alloc_managed(&mut address, size, ATTACH_GLOBAL) },
            Err(_) => None,
        };
        let made = made.ok_or_else(|| absent("cuMemAllocManaged"));
        made.and_then(|code| code.ok().map_err(|code| fault::refused(epoch, code, "cuMemAllocManaged", bytes)))
            .inspect_err(|_| managed.unreserve(size))?;
        Ok((address, managed.add(address, size)))
    }

    /// Advice about pages, by its number in `CUmem_advise`. Waits for nothing.
    pub(crate) fn advise(
        &self,
        epoch: &Arc<Epoch>,
        (address, bytes): (u64, usize),
        (advice, device): (u32, bool),
    ) -> Result<()> {
        let core = &self.core;
        let _lease = core.streams.lease(&[]);
        epoch.admit()?;
        let _bound = core.context.bind_for(epoch)?;
        let to = location(device.then_some(core.context.device));
        // SAFETY: the caller holds a handle of the memory, which is managed.
        let code = unsafe { core.context.api.mem_advise(address, bytes, advice, to) };
        let code = code.ok_or_else(|| absent("cuMemAdvise_v2"))?;
        code.ok().map_err(|code| fault::classify(epoch, code, "cuMemAdvise"))
    }

    /// For a slice that is about to be handed out: the epoch does not end before it is dropped.
    pub(crate) fn hold_slice(&self, epoch: &Arc<Epoch>) -> Result<SliceHold> {
        let managed = self.core.memory.managed.clone();
        managed.slices.fetch_add(1, Ordering::SeqCst);
        let hold = SliceHold(managed);
        // After it is counted: who closes admission, and then looks for slices, sees this one, or this sees that.
        std::sync::atomic::fence(Ordering::SeqCst);
        epoch.admit()?;
        Ok(hold)
    }
}

impl Core {
    fn check_managed(&self, epoch: &Arc<Epoch>) -> Result<()> {
        const MANAGED: u32 = 83;
        const CONCURRENT_ACCESS: u32 = 89;
        let has = |which| {
            let mut value = 0;
            // SAFETY: `value` is valid for the write.
            let code = unsafe { self.context.api.device_get_attribute(&mut value, which, self.context.device) };
            code.ok().map_err(|code| fault::classify(epoch, code, "cuDeviceGetAttribute")).map(|()| value != 0)
        };
        let _inside = self.streams.waits().enter();
        epoch.go_on()?;
        let reason = if !has(MANAGED)? {
            "this GPU, or its driver, has no managed memory"
        } else if !has(CONCURRENT_ACCESS)? {
            "on this system the host must not touch managed memory while any kernel runs (attribute 89, concurrent managed \
             access, is 0: as on Windows and WSL), so no slice of it would be safe; use `upload` and `download`"
        } else {
            return Ok(());
        };
        Err(Error::unsupported(reason))
    }

    /// Frees dropped managed memory, as long as nothing of this epoch is in flight.
    pub(crate) fn free_dropped_managed(&self) {
        let managed = &self.memory.managed;
        while !self.streams.have_ended() && self.late.in_flight() == 0 && self.streams.are_idle() {
            // The epoch does not end meanwhile. No lease: the free may wait for work of other code on the GPU.
            let inside = self.streams.waits().enter();
            if self.streams.have_ended() {
                return;
            }
            let Some(piece) = managed.take_dropped() else { return };
            let code = match self.context.bind() {
                // SAFETY: from `mem_alloc_managed`, taken out of the list, so freed once. All its uses are complete: its
                // owner was dropped behind them.
                Ok(_bound) => unsafe { self.context.api.mem_free(piece.address) },
                Err(code) => code,
            };
            drop(inside);
            managed.freed(&piece);
            if !code.is_success() {
                self.counters.leaked.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
    }
}

impl Managed {
    /// Frees all pieces at the end of the epoch.
    ///
    /// # Safety
    /// Everything is idle, no slice is out, and the context is current.
    pub(crate) unsafe fn destroy(&self, api: &Driver, gone: &mut dyn FnMut(Code)) {
        for address in self.take_all() {
            // SAFETY: from `mem_alloc_managed`, not freed yet: it was still listed. The caller promises the rest.
            gone(unsafe { api.mem_free(address) });
        }
    }
}

impl Queue<'_> {
    /// Moves pages to the device, or to the host.
    ///
    /// # Safety
    /// They are managed memory of an operand of this dispatch.
    pub(crate) unsafe fn prefetch(&mut self, (address, bytes): (u64, usize), device: bool) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let to = location(device.then_some(self.core.context.device));
        let stream = self.stream();
        // SAFETY: the caller's promise; the stream is alive under the lease.
        let code = unsafe { self.core.context.api.mem_prefetch_async(address, bytes, to, 0, stream) };
        self.check("cuMemPrefetchAsync", code.ok_or_else(|| absent("cuMemPrefetchAsync_v2"))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_from_the_reservation_until_they_are_freed() {
        let managed = Managed::default();
        assert!(managed.reserve(60, 100) && !managed.reserve(41, 100) && managed.reserve(40, 100));
        assert!(!managed.reserve(u64::MAX, u64::MAX), "no overflow");
        managed.unreserve(40);
        let number = managed.add(0x1000, 60);
        assert!(managed.take_dropped().is_none() && !managed.has_dropped());
        drop(Held { number, managed: Arc::new(Managed::default()), nudge: Nudge::idle() });
        assert!(!managed.has_dropped(), "of another epoch");
        let managed = Arc::new(managed);
        drop(Held { number, managed: managed.clone(), nudge: Nudge::idle() });
        assert!(managed.has_dropped() && managed.bytes() == 60);
        let piece = managed.take_dropped().unwrap();
        assert_eq!((piece.address, piece.bytes, managed.count()), (0x1000, 60, 0));
        assert!(managed.has_dropped() && managed.bytes() == 60, "it is being freed");
        managed.freed(&piece);
        assert!(!managed.has_dropped() && managed.bytes() == 0);
        let second = managed.add(0x2000, 0);
        assert_ne!(second, number);
        assert_eq!((managed.take_all(), managed.bytes()), (vec![0x2000], 0));
        // Its handle outlives the epoch, and finds nothing to free.
        drop(Held { number: second, managed: managed.clone(), nudge: Nudge::idle() });
        assert!(!managed.has_dropped());
    }
}
