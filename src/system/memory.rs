//! Pages that fault when they are touched.

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
