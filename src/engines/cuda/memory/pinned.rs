//! Pinned host memory: blocks for staging, and small slots for results.
//!
//! Making pinned memory is expensive (milliseconds) and keeping it is cheap. So it is pooled by size class, and handed
//! on to other epochs when its epoch ends (`handed_on.rs`): freeing it to the driver delays the launches of all other
//! threads. It is freed only if the limit leaves too little for a block of one class while blocks of other classes are
//! idle ([`PinnedPool::give_back`]). Without that, a program that once had many small transfers in flight could never
//! again have a large one (`standin oom::staging::many_small_transfers_leave_room_for_a_large_one`). The memory is
//! portable, touched when it is made, and not write-combined, because the CPU reads it. The `Drop` of a block only
//! pushes it back to its pool. A block that an asynchronous copy uses is kept on the slot's ring until the copy is
//! complete.

use super::handed_on::{self, Piece};
use super::in_use::{InUse, Used};
use super::staging::Patience;
use crate::core::clock::Timing;
use crate::core::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::engines::cuda::Native;
use crate::engines::cuda::api::Code;
use crate::engines::cuda::context::Context;
use crossbeam_queue::SegQueue;

/// The smallest block.
const LEAST: usize = 4 << 10;
/// Classes: 4 KiB, 8 KiB, ... 16 MiB.
const CLASSES: usize = 13;
/// The largest block; a larger request takes several.
pub(crate) const LARGEST: usize = LEAST << (CLASSES - 1);
/// The size of the allocations that small blocks are cut from.
const SLAB: usize = 1 << 20;
/// The size of a small slot in bytes.
pub(crate) const SLOT: usize = 64;
const SLOTS_AT_ONCE: usize = 1024;

/// The pool of one epoch.
pub(crate) struct PinnedPool {
    context: Arc<Context>,
    free: [SegQueue<Native<*mut u8>>; CLASSES],
    slots: SegQueue<Native<*mut u8>>,
    all: Mutex<Vec<Made>>,
    /// Held while memory of other classes is freed and made into blocks of one class.
    recutting: Mutex<()>,
    /// Held by a thread that takes several blocks.
    pub(super) reserving: Mutex<()>,
    bytes: AtomicU64,
    hits: AtomicU64,
    outstanding: AtomicU64,
    pub(super) in_use: InUse,
    limit: u64,
    timing: &'static Timing,
}

/// One allocation of the driver: blocks of one class, or small slots (`None`).
struct Made {
    at: Native<*mut u8>,
    bytes: usize,
    class: Option<usize>,
}

impl Made {
    fn has(&self, block: &Native<*mut u8>) -> bool {
        (self.at.0.addr()..self.at.0.addr() + self.bytes).contains(&block.0.addr())
    }

    /// Whether all of its blocks are in `idle`, the idle blocks of its class in order of address.
    fn is_whole(&self, class: usize, idle: &[Native<*mut u8>]) -> bool {
        let before = |end: usize| idle.partition_point(|block| block.0.addr() < end);
        let count = before(self.at.0.addr() + self.bytes) - before(self.at.0.addr());
        count << class == self.bytes / LEAST
    }
}

/// A block of pinned memory.
pub(crate) struct Block {
    pub(crate) at: Native<*mut u8>,
    class: usize,
    pool: Arc<PinnedPool>,
}

/// A few bytes of pinned memory for a result.
pub(crate) struct SmallSlot {
    pub(crate) at: Native<*mut u8>,
    pool: Arc<PinnedPool>,
}

/// Why there is no block.
pub(crate) enum NoBlock {
    /// The limit on pinned memory is reached.
    Limit,
    /// The driver refused: the code, and the call.
    Driver(Code, &'static str),
}

impl PinnedPool {
    pub(crate) fn new(context: Arc<Context>, limit: u64, timing: &'static Timing) -> Self {
        PinnedPool {
            context,
            free: std::array::from_fn(|_| SegQueue::new()),
            slots: SegQueue::new(),
            all: Mutex::default(),
            recutting: Mutex::default(),
            reserving: Mutex::default(),
            bytes: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            outstanding: AtomicU64::new(0),
            in_use: InUse::default(),
            limit,
            timing,
        }
    }

    /// The bytes held.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The number of requests served without a driver call.
    pub(crate) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// The number of blocks and slots in use.
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding.load(Ordering::Acquire)
    }

    fn hand_out(self: &Arc<Self>) -> Arc<Self> {
        self.outstanding.fetch_add(1, Ordering::Relaxed);
        self.clone()
    }

    /// The most bytes that may be held.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether a block of the right class is free.
    pub(crate) fn has(&self, bytes: usize) -> bool {
        self.free.get(class_of(bytes)).is_some_and(|free| !free.is_empty())
    }

    /// Returns a block of at least `bytes`, if one of that class is free. Makes no driver call.
    pub(crate) fn free_block(self: &Arc<Self>, bytes: usize) -> Option<Block> {
        let class = class_of(bytes);
        let at = self.free.get(class)?.pop()?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(Block { at, class, pool: self.hand_out() })
    }

    /// Returns a block of at least `bytes`, which must be at most [`LARGEST`]. The context must be current. The caller
    /// must hold no lease, because making and freeing pinned memory may both wait for everything that the GPU does.
    pub(super) fn block(self: &Arc<Self>, bytes: usize, patience: Patience) -> Result<Block, NoBlock> {
        if let Some(block) = self.free_block(bytes) {
            return Ok(block);
        }
        let class = class_of(bytes);
        match self.make_block(class) {
            Err(NoBlock::Limit) => {}
            answer => return answer,
        }
        // The limit is reached. A larger free block will do. But if the limit is large enough for slabs, it is better
        // to free an idle allocation and cut many small blocks from it.
        let larger = || self.larger_block(class).ok_or(NoBlock::Limit);
        if patience == Patience::None {
            return larger();
        }
        if !self.roomy()
            && let Ok(block) = larger()
        {
            return Ok(block);
        }
        let _recutting = loop {
            // The driver may take long to free memory, so wait in short steps.
            let turn = self.recutting.try_lock_for(self.timing.staging.one_wait);
            // The thread that holds (or held) the lock takes all free blocks out, and may have made the one wanted
            // here. Other blocks come back too.
            if let Some(block) = self.free_block(bytes) {
                return Ok(block);
            }
            if let Some(turn) = turn {
                break turn;
            }
        };
        self.give_back(class)?;
        match self.make_block(class) {
            Err(NoBlock::Limit) => self.free_block(bytes).ok_or(NoBlock::Limit).or_else(|_| larger()),
            answer => answer,
        }
    }

    fn make_block(self: &Arc<Self>, class: usize) -> Result<Block, NoBlock> {
        let free = self.free.get(class).ok_or(NoBlock::Limit)?;
        let size = LEAST << class;
        // Small blocks are cut from a slab, because making pinned memory may wait for everything that the GPU does.
        let slab = if self.roomy() { size.max(SLAB) } else { size };
        let at = match self.make(slab, class) {
            Ok(at) => {
                for i in 1..slab / size {
                    // SAFETY: inside the slab that was just made.
                    free.push(Native(unsafe { at.0.add(i * size) }));
                }
                at
            }
            Err(NoBlock::Limit) if slab > size => self.make(size, class)?,
            Err(refused) => return Err(refused),
        };
        Ok(Block { at, class, pool: self.hand_out() })
    }

    fn larger_block(self: &Arc<Self>, class: usize) -> Option<Block> {
        let mut larger = self.free.iter().enumerate().skip(class + 1);
        let (class, at) = larger.find_map(|(class, free)| Some((class, free.pop()?)))?;
        Some(Block { at, class, pool: self.hand_out() })
    }

    /// Frees allocations of other classes whose blocks are all idle, if the limit then allows a block of this class.
    /// Otherwise a program that once had many small transfers in flight could never have a large one.
    fn give_back(&self, class: usize) -> Result<(), NoBlock> {
        let mut idle: [Vec<Native<*mut u8>>; CLASSES] = std::array::from_fn(|_| Vec::new());
        for (_, (free, idle)) in self.free.iter().zip(&mut idle).enumerate().filter(|(of, _)| *of != class) {
            idle.extend(std::iter::from_fn(|| free.pop()));
            idle.sort_unstable_by_key(|block| block.0.addr());
        }
        let chosen = self.choose(LEAST << class, &idle);
        for (of, (free, idle)) in self.free.iter().zip(idle).enumerate() {
            let is_chosen =
                |block: &Native<*mut u8>| chosen.iter().any(|made| made.class == Some(of) && made.has(block));
            idle.into_iter().filter(|block| !is_chosen(block)).for_each(|block| free.push(block));
        }
        let mut answer = Ok(());
        for made in chosen {
            // SAFETY: from `mem_host_alloc`, and freed once: its entry was taken out of the list. All of its blocks
            // were taken out too, so no thread has one. The context is current.
            match unsafe { self.context.api.mem_free_host(made.at.0.cast()) }.ok() {
                Ok(()) => drop(self.bytes.fetch_sub(made.bytes as u64, Ordering::Relaxed)),
                Err(code) => {
                    // It is never reused. It goes with the epoch.
                    self.all.lock().push(made);
                    answer = Err(NoBlock::Driver(code, "cuMemFreeHost"));
                }
            }
        }
        answer
    }

    /// Takes the allocations out of the list that must be freed before `bytes` bytes can be made. All their blocks are
    /// idle. Empty if that is not enough.
    fn choose(&self, bytes: usize, idle: &[Vec<Native<*mut u8>>; CLASSES]) -> Vec<Made> {
        if bytes as u64 > self.limit {
            return Vec::new();
        }
        let mut all = self.all.lock();
        let wanted = (self.bytes() + bytes as u64).saturating_sub(self.limit);
        let (mut sum, mut places) = (0, Vec::new());
        for (place, made) in all.iter().enumerate() {
            if sum >= wanted {
                break;
            }
            if made.class.is_some_and(|of| idle.get(of).is_some_and(|idle| made.is_whole(of, idle))) {
                sum += made.bytes as u64;
                places.push(place);
            }
        }
        if sum < wanted {
            places.clear();
        }
        // From the back, so that the earlier places stay valid.
        places.into_iter().rev().map(|place| all.swap_remove(place)).collect()
    }

    /// Whether the limit is large enough to allocate more than was asked for.
    pub(crate) fn roomy(&self) -> bool {
        self.limit >= 64 * SLAB as u64
    }

    /// Makes what the first operations will need, as a head start. Errors are ignored: those operations try again. The
    /// context must be current.
    pub(crate) fn warm(self: &Arc<Self>) {
        if self.roomy() {
            let _ = (self.slot(), self.block(LEAST, Patience::None));
        }
    }

    /// Returns a small slot, if one is free. Makes no driver call.
    pub(crate) fn free_slot(self: &Arc<Self>) -> Option<SmallSlot> {
        Some(SmallSlot { at: self.slots.pop()?, pool: self.hand_out() })
    }

    /// Returns a small slot. The context must be current.
    pub(crate) fn slot(self: &Arc<Self>) -> Result<SmallSlot, Code> {
        if let Some(slot) = self.free_slot() {
            return Ok(slot);
        }
        // Not counted against the limit: without slots no result could be returned.
        let at = self.make_unlimited(SLOT * SLOTS_AT_ONCE, None)?;
        for i in 1..SLOTS_AT_ONCE {
            // SAFETY: inside the block that was just made.
            self.slots.push(Native(unsafe { at.0.add(i * SLOT) }));
        }
        Ok(SmallSlot { at, pool: self.hand_out() })
    }

    fn make(&self, bytes: usize, class: usize) -> Result<Native<*mut u8>, NoBlock> {
        // One atomic step. Adding first and subtracting if it was too much could make another thread's smaller request
        // fail meanwhile.
        let more = |before: u64| before.checked_add(bytes as u64).filter(|after| *after <= self.limit);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| NoBlock::Limit)?;
        self.make_unlimited(bytes, Some(class)).map_err(|code| {
            self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
            NoBlock::Driver(code, "cuMemHostAlloc")
        })
    }

    fn make_unlimited(&self, bytes: usize, class: Option<usize>) -> Result<Native<*mut u8>, Code> {
        const PORTABLE: u32 = 1;
        let at = match handed_on::take(&self.context, bytes) {
            Some(at) => at,
            None => {
                let mut at: *mut std::ffi::c_void = std::ptr::null_mut();
                // SAFETY: `at` is valid for the write; the context is current.
                unsafe { self.context.api.mem_host_alloc(&mut at, bytes, PORTABLE) }.ok()?;
                let at = Native(at.cast::<u8>());
                // SAFETY: `bytes` bytes were just allocated. They are touched because copies into untouched pages are
                // slow.
                unsafe { at.0.write_bytes(0, bytes) };
                at
            }
        };
        self.all.lock().push(Made { at, bytes, class });
        Ok(at)
    }

    /// Takes out all allocations. The epoch has ended in order, and no block or slot is in use.
    pub(crate) fn take_all(&self) -> Vec<Piece> {
        let all = std::mem::take(&mut *self.all.lock());
        all.into_iter().map(|Made { at, bytes, .. }| Piece { at, bytes }).collect()
    }

    /// The number of driver allocations held.
    pub(crate) fn held(&self) -> usize {
        self.all.lock().len()
    }
}

fn class_of(bytes: usize) -> usize {
    let blocks = bytes.max(1).div_ceil(LEAST).next_power_of_two();
    blocks.trailing_zeros() as usize
}

impl Block {
    /// As [`InUse::hold`].
    pub(super) fn used(&self) -> Used {
        self.pool.in_use.hold()
    }
}

impl Block {
    /// The size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        LEAST << self.class
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(free) = self.pool.free.get(self.class) {
            free.push(self.at);
        }
        self.pool.outstanding.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for SmallSlot {
    fn drop(&mut self) {
        self.pool.slots.push(self.at);
        self.pool.outstanding.fetch_sub(1, Ordering::Release);
    }
}

impl SmallSlot {
    /// The bytes that the device wrote.
    ///
    /// # Safety
    /// The device has finished writing: the work's ticket is known to be complete.
    pub(crate) unsafe fn read(&self) -> [u8; SLOT] {
        // SAFETY: the slot has that many bytes. The caller promises that the device does not write them.
        unsafe { self.at.0.cast::<[u8; SLOT]>().read_volatile() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_smallest_that_holds_the_bytes() {
        assert_eq!((class_of(0), class_of(1), class_of(LEAST), class_of(LEAST + 1)), (0, 0, 0, 1));
        assert_eq!(LEAST << class_of(LARGEST), LARGEST);
        assert!(class_of(LARGEST + 1) >= CLASSES);
    }
}
