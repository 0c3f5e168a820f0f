//! A piece of an engine's memory.

use super::access_history::AccessHistory;
use super::host_memory::HostMemory;
use crate::error::Site;
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering};
use crate::{Error, Result};

/// Counts bytes against a device's limit.
#[derive(Debug)]
pub(crate) struct Meter {
    used: AtomicU64,
    /// The part of `used` that belongs to no buffer: caches, kept while memory is not short.
    held: AtomicU64,
    peak: AtomicU64,
    limit: AtomicU64,
    /// Bytes there are.
    total: u64,
    count: AtomicU64,
}

impl Meter {
    /// For memory of `total` bytes, of which `limit` may be used.
    pub(crate) fn new(limit: u64, total: u64) -> Self {
        Meter {
            used: AtomicU64::new(0),
            held: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            limit: AtomicU64::new(limit),
            total,
            count: AtomicU64::new(0),
        }
    }

    /// For the next life, with memory of its own: what the life before used went with it, whoever still has handles.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    pub(crate) fn again(&self) -> Self {
        let next = Meter::new(self.limit(), self.total);
        next.peak.store(self.peak(), Ordering::Relaxed);
        next
    }

    /// Takes `bytes` from the limit, or says how much is left.
    pub(crate) fn take(&self, bytes: u64) -> Result<()> {
        let Some(before) = self.reserve(bytes) else { return Err(self.refusal(bytes)) };
        let now = (before + bytes).saturating_sub(self.held());
        // A load is cheaper than a locked instruction, and a peak is rare.
        if now > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(now, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Takes `bytes` from the limit, and says how many were taken before; never past it, not even for a moment: a request
    /// that is refused takes nothing from others.
    fn reserve(&self, bytes: u64) -> Option<u64> {
        let limit = self.limit.load(Ordering::Relaxed);
        let fits = |used: u64| used.checked_add(bytes).filter(|now| *now <= limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()
    }

    /// Takes `bytes` from the limit for a cache, which is freed when a buffer needs the memory. False if the limit does not allow it.
    #[cfg(feature = "cuda")]
    pub(crate) fn hold(&self, bytes: u64) -> bool {
        let held = self.reserve(bytes).is_some();
        if held {
            self.held.fetch_add(bytes, Ordering::Relaxed);
        }
        held
    }

    /// Gives back what was held.
    #[cfg(feature = "cuda")]
    pub(crate) fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes of the limit that are no buffer's.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// There is no memory for `bytes`.
    pub(crate) fn refusal(&self, bytes: u64) -> Error {
        let (total, limit) = (self.total, self.limit());
        let free = limit.min(total).saturating_sub(self.used());
        Error::OutOfMemory { requested: bytes, free, total, limit, site: Site::none() }
    }

    /// Gives `bytes` back.
    pub(crate) fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Bytes that buffers use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed).saturating_sub(self.held())
    }

    /// The most bytes that were ever in use.
    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// The limit in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Allocations alive.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// Who takes the bytes back.
#[derive(Debug)]
pub(crate) enum Home {
    /// Zero bytes: nobody.
    Empty,
    /// The process's allocator, when it is dropped.
    Host(#[expect(dead_code, reason = "owned")] HostMemory),
    /// A CUDA engine's pool.
    #[cfg(feature = "cuda")]
    Cuda(crate::cuda::PoolBytes),
    /// A worker process.
    #[cfg(target_os = "linux")]
    Worker(crate::worker::WorkerBytes),
}

/// Some bytes of an engine's memory, and how they go back. Holds no epoch.
#[derive(Debug)]
pub(crate) struct Allocation {
    /// Where it begins: a host or a device address.
    pub(crate) address: u64,
    /// How long it is.
    pub(crate) bytes: u64,
    pub(crate) home: Home,
    meter: Arc<Meter>,
    regions: AtomicUsize,
    /// It had several regions at a time; most never have.
    parted: AtomicBool,
    /// What the regions that are gone had in flight. Used once it is parted.
    uses: Mutex<AccessHistory>,
}

impl Allocation {
    /// The meter must already have been charged with `bytes`; the allocation gives them back when it ends.
    pub(crate) fn new(address: u64, bytes: u64, home: Home, meter: Arc<Meter>) -> Self {
        let (regions, parted, uses) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::default());
        Allocation { address, bytes, home, meter, regions, parted, uses }
    }

    /// Memory of this process, aligned for every element and for vector instructions: zeroed, or with anything in it.
    pub(crate) fn host(bytes: usize, zeroed: bool, meter: Arc<Meter>) -> Result<Self> {
        meter.take(bytes as u64)?;
        if bytes == 0 {
            // Never dereferenced.
            return Ok(Self::new(64, 0, Home::Empty, meter));
        }
        match HostMemory::new(bytes, zeroed) {
            Some(memory) => Ok(Self::new(memory.address(), bytes as u64, Home::Host(memory), meter)),
            None => {
                meter.give(bytes as u64);
                Err(meter.refusal(bytes as u64))
            }
        }
    }

    /// No bytes, of no device.
    pub(super) fn nothing() -> Self {
        Self::uncounted(64, Home::Empty)
    }

    /// No bytes, and counted by no device: it stands for something else than memory.
    pub(crate) fn uncounted(address: u64, home: Home) -> Self {
        let meter = Meter::new(0, 0);
        meter.count.fetch_add(1, Ordering::Relaxed); // the drop takes it off
        Self::new(address, 0, home, Arc::new(meter))
    }

    /// It is memory of a worker process.
    #[cfg(target_os = "linux")]
    pub(super) fn is_remote(&self) -> bool {
        matches!(self.home, Home::Worker(_))
    }

    pub(super) fn add_region(&self) {
        // Seen by whoever ends a region: a second one is made from the first, before that ends.
        if self.regions.fetch_add(1, Ordering::Relaxed) > 0 {
            self.parted.store(true, Ordering::Release);
        }
    }

    /// Its regions are gone, and its bytes are to be used again.
    #[cfg(feature = "cuda")]
    pub(crate) fn renew(&self) {
        self.regions.store(0, Ordering::Relaxed);
        self.parted.store(false, Ordering::Relaxed);
    }

    /// One region ended with `track` in flight. The last one gives device memory back to its pool, together with all
    /// that is in flight on it; host memory is freed by the last `Arc`, of which work in flight holds its own.
    pub(super) fn end_region(self: &Arc<Self>, track: AccessHistory) {
        match &self.home {
            Home::Empty | Home::Host(_) => {}
            // Work in flight holds its own `Arc`, as on the host.
            #[cfg(target_os = "linux")]
            Home::Worker(_) => {}
            #[cfg(feature = "cuda")]
            Home::Cuda(pool) if !self.parted.load(Ordering::Acquire) => pool.release(self, track),
            #[cfg(feature = "cuda")]
            Home::Cuda(pool) => {
                let mut uses = self.uses.lock();
                uses.absorb(track);
                // Under the lock, so that the last one sees what all the others left.
                let last = self.regions.fetch_sub(1, Ordering::AcqRel) == 1;
                if last {
                    let uses = std::mem::take(&mut *uses);
                    pool.release(self, uses);
                }
            }
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if let Home::Worker(bytes) = &self.home {
            bytes.release(self.address);
        }
        self.meter.give(self.bytes);
    }
}
