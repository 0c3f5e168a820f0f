//! A piece of an engine's memory.

use super::capture::Captures;
use super::home::Home;
use super::host_memory::HostMemory;
use super::ledger::Ledger;
use super::reserve::Reserve;
use crate::core::error::{Error, Result};
use crate::core::harsh::Harsh;
use crate::core::order::AccessHistory;
use crate::core::sync::{Arc, AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering};

/// Counts bytes against a device's limit.
#[derive(Debug)]
pub(crate) struct Meter {
    used: AtomicU64,
    /// The part of `used` that belongs to caches, not to buffers. Caches are freed when memory is short.
    held: AtomicU64,
    peak: AtomicU64,
    limit: AtomicU64,
    /// The size of the memory in bytes.
    total: u64,
    count: AtomicU64,
    /// Addresses that are reserved for allocations that grow. They are no memory, and have no limit of ours.
    addresses: AtomicU64,
    ledger: Ledger,
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
            addresses: AtomicU64::new(0),
            ledger: Ledger::new(),
        }
    }

    /// A meter for the next generation, which has memory of its own. What the old generation used is gone, even if
    /// handles of it still exist.
    #[cfg(any(feature = "cuda", target_os = "linux"))]
    pub(crate) fn again(&self) -> Self {
        let next = Meter::new(self.limit(), self.total);
        next.peak.store(self.peak(), Ordering::Relaxed);
        next
    }

    /// Charges `bytes` against the limit. The error tells how much is left.
    pub(crate) fn take(&self, bytes: u64) -> Result<()> {
        self.take_more(bytes)?;
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The same for an allocation that is counted already.
    fn take_more(&self, bytes: u64) -> Result<()> {
        let Some(before) = self.reserve(bytes) else { return Err(self.refusal(bytes)) };
        let now = (before + bytes).saturating_sub(self.held());
        // A load is cheaper than a locked instruction, and a peak is rare.
        if now > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(now, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Charges `bytes` against the limit, and returns how many were charged before. `used` never exceeds the limit, not
    /// even for a moment, so a refused request takes nothing from others.
    fn reserve(&self, bytes: u64) -> Option<u64> {
        let limit = self.limit.load(Ordering::Relaxed);
        let fits = |used: u64| used.checked_add(bytes).filter(|now| *now <= limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()
    }

    /// Charges `bytes` for a cache, which is freed when a buffer needs the memory. False if the limit does not allow
    /// it.
    #[cfg(feature = "cuda")]
    pub(crate) fn hold(&self, bytes: u64) -> bool {
        let held = self.reserve(bytes).is_some();
        if held {
            self.held.fetch_add(bytes, Ordering::Relaxed);
        }
        held
    }

    /// Returns what [`hold`](Self::hold) charged.
    #[cfg(feature = "cuda")]
    pub(crate) fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Charged bytes that belong to caches, not to buffers.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// The error when there is no memory for `bytes`.
    pub(crate) fn refusal(&self, bytes: u64) -> Error {
        let (total, limit) = (self.total, self.limit());
        let free = limit.min(total).saturating_sub(self.used());
        Error::out_of_memory(bytes, [free, total, limit])
    }

    /// Adds the largest living allocations to an out-of-memory error that names none.
    #[cold]
    pub(crate) fn name_largest(&self, mut error: Error) -> Error {
        if let Error::OutOfMemory { largest, .. } = &mut error
            && largest.is_empty()
        {
            *largest = self.ledger.named();
        }
        error
    }

    /// The living allocations that a report names.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns `bytes` that [`take`](Self::take) charged.
    pub(crate) fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Bytes that buffers use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed).saturating_sub(self.held())
    }

    /// The most bytes that buffers have used at one time.
    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// The limit in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Addresses that are reserved for allocations that grow.
    pub(crate) fn addresses(&self) -> u64 {
        self.addresses.load(Ordering::Relaxed)
    }

    /// The number of live allocations.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// Some bytes of an engine's memory, and how they are returned. Holds no epoch.
#[derive(Debug)]
pub(crate) struct Allocation {
    /// A host or a device address; for memory of a worker process, a number that identifies it.
    pub(crate) address: u64,
    /// The length in bytes; of one that grows, that of its reserve of addresses.
    pub(crate) bytes: u64,
    /// How many bytes of the memory lie before the address: none, but in tests (`shift.rs`).
    pub(crate) lead: u32,
    pub(crate) home: Home,
    meter: Arc<Meter>,
    /// What the meter was charged, which the drop returns: the length, or what addresses of a reserve have got memory.
    charged: AtomicU64,
    /// Only of one that grows.
    reserve: Option<Box<Reserve>>,
    regions: AtomicUsize,
    /// It has had several regions at one time; most allocations never have.
    parted: AtomicBool,
    /// What the dropped regions had in flight. Used only if `parted`.
    uses: Mutex<AccessHistory>,
    pub(super) captures: Captures,
    /// Its number in the meter's ledger; 0 if it is not listed there.
    listed: AtomicU32,
    /// Whether it is managed memory: [`MANAGED`], [`KEPT`], [`PERHAPS`], or 0.
    managed: AtomicU8,
}

/// The host can read and write it where it lies.
const MANAGED: u8 = 1;
/// The driver was told to keep its pages on the host, besides.
#[cfg(feature = "cuda")]
const KEPT: u8 = 2;
/// It was told so, or told that back, in part.
#[cfg(feature = "cuda")]
const PERHAPS: u8 = 3;

impl Allocation {
    /// The meter must already have been charged with `bytes`; the allocation returns them when it is dropped.
    pub(crate) fn new(address: u64, bytes: u64, home: Home, meter: Arc<Meter>) -> Self {
        let (regions, parted, uses) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::default());
        let (captures, listed, managed) = (Captures::default(), AtomicU32::new(0), AtomicU8::new(0));
        let (lead, charged, reserve) = (0, AtomicU64::new(bytes), None);
        Allocation {
            address,
            bytes,
            lead,
            home,
            meter,
            charged,
            reserve,
            regions,
            parted,
            uses,
            captures,
            listed,
            managed,
        }
    }

    /// A reserve of `bytes` addresses without memory. The meter must have counted an allocation of no bytes.
    pub(crate) fn growing(
        (address, bytes): (u64, u64),
        home: Home,
        meter: Arc<Meter>,
        label: Option<&'static str>,
    ) -> Self {
        meter.addresses.fetch_add(bytes, Ordering::Relaxed);
        let mut allocation = Self::new(address, bytes, home, meter);
        (allocation.charged, allocation.reserve) = (AtomicU64::new(0), Some(Box::new(Reserve::new(label))));
        allocation
    }

    /// What is known of its growth; `None` if it does not grow.
    pub(crate) fn reserve(&self) -> Option<&Reserve> {
        self.reserve.as_deref()
    }

    /// The bytes from its beginning that handles may have.
    pub(crate) fn usable(&self) -> u64 {
        self.reserve().map_or(self.bytes, |reserve| reserve.used() as u64)
    }

    /// What the meter was charged for it.
    pub(crate) fn charged(&self) -> u64 {
        self.charged.load(Ordering::Relaxed)
    }

    /// Charges what lies below `to` and was not charged yet. Only one thread grows or shrinks an allocation at a time.
    pub(crate) fn charge_to(&self, to: u64) -> Result<()> {
        match to.checked_sub(self.charged()) {
            None | Some(0) => Ok(()),
            Some(more) => self.meter.take_more(more).map(|()| self.recharged(to)),
        }
    }

    /// Returns what was charged for what lies behind `to`.
    pub(crate) fn uncharge_to(&self, to: u64) {
        if let Some(less) = self.charged().checked_sub(to).filter(|less| *less > 0) {
            self.meter.used.fetch_sub(less, Ordering::Relaxed);
            self.recharged(to);
        }
    }

    fn recharged(&self, now: u64) {
        self.charged.store(now, Ordering::Relaxed);
        self.name(self.reserve().and_then(Reserve::label));
    }

    /// The same, of memory that begins `lead` bytes before the address.
    pub(crate) fn behind(mut self, lead: usize) -> Self {
        self.lead = lead as u32;
        self
    }

    /// Memory of this process, aligned for every element type and for vector instructions: zeroed, or with arbitrary
    /// contents.
    pub(crate) fn host(bytes: usize, lead: usize, zeroed: bool, meter: Arc<Meter>) -> Result<Self> {
        meter.take(bytes as u64)?;
        if bytes == 0 {
            // Never dereferenced.
            return Ok(Self::new(64, 0, Home::Empty, meter));
        }
        if let Some(memory) = Harsh::new(bytes, zeroed) {
            return Ok(Self::new(memory.address(), bytes as u64, Home::Harsh(memory), meter));
        }
        match HostMemory::new(bytes.saturating_add(lead), zeroed) {
            Some(memory) => {
                #[cfg(feature = "host")]
                super::shift::count(super::shift::At::Host, lead);
                Ok(Self::new(memory.address() + lead as u64, bytes as u64, Home::Host(memory), meter).behind(lead))
            }
            None => {
                meter.give(bytes as u64);
                Err(meter.refusal(bytes as u64))
            }
        }
    }

    /// Lists it in the meter's ledger, if it has a label or is large. Memory that is used again takes its new label, or none.
    pub(crate) fn name(&self, label: Option<&'static str>) {
        // Only its maker calls this, before anybody else knows it, or who makes it grow.
        let before = self.listed.load(Ordering::Relaxed);
        let now = self.meter.ledger.enter(before, self.charged(), label);
        if now != before {
            self.listed.store(now, Ordering::Relaxed);
        }
    }

    /// Marks it as managed memory, before anybody else knows it.
    pub(crate) fn become_managed(&self) {
        self.managed.store(MANAGED, Ordering::Relaxed);
    }

    /// Whether it is managed memory.
    pub(crate) fn is_managed(&self) -> bool {
        self.managed.load(Ordering::Relaxed) != 0
    }

    /// Whether the driver was told to keep its pages on the host, wholly; `None`: in part.
    #[cfg(feature = "cuda")]
    pub(crate) fn is_kept(&self) -> Option<bool> {
        match self.managed.load(Ordering::Acquire) {
            PERHAPS => None,
            state => Some(state == KEPT),
        }
    }

    /// Managed memory: the driver was told to keep, or not to keep, its pages on the host; `None`: some of the calls may have been made.
    #[cfg(feature = "cuda")]
    pub(crate) fn set_kept(&self, is: Option<bool>) {
        let state = is.map_or(PERHAPS, |is| if is { KEPT } else { MANAGED });
        self.managed.store(state, Ordering::Release);
    }

    /// Whether a program may still read some of it.
    pub(crate) fn is_captured(&self) -> bool {
        self.captures.has_live()
    }

    /// An allocation of no bytes that belongs to no device.
    pub(super) fn nothing() -> Self {
        Self::uncounted(64, Home::Empty)
    }

    /// An allocation of no bytes that no device counts: it represents something other than memory.
    pub(crate) fn uncounted(address: u64, home: Home) -> Self {
        let meter = Meter::new(0, 0);
        meter.count.fetch_add(1, Ordering::Relaxed); // the drop subtracts it
        Self::new(address, 0, home, Arc::new(meter))
    }

    /// Whether it is memory of a worker process.
    pub(super) fn is_remote(&self) -> bool {
        #[cfg(target_os = "linux")]
        return matches!(self.home, Home::Remote { .. });
        #[cfg(not(target_os = "linux"))]
        false
    }

    pub(super) fn add_region(&self) {
        // Visible to the thread that drops a region: a second region is made from the first, before the first is
        // dropped.
        if self.regions.fetch_add(1, Ordering::Relaxed) > 0 {
            self.parted.store(true, Ordering::Release);
        }
    }

    /// Prepares it for reuse: all of its regions are gone.
    #[cfg(feature = "cuda")]
    pub(crate) fn renew(&self) {
        self.regions.store(0, Ordering::Relaxed);
        self.parted.store(false, Ordering::Relaxed);
        self.captures.clear();
    }

    /// A region was dropped with `track` in flight. The last region returns device memory to its pool, together with
    /// all that is in flight on it. Host memory is freed with the last `Arc`; work in flight holds an `Arc` of its own.
    pub(super) fn end_region(self: &Arc<Self>, track: AccessHistory) {
        match &self.home {
            Home::Empty | Home::Host(_) | Home::Harsh(_) | Home::Addresses(_) => {}
            #[cfg(feature = "external")]
            Home::Lent(_) => {}
            // Work in flight holds its own `Arc`, as on the host.
            #[cfg(target_os = "linux")]
            Home::Remote { .. } => {}
            #[cfg(feature = "cuda")]
            Home::Pool { pool, .. } if !self.parted.load(Ordering::Acquire) => pool.release(self, track),
            #[cfg(feature = "cuda")]
            Home::Pool { pool, .. } => {
                let mut uses = self.uses.lock();
                uses.absorb(track);
                // Under the lock, so that the last region sees what all the others had in flight.
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
        if let Home::Remote { owner, lane } = &self.home
            && let Some(owner) = owner.upgrade()
        {
            owner.free(*lane, self.address);
        }
        self.meter.ledger.leave(*self.listed.get_mut());
        self.meter.give(*self.charged.get_mut());
        if self.reserve.is_some() {
            self.meter.addresses.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}
