//! Memory of this process for buffers of the host engine.
//!
//! The system provides large memory as pages that read as zeros and cost nothing until they are touched. So memory is
//! allocated with `alloc_zeroed`, and never zeroed here. With a large alignment `alloc_zeroed` would allocate and then
//! write all of it, so the alignment is made by hand.
//!
//! The first use of a page costs more than the copy that uses it. So large freed memory is kept in a list of the
//! process, and reused for requests of about the same size that do not need zeros. The memory of vectors that held
//! copies of host data is reused in the same way ([`recycle`]).

use crate::core::element::Element;
use crate::core::harsh;
use parking_lot::{Mutex, const_mutex};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Alignment for every element type and for vector instructions.
const ALIGN: usize = 64;
/// Smaller memory is not kept here: the system's allocator keeps it by itself, and its `calloc` is a short `memset`.
const LARGE: usize = 256 << 10;
/// The largest block that is kept; then the limits on all kept blocks, in bytes and in number.
const KEPT_EACH: usize = 256 << 20;
const KEPT: usize = 512 << 20;
const KEPT_COUNT: usize = 64;

/// A block of at least one byte. When dropped, it is freed or kept for reuse.
#[derive(Debug)]
pub(crate) struct HostMemory {
    /// The allocator's block; the usable bytes begin at the next multiple of [`ALIGN`]. Never null: a block that was
    /// refused is not a value, which could be kept and given to someone.
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: memory of the allocator, which any thread may use and free. What accesses it keeps the order of the work on it.
unsafe impl Send for HostMemory {}
// SAFETY: as above; by a shared reference only the address is read.
unsafe impl Sync for HostMemory {}

/// The blocks kept for reuse. Only `try_lock` is used: in a forked child the lock might never be released.
static FREE: Mutex<Free> = const_mutex(Free { list: Vec::new(), bytes: 0 });

struct Free {
    /// In the order in which they were freed.
    list: Vec<HostMemory>,
    bytes: usize,
}

impl Free {
    /// Takes a kept block of this alignment whose size is at least that of `layout`, at most an eighth more, and a
    /// multiple of `unit`.
    fn take(&mut self, layout: Layout, unit: usize) -> Option<HostMemory> {
        let wanted = layout.size();
        let fits = |kept: &Layout| {
            let size = kept.size();
            kept.align() == layout.align() && size >= wanted && size - wanted <= wanted / 8 && size.is_multiple_of(unit)
        };
        let index = self.list.iter().rposition(|kept| fits(&kept.layout))?;
        let found = self.list.remove(index);
        self.bytes -= found.layout.size();
        Some(found)
    }

    /// Keeps `memory`. Returns the blocks that are evicted for it, the oldest first.
    fn keep(&mut self, memory: HostMemory) -> Vec<HostMemory> {
        self.bytes += memory.layout.size();
        self.list.push(memory);
        let mut gone = Vec::new();
        while self.bytes > KEPT || self.list.len() > KEPT_COUNT {
            let oldest = self.list.remove(0);
            self.bytes -= oldest.layout.size();
            gone.push(oldest);
        }
        gone
    }

    fn empty(&mut self) -> Vec<HostMemory> {
        self.bytes = 0;
        std::mem::take(&mut self.list)
    }
}

impl HostMemory {
    /// `bytes` bytes of memory, at least one: zeroed, or, if `zeroed` is false, perhaps with old contents. `None` when
    /// there is not enough memory.
    pub(crate) fn new(bytes: usize, zeroed: bool) -> Option<Self> {
        // With the allocator's own alignment `alloc_zeroed` is `calloc`.
        let layout = Layout::from_size_align(bytes.checked_add(ALIGN)?, align_of::<u64>()).ok()?;
        let large = bytes >= LARGE;
        if large
            && !zeroed
            && let Some(kept) = FREE.try_lock().and_then(|mut free| free.take(layout, 1))
        {
            // SAFETY: the block has these bytes, and no other owner.
            unsafe { harsh::spoil(kept.start(), bytes) };
            return Some(kept);
        }
        let memory = Self::fresh(layout).or_else(|| {
            let kept = FREE.try_lock().map(|mut free| free.empty()).unwrap_or_default();
            if kept.is_empty() {
                return None;
            }
            kept.into_iter().for_each(HostMemory::free);
            Self::fresh(layout)
        })?;
        if large {
            large_pages(memory.base.as_ptr(), layout.size());
        }
        if !zeroed {
            // SAFETY: as above.
            unsafe { harsh::spoil(memory.start(), bytes) };
        }
        Some(memory)
    }

    fn fresh(layout: Layout) -> Option<Self> {
        // SAFETY: the layout's size is not zero.
        let base = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        Some(HostMemory { base, layout })
    }

    /// The first usable byte.
    fn start(&self) -> *mut u8 {
        self.base.as_ptr().map_addr(|address| address.next_multiple_of(ALIGN))
    }

    /// The address of the first usable byte.
    pub(crate) fn address(&self) -> u64 {
        self.start().expose_provenance() as u64
    }

    fn free(self) {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: it came from the allocator with this layout, and is not dropped again.
        unsafe { std::alloc::dealloc(this.base.as_ptr(), this.layout) }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        let this = HostMemory { ..*self };
        let size = this.layout.size();
        if !(LARGE..=KEPT_EACH).contains(&size) || harsh::is_fenced() {
            return this.free();
        }
        match FREE.try_lock() {
            Some(mut free) => {
                let gone = free.keep(this);
                drop(free);
                gone.into_iter().for_each(HostMemory::free);
            }
            None => this.free(),
        }
    }
}

/// An empty vector with capacity for `len` elements, made from kept memory. `None` if `len` is small or no kept block
/// fits.
pub(crate) fn recycled<T: Element>(len: usize) -> Option<Vec<T>> {
    let layout = Layout::array::<T>(len).ok().filter(|layout| layout.size() >= LARGE)?;
    let kept = FREE.try_lock()?.take(layout, size_of::<T>())?;
    let kept = std::mem::ManuallyDrop::new(kept);
    // SAFETY: the block came from the allocator with this alignment, its size is a multiple of the element's size, and
    // it has no other owner.
    Some(unsafe { Vec::from_raw_parts(kept.base.as_ptr().cast(), 0, kept.layout.size() / size_of::<T>()) })
}

/// Keeps a vector's memory for reuse, if it is large.
pub(crate) fn recycle<T: Element>(data: Vec<T>) {
    if let Ok(layout) = Layout::array::<T>(data.capacity())
        && layout.size() >= LARGE
    {
        let mut data = std::mem::ManuallyDrop::new(data);
        if let Some(base) = NonNull::new(data.as_mut_ptr().cast()) {
            drop(HostMemory { base, layout });
        }
    }
}

/// Asks the system for large pages for fresh memory that is about to be written completely: page faults for small pages
/// cost more than the copy. Only a hint.
pub(crate) fn large_pages(at: *mut u8, bytes: usize) {
    const LARGE: usize = 2 << 20;
    if bytes >= 2 * LARGE {
        let start = (at as usize).next_multiple_of(LARGE);
        let end = (at as usize + bytes) / LARGE * LARGE;
        if end > start {
            // SAFETY: whole pages inside an allocation of ours.
            unsafe { crate::system::thread::advise_large_pages(start, end - start) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(memory: &mut HostMemory, bytes: usize) -> &mut [u8] {
        // SAFETY: a block of so many bytes, initialised by the allocator, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(memory.start(), bytes) }
    }

    /// Small, kept for reuse, and as a vector; other tests may take what is kept, so nothing is said of where it comes from.
    #[test]
    fn what_was_freed_is_used_again_and_zeros_are_zeros() {
        for bytes in [1, 63, 64, 65, LARGE - 1, LARGE, LARGE + 1] {
            for zeroed in [true, false, true, false] {
                let mut memory = HostMemory::new(bytes, zeroed).unwrap();
                assert!(memory.address().is_multiple_of(ALIGN as u64));
                assert!(!zeroed || all(&mut memory, bytes).iter().all(|byte| *byte == 0));
                all(&mut memory, bytes).fill(7);
            }
        }
        for _ in 0..3 {
            let mut vector: Vec<f64> = recycled(LARGE / 8).unwrap_or_else(|| Vec::with_capacity(LARGE / 8));
            vector.resize(LARGE / 8, 1.0);
            recycle(vector);
        }
    }

    /// Miri ends the program where memory cannot be had.
    #[cfg_attr(miri, ignore)]
    #[test]
    fn what_cannot_be_had_is_none_and_leaves_nothing() {
        for _ in 0..2 {
            assert!(HostMemory::new(isize::MAX as usize - 2 * ALIGN, true).is_none());
            assert!(HostMemory::new(usize::MAX, false).is_none());
        }
        let kept = FREE.lock();
        assert_eq!(kept.bytes, kept.list.iter().map(|kept| kept.layout.size()).sum::<usize>());
    }
}
