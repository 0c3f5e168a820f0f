//! Device memory: a stream-ordered pool of our own.
//!
//! An allocation is ordered only on its slot's stream, so it counts as a write there. Its mark is an *open* ticket, the
//! next one of the slot. A first use on the same slot needs no wait. A first use on another slot has an event recorded
//! for the ticket and waits for it.

use super::Memory;
use super::reclaim::free_some;
use crate::core::buffer::shift::{self, At};
use crate::core::buffer::{Allocation, Home};
use crate::core::clock;
use crate::core::device_info::PoolInfo;
use crate::core::epoch::Epoch;
use crate::core::error::{Error, Result};
use crate::core::order::{AccessHistory, Completion, Mark};
use crate::core::sync::{Arc, AtomicU64, Ordering};
use crate::engines::config::{EngineConfig, MOST_ASKED, is_patient};
use crate::engines::cuda::api::{Code, Driver};
use crate::engines::cuda::context::fault;
use crate::engines::cuda::context::{BINDING, Context};
use crate::engines::cuda::streams::{Shared, State};
use crate::engines::cuda::{Core, CudaEngine, Native};
use cudarc::driver::sys::{CUmemPoolProps, CUmemoryPool};

/// How many waiting frees are enqueued under one lease: a small number, so that no dispatch pays for many.
pub(crate) const FREES_PER_LEASE: usize = 4;

/// An attribute of a pool: the unused bytes above which it gives memory back at a synchronization.
const RELEASE_THRESHOLD: u32 = 4;

/// The pool of one epoch.
#[derive(Debug)]
pub(crate) struct MemoryPool {
    pub(crate) raw: Native<CUmemoryPool>,
    /// How often it was trimmed.
    trims: AtomicU64,
}

impl MemoryPool {
    /// Makes a pool that releases no memory at synchronisation and adds no hidden waits between streams. It is
    /// exportable if the driver supports that (a property that is fixed at creation).
    pub(crate) fn new(context: &Context) -> Result<Self, Code> {
        const TYPE_PINNED: u32 = 1;
        const LOCATION_DEVICE: u32 = 1;
        const HANDLE_POSIX_FD: u32 = 1;
        /// A mask of handle types. (That of `cuMemCreate`'s memory is another, 103.)
        const ATTRIBUTE_HANDLE_TYPES: u32 = 119;
        const REUSE_ALLOW_INTERNAL_DEPENDENCIES: u32 = 3;
        let api = context.api;
        let attribute = |which| {
            let mut value = 0;
            // SAFETY: `value` is valid for the write.
            let code = unsafe { api.device_get_attribute(&mut value, which, context.device) };
            if code.is_success() { value.cast_unsigned() } else { 0 }
        };
        let handles = attribute(ATTRIBUTE_HANDLE_TYPES) & HANDLE_POSIX_FD;
        let create = |handles: u32| {
            // SAFETY: a plain C struct, for which zero is a value of every field (enums have a zero variant).
            let mut properties: CUmemPoolProps = unsafe { std::mem::zeroed() };
            // SAFETY: the fields are C enums of 32 bits. They are written as integers, so the bindings need not know
            // the variants.
            unsafe {
                (&raw mut properties.allocType).cast::<u32>().write(TYPE_PINNED);
                (&raw mut properties.handleTypes).cast::<u32>().write(handles);
                (&raw mut properties.location.type_).cast::<u32>().write(LOCATION_DEVICE);
            }
            set_location(&mut properties, context.device);
            let mut pool: CUmemoryPool = std::ptr::null_mut();
            // SAFETY: both pointers are valid; the context is current.
            unsafe { api.mem_pool_create(&mut pool, &properties) }.ok().map(|()| pool)
        };
        let pool = create(handles).or_else(|code| if handles == 0 { Err(code) } else { create(0) })?;
        let mut threshold = u64::MAX;
        let mut internal: i32 = 0;
        // SAFETY: the attributes have these types; the pool was just made.
        let set = unsafe {
            api.mem_pool_set_attribute(pool, RELEASE_THRESHOLD, (&raw mut threshold).cast()).ok().and_then(|()| {
                api.mem_pool_set_attribute(pool, REUSE_ALLOW_INTERNAL_DEPENDENCIES, (&raw mut internal).cast()).ok()
            })
        };
        set.map(|()| MemoryPool { raw: Native(pool), trims: AtomicU64::new(0) }).inspect_err(|_| {
            // SAFETY: just made, empty.
            let _ = unsafe { api.mem_pool_destroy(pool) };
        })
    }

    /// What the pool holds. The context must be current, and the caller inside the epoch.
    fn info(&self, api: &Driver) -> Result<PoolInfo, Code> {
        const RESERVED_CURRENT: u32 = 5;
        const RESERVED_HIGH: u32 = 6;
        const USED_CURRENT: u32 = 7;
        const USED_HIGH: u32 = 8;
        let ask = |attribute: u32| {
            let mut bytes = 0u64;
            // SAFETY: the attributes are of 64 bits; the pool lives until the epoch's end.
            unsafe { api.mem_pool_get_attribute(self.raw.0, attribute, (&raw mut bytes).cast()) }.ok().map(|()| bytes)
        };
        let (reserved, used) = (ask(RESERVED_CURRENT)?, ask(USED_CURRENT)?);
        let (reserved_peak, used_peak) = (ask(RESERVED_HIGH)?, ask(USED_HIGH)?);
        let (threshold, trims) = (ask(RELEASE_THRESHOLD)?, self.trims.load(Ordering::Relaxed));
        Ok(PoolInfo { reserved, reserved_peak, used, used_peak, threshold, trims })
    }

    /// Gives unused memory back to the driver.
    pub(crate) fn trim(&self, api: &Driver) -> Code {
        // SAFETY: the pool lives until the epoch's end; the caller is inside the epoch.
        let code = unsafe { api.mem_pool_trim_to(self.raw.0, 0) };
        self.trims.fetch_add(u64::from(code.is_success()), Ordering::Relaxed);
        code
    }
}

/// Writes the device's number into the location, whose field is a union in some releases of the bindings.
fn set_location(properties: &mut CUmemPoolProps, device: i32) {
    // SAFETY: the location is a type of 32 bits followed by an id of 32 bits in every release.
    unsafe { (&raw mut properties.location).cast::<i32>().add(1).write(device) }
}

impl Memory {
    /// Allocates `bytes` bytes on a leased slot.
    pub(crate) fn raw_alloc(&self, state: &State, bytes: usize) -> Result<u64, Code> {
        let mut address = 0;
        // SAFETY: `address` is valid for the write; pool and stream are alive under the lease, the context is current.
        unsafe { self.context.api.mem_alloc_from_pool_async(&mut address, bytes, self.pool.raw.0, state.stream.0) }
            .ok()
            .map(|()| address)
    }
}

impl CudaEngine {
    /// Allocates device memory. Also returns the allocation's completion, which the first user must follow.
    pub(crate) fn allocate(
        &self,
        epoch: &Arc<Epoch>,
        (bytes, lead): (usize, usize),
        config: &EngineConfig,
    ) -> Result<(Arc<Allocation>, AccessHistory)> {
        if bytes == 0 {
            return Self::nothing(epoch);
        }
        match self.try_allocate(epoch, bytes, lead) {
            Err(Error::OutOfMemory { .. }) => self.climb(epoch, config, &|| self.try_allocate(epoch, bytes, lead)),
            other => other,
        }
    }

    /// The ladder, after an attempt found no memory: reap, wait for a bounded time for parked memory, trim the pool. Then
    /// call the user's out-of-memory callback, as long as that helps.
    #[cold]
    pub(super) fn climb(
        &self,
        epoch: &Arc<Epoch>,
        config: &EngineConfig,
        attempt: &dyn Fn() -> Result<(Arc<Allocation>, AccessHistory)>,
    ) -> Result<(Arc<Allocation>, AccessHistory)> {
        self.core.give_back(epoch)?;
        let again = || attempt().map_err(|error| self.describe(epoch, error));
        let mut answer = again();
        for _ in 0..MOST_ASKED {
            match &answer {
                Err(error) if config.made_room(error) => {
                    self.core.give_back(epoch)?;
                    answer = again();
                }
                _ => break,
            }
        }
        answer
    }

    /// The same between two phases of an op that was admitted earlier. Does not call the user's callback.
    pub(crate) fn allocate_between(
        &self,
        epoch: &Arc<Epoch>,
        bytes: usize,
        lead: usize,
    ) -> Result<(Arc<Allocation>, AccessHistory)> {
        if bytes == 0 {
            return Self::nothing(epoch);
        }
        match self.try_allocate(epoch, bytes, lead) {
            Err(Error::OutOfMemory { .. }) => {}
            other => return other,
        }
        self.core.give_back(epoch)?;
        self.try_allocate(epoch, bytes, lead).map_err(|error| self.describe(epoch, error))
    }

    pub(super) fn nothing(epoch: &Arc<Epoch>) -> Result<(Arc<Allocation>, AccessHistory)> {
        epoch.meter.take(0)?;
        let empty = Allocation::new(256, 0, Home::Empty, epoch.meter.clone());
        Ok((Arc::new(empty), AccessHistory::default()))
    }

    fn try_allocate(&self, epoch: &Arc<Epoch>, bytes: usize, lead: usize) -> Result<(Arc<Allocation>, AccessHistory)> {
        let mut lease = self.core.streams.lease(&[]);
        epoch.go_on()?;
        let (slot, state) = (&lease.slot.shared, &mut *lease.state);
        let allocation = match slot.frees.again(bytes as u64, lead) {
            Some(allocation) => {
                if let Err(code) = self.core.context.look() {
                    slot.frees.push(allocation);
                    return Err(fault::classify(epoch, code, BINDING));
                }
                allocation.renew();
                slot.memory.count(false);
                allocation
            }
            None => {
                epoch.meter.take(bytes as u64)?;
                let fresh = self.fresh(epoch, (bytes, lead), slot, state);
                Arc::new(fresh.inspect_err(|_| epoch.meter.give(bytes as u64))?)
            }
        };
        shift::count(At::Cuda, lead);
        let mark = Mark { ticket: slot.stream.sequence.issued() + 1, event: None, stream: slot.stream.clone() };
        Ok((allocation, AccessHistory::after(Completion::Cuda(mark))))
    }

    /// Allocates from the driver's pool. The meter is already charged.
    fn fresh(
        &self,
        epoch: &Arc<Epoch>,
        (bytes, lead): (usize, usize),
        slot: &Arc<Shared>,
        state: &mut State,
    ) -> Result<Allocation> {
        let core = &self.core;
        let _bound = core.context.bind().map_err(|code| fault::classify(epoch, code, BINDING))?;
        free_some(slot, state, FREES_PER_LEASE);
        slot.memory.count(true);
        let address = core
            .memory
            .raw_alloc(state, bytes.saturating_add(lead))
            .map_err(|code| fault::refused(epoch, code, "cuMemAllocFromPoolAsync", bytes))?;
        let home = Home::Pool { pool: slot.clone(), place: slot.live.enter(address) };
        Ok(Allocation::new(address + lead as u64, bytes as u64, home, epoch.meter.clone()).behind(lead))
    }

    /// Adds the free and total bytes, and the largest living buffers, to an out-of-memory error. Takes a lease: the caller
    /// must hold none.
    pub(crate) fn describe(&self, epoch: &Arc<Epoch>, mut error: Error) -> Error {
        if let Error::OutOfMemory { free, total, limit, .. } = &mut error {
            let (unused, all, _) = self.memory(epoch).unwrap_or_default();
            (*total, *limit) = (all, epoch.meter.limit());
            *free = unused.min(limit.saturating_sub(epoch.meter.used()));
        }
        epoch.meter.name_largest(error)
    }

    /// Free and total bytes of the device, and what its pool holds. Unused bytes of the pool count as free.
    pub(crate) fn memory(&self, epoch: &Arc<Epoch>) -> Result<(u64, u64, PoolInfo)> {
        let core = &self.core;
        epoch.admit()?; // in a forked child a lease may be locked for ever, by a thread that does not exist there
        let lease = core.streams.lease(&[]);
        epoch.admit()?;
        let _bound = core.context.bind().map_err(|code| fault::classify(epoch, code, BINDING))?;
        let (mut free, mut total) = (0usize, 0usize);
        let api = core.context.api;
        // SAFETY: the pointers are valid; the epoch is open while the lease is held.
        let answer = unsafe { api.mem_get_info(&mut free, &mut total) }.ok().and_then(|()| core.memory.pool.info(api));
        let pool = answer.map_err(|code| fault::classify(epoch, code, "cuMemGetInfo"))?;
        drop(lease);
        Ok((free as u64 + pool.reserved.saturating_sub(pool.used), total as u64, pool))
    }
}

impl Core {
    /// Bytes that an allocation can have: those of the device that are free, and the unused ones of the pool. The context is
    /// current. An estimate, since other threads and processes allocate too; all there is, if the driver does not tell.
    #[allow(dead_code, reason = "for libraries that choose an algorithm by it")]
    pub(crate) fn free_memory(&self) -> u64 {
        let (mut free, mut total) = (0usize, 0usize);
        let api = self.context.api;
        // SAFETY: the pointers are valid.
        let answer = unsafe { api.mem_get_info(&mut free, &mut total) }.ok().and_then(|()| self.memory.pool.info(api));
        answer.map_or(u64::MAX, |pool| free as u64 + pool.reserved.saturating_sub(pool.used))
    }

    /// Frees tables of addresses, waits for a bounded time until work in flight is complete and its memory is freed,
    /// then trims the pool.
    pub(crate) fn give_back(&self, epoch: &Arc<Epoch>) -> Result<()> {
        let timing = self.timing;
        let begun = timing.clock.start();
        let (mut start, mut looks) = (timing.clock.start(), 0);
        loop {
            let dropped = self.streams.drop_tables(epoch)?;
            let left = self.sweep() || !dropped || !self.frees_have_run(epoch)?;
            self.free_dropped_managed();
            self.free_dropped_growth(true);
            let left = left || self.memory.managed().has_dropped() || self.memory.growth().has_work();
            // Memory that other threads hold will be freed soon. The device's work may never end. So the two have
            // limits of their own.
            let others = self.is_swept_by_others() || self.has_frees();
            let others = others && begun.elapsed() < timing.memory.others;
            if others {
                // The patience for the device starts when the other threads are done.
                (start, looks) = (timing.clock.start(), 0);
            }
            if !left || !(is_patient(timing, start, looks) || others) {
                break;
            }
            epoch.go_on()?;
            looks += 1;
            clock::pause(timing.waits.glance);
        }
        self.trim(epoch)
    }

    /// After a sweep: memory waits on a slot whose lease another thread holds. It is freed when the lease is given
    /// back.
    fn has_frees(&self) -> bool {
        self.streams.all().any(|slot| !slot.shared.frees.is_empty())
    }

    /// Whether all enqueued frees have run. A free is enqueued like other work: another stream finds the bytes only
    /// after it has run.
    fn frees_have_run(&self, epoch: &Arc<Epoch>) -> Result<bool> {
        for slot in self.streams.all() {
            let Some(state) = slot.lease.try_lock() else { return Ok(false) };
            epoch.go_on()?;
            let _bound = self.bind(epoch)?;
            // SAFETY: the stream is alive under the lease; the context is current.
            match unsafe { self.context.api.stream_query(state.stream.0) } {
                Code::SUCCESS => {}
                Code::NOT_READY => return Ok(false),
                code => return Err(fault::classify(epoch, code, "cuStreamQuery")),
            }
        }
        Ok(true)
    }

    /// Gives the pool's unused memory back to the driver, so that the libraries' own allocations can use it.
    fn trim(&self, epoch: &Arc<Epoch>) -> Result<()> {
        let _lease = self.streams.lease(&[]);
        epoch.go_on()?;
        let _bound = self.context.bind().map_err(|code| fault::classify(epoch, code, BINDING))?;
        self.memory.pool.trim(self.context.api).ok().map_err(|code| fault::classify(epoch, code, "cuMemPoolTrimTo"))
    }
}
