//! Pages that fault when they are touched, and addresses that get memory later.

use std::ptr::NonNull;

/// Memory of its own between two pages that nobody may touch.
#[derive(Debug)]
pub(crate) struct Fenced {
    /// Where the mapping begins, with the first page that nobody may touch.
    map: NonNull<u8>,
    /// Usable bytes: whole pages.
    len: usize,
}

// SAFETY: a private mapping, which any thread may use and unmap.
unsafe impl Send for Fenced {}
// SAFETY: as above; by a shared reference only the address is read.
unsafe impl Sync for Fenced {}

/// A page of the system, or several.
const PAGE: usize = 1 << 14;

impl Fenced {
    /// Zeroed memory for `bytes` bytes, as whole pages. `None` if the system refuses, or has no such thing.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let len = bytes.checked_next_multiple_of(PAGE)?;
        let all = len.checked_add(2 * PAGE)?;
        #[cfg(unix)]
        {
            // SAFETY: a fresh mapping at an address of the system's choice; nothing is replaced.
            let map = unsafe {
                libc::mmap(std::ptr::null_mut(), all, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON, -1, 0)
            };
            let fenced = Fenced { map: NonNull::new(map.cast()).filter(|_| map != libc::MAP_FAILED)?, len };
            // SAFETY: whole pages of the mapping.
            let open = unsafe { libc::mprotect(fenced.start().cast(), len, libc::PROT_READ | libc::PROT_WRITE) };
            (open == 0).then_some(fenced)
        }
        #[cfg(not(unix))]
        {
            let _ = all;
            None
        }
    }

    /// The first usable byte.
    pub(crate) fn start(&self) -> *mut u8 {
        self.map.as_ptr().wrapping_add(PAGE)
    }

    /// Usable bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        #[cfg(unix)]
        // SAFETY: the mapping is ours, and nothing uses it any more.
        unsafe {
            libc::munmap(self.map.as_ptr().cast(), self.len + 2 * PAGE);
        }
    }
}

/// A reserve of addresses, which get memory from the first one on.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a private mapping, which any thread may use and unmap.
unsafe impl Send for AddressSpace {}
// SAFETY: as above; by a shared reference only addresses are read, and pages opened.
unsafe impl Sync for AddressSpace {}

/// Addresses get memory in pieces of this size: a whole number of pages on every system.
const PIECE: usize = 1 << 16;

impl AddressSpace {
    /// Addresses for `bytes` bytes, aligned for every element type. `None` if the system refuses, or has no such thing.
    #[cfg_attr(not(feature = "host"), allow(dead_code, reason = "for the host engine"))]
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let len = bytes.checked_next_multiple_of(PIECE)?;
        #[cfg(unix)]
        {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE;
            // SAFETY: a fresh mapping at an address of the system's choice; nothing is replaced.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
            Some(AddressSpace { start: NonNull::new(start.cast()).filter(|_| start != libc::MAP_FAILED)?, len })
        }
        #[cfg(not(unix))]
        {
            let _ = len;
            None
        }
    }

    /// The first address.
    #[cfg_attr(not(feature = "host"), allow(dead_code, reason = "for the host engine"))]
    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    /// Gives memory to the addresses up to `to`, of which those up to `from` have some: zeros. What has memory may be in use
    /// meanwhile. False if the system refuses.
    #[cfg_attr(not(feature = "host"), allow(dead_code, reason = "for the host engine"))]
    pub(crate) fn open(&self, from: usize, to: usize) -> bool {
        let (from, to) = (from / PIECE * PIECE, to.next_multiple_of(PIECE).min(self.len));
        if from >= to {
            return true;
        }
        #[cfg(unix)]
        // SAFETY: whole pages of the mapping, which becomes no less accessible.
        return unsafe {
            let at = self.start.as_ptr().add(from);
            libc::mprotect(at.cast(), to - from, libc::PROT_READ | libc::PROT_WRITE) == 0
        };
        #[cfg(not(unix))]
        false
    }
}

impl Drop for AddressSpace {
    fn drop(&mut self) {
        #[cfg(unix)]
        // SAFETY: the mapping is ours, and nothing uses it any more.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.len);
        }
    }
}

/// Gives the memory of these bytes back to the system, by whole pages: what they hold is undefined then. If they are the last ones,
/// the page that they end in goes as well, or what is shrunk by less than a page each time would never go back.
///
/// # Safety
/// They lie in an [`AddressSpace`], have memory, and nothing else uses them; nor what is behind the last ones.
#[cfg_attr(not(feature = "host"), allow(dead_code, reason = "for the host engine"))]
pub(crate) unsafe fn discard(at: *mut u8, bytes: usize, are_last: bool) {
    #[cfg(unix)]
    {
        // SAFETY: a constant of the system.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(PIECE).max(1);
        let (start, end) = ((at as usize).next_multiple_of(page), at as usize + bytes);
        let end = if are_last { end.next_multiple_of(page) } else { end - end % page };
        if start < end {
            // SAFETY: whole pages of the caller's, which stay accessible. A space is of whole pages, so the last one is of it.
            unsafe { libc::madvise(at.with_addr(start).cast(), end - start, libc::MADV_DONTNEED) };
        }
    }
    #[cfg(not(unix))]
    let _ = (at, bytes, are_last);
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_memory_in_pieces_and_keep_what_they_hold() {
        let space = AddressSpace::new(3 * PIECE + 1).unwrap();
        assert_eq!(space.len, 4 * PIECE);
        assert!(space.open(0, 1) && space.open(1, PIECE) && space.open(0, 0));
        let start = space.start.as_ptr();
        // SAFETY: of the first piece, which has memory.
        unsafe {
            assert_eq!(start.add(PIECE - 1).read(), 0);
            start.write(7);
        }
        assert!(space.open(PIECE, 3 * PIECE + 1));
        // SAFETY: all of it has memory now, and nothing else uses it.
        unsafe {
            start.add(4 * PIECE - 1).write(9);
            start.add(PIECE).write(8);
            start.add(3 * PIECE).write(8);
            discard(start.add(1), 3 * PIECE, false); // whole pages, so neither the first nor the last
            discard(start, 0, false);
            assert_eq!((start.read(), start.add(PIECE).read(), start.add(3 * PIECE).read()), (7, 0, 8));
            assert_eq!(start.add(4 * PIECE - 1).read(), 9);
            discard(start.add(3 * PIECE), 1, true);
            assert_eq!(start.add(3 * PIECE).read(), 0);
        }
        assert!(AddressSpace::new(usize::MAX).is_none() && AddressSpace::new(1 << 62).is_none());
    }
}
