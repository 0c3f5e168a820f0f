//! Memory that two processes share.

use crate::core::error::{Error, Result};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use rustix::thread::futex;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// A mapping of an anonymous file, which has no name anywhere. It is gone with the last process that maps it, however
/// that process ends. A page takes memory when it is first touched.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    len: usize,
    /// Its pages must not be returned to the system.
    pinned: bool,
}

// SAFETY: the mapping is plain memory that lives as long as the value. What is read and written through it is either an
// atomic, or bytes whose exclusive use the owner of the block proves (`arena.rs`).
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// A new segment, zeroed, and the descriptor to send to the other process.
    pub(crate) fn create(name: &str, len: usize) -> Result<(Self, OwnedFd)> {
        let failed = |what: &str, e: Errno| {
            Error::library(format!("{len} bytes of shared memory could not be created: {what}: {e}"))
        };
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = match memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
            Err(Errno::INVAL) => memfd_create(name, flags), // before Linux 6.3
            made => made,
        };
        let file = file.map_err(|e| failed("memfd_create", e))?;
        ftruncate(&file, len as u64).map_err(|e| failed("ftruncate", e))?;
        // A process that has the descriptor may write into the file, but not truncate what others have mapped.
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, seals).map_err(|e| failed("fcntl", e))?;
        Ok((Self::map(&file, len)?, file))
    }

    /// Maps a segment that the other process made.
    pub(crate) fn map(file: impl std::os::fd::AsFd, len: usize) -> Result<Self> {
        let file: BorrowedFd<'_> = file.as_fd();
        let size = rustix::fs::fstat(file).map_or(0, |s| s.st_size);
        if u64::try_from(size).unwrap_or(0) < len as u64 {
            return Err(Error::library(format!("the shared memory has {size} bytes, but {len} were agreed on")));
        }
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
        // SAFETY: a fresh mapping at an address of the kernel's choice; nothing is replaced.
        let base = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, file, 0) }.map_err(|e| {
            let help = match e {
                Errno::NOMEM => {
                    "; the address space limit (`ulimit -v`) may be too small: raise it, or lower `staging_limit`"
                }
                _ => "",
            };
            Error::library(format!("{len} bytes of shared memory could not be mapped: {e}{help}"))
        })?;
        match NonNull::new(base.cast::<u8>()) {
            Some(base) => Ok(Segment { base, len, pinned: false }),
            None => Err(Error::library("shared memory was mapped at address 0")),
        }
    }

    /// A GPU uses these pages at their physical addresses: none is returned to the system from now on.
    pub(crate) fn pin(&mut self) {
        self.pinned = true;
    }

    /// A GPU uses its pages.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pinned
    }

    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The address of `offset`, if `len` bytes from there lie inside.
    pub(crate) fn at(&self, offset: usize, len: usize) -> Option<NonNull<u8>> {
        if offset.checked_add(len)? > self.len {
            return None;
        }
        // SAFETY: inside the mapping: compared above.
        Some(unsafe { self.base.add(offset) })
    }

    /// A shared 64-bit word. `offset` is one of this crate's layout constants.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= self.len);
        let offset = offset.min(self.len - 8) & !7;
        // SAFETY: inside the mapping and aligned (the mapping begins at a page); both processes use it as an atomic.
        unsafe { self.base.add(offset).cast::<AtomicU64>().as_ref() }
    }

    /// A shared 32-bit word, which a futex can wait on.
    pub(crate) fn half(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset.is_multiple_of(4) && offset + 4 <= self.len);
        let offset = offset.min(self.len - 4) & !3;
        // SAFETY: as in `word`.
        unsafe { self.base.add(offset).cast::<AtomicU32>().as_ref() }
    }

    /// Sleeps until another thread calls [`wake`](Self::wake) for `offset`, or `limit` is over. Does not sleep if the
    /// word there is not `expected`. May wake early.
    pub(crate) fn sleep(&self, offset: usize, expected: u32, limit: Duration) {
        if let Ok(limit) = limit.try_into() {
            let _ = futex::wait(self.half(offset), futex::Flags::empty(), expected, Some(&limit));
        }
    }

    /// Wakes all threads that sleep there.
    pub(crate) fn wake(&self, offset: usize) {
        let _ = futex::wake(self.half(offset), futex::Flags::empty(), u32::MAX >> 1);
    }

    /// Writes `bytes` at `offset`, if they lie inside.
    ///
    /// # Safety
    /// No other thread or process reads or writes there meanwhile.
    pub(crate) unsafe fn put(&self, offset: usize, bytes: &[u8]) {
        if let Some(to) = self.at(offset, bytes.len()) {
            // SAFETY: inside the mapping; the rest is the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
        }
    }

    /// Reads what lies at `offset` into `bytes`, if it lies inside.
    ///
    /// # Safety
    /// No other thread or process writes there meanwhile.
    pub(crate) unsafe fn take(&self, offset: usize, bytes: &mut [u8]) {
        if let Some(from) = self.at(offset, bytes.len()) {
            // SAFETY: inside the mapping; the rest is the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), bytes.as_mut_ptr(), bytes.len()) };
        }
    }

    /// Unmaps the shared memory. The address range stays mapped to private zeros, so that a late access to an address
    /// in it does not fault.
    pub(crate) fn leave(&self) {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: replaces our own mapping as a whole in one step. What is still borrowed from it are atomics, which
        // stay valid, and bytes whose owners are gone, as the caller ensures.
        let left = unsafe { mmap_anonymous(self.base.as_ptr().cast(), self.len, protection, flags | MapFlags::FIXED) };
        if left.is_err() {
            self.forget(0, self.len);
        }
    }

    /// Returns the pages of a range to the system; they then read as zeros. Only a hint. [Pinned](Self::pin) pages are
    /// not returned: the system would map other pages here, and the GPU would go on using the old ones.
    pub(crate) fn forget(&self, offset: usize, len: usize) {
        if self.pinned {
            return;
        }
        if let Some(at) = self.at(offset, len) {
            // SAFETY: whole bytes of our own mapping, which the caller owns; a range that does not consist of pages is
            // refused.
            let _ = unsafe { rustix::mm::madvise(at.as_ptr().cast(), len, rustix::mm::Advice::LinuxRemove) };
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing borrows from it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_of_one_segment_show_the_same_memory() {
        let (one, file) = Segment::create("windlass-test", 8192).unwrap();
        let two = Segment::map(&file, 8192).unwrap();
        drop(file);
        one.word(4096).store(7, Ordering::Relaxed);
        assert_eq!(two.word(4096).load(Ordering::Relaxed), 7);
        assert!(one.at(8000, 193).is_none() && one.at(usize::MAX, 2).is_none() && one.at(8000, 192).is_some());
    }

    #[test]
    fn a_segment_that_is_shorter_than_agreed_is_refused() {
        let (_one, file) = Segment::create("windlass-test", 4096).unwrap();
        assert!(Segment::map(&file, 8192).is_err());
    }

    #[test]
    fn a_segments_length_stays_what_it_is() {
        let (one, file) = Segment::create("windlass-test", 8192).unwrap();
        assert!(ftruncate(&file, 4096).is_err() && ftruncate(&file, 1 << 20).is_err());
        assert!(fcntl_add_seals(&file, SealFlags::WRITE).is_err());
        one.forget(0, 4096);
        one.word(8000).store(1, Ordering::Relaxed);
    }

    #[test]
    fn a_segment_that_was_left_reads_as_zeros_and_is_nobody_elses_any_more() {
        let (one, file) = Segment::create("windlass-test", 8192).unwrap();
        let two = Segment::map(&file, 8192).unwrap();
        two.word(4096).store(7, Ordering::Relaxed);
        one.leave();
        assert_eq!((one.word(4096).load(Ordering::Relaxed), two.word(4096).load(Ordering::Relaxed)), (0, 7));
        one.word(4096).store(5, Ordering::Relaxed);
        assert_eq!((one.word(4096).load(Ordering::Relaxed), two.word(4096).load(Ordering::Relaxed)), (5, 7));
    }

    #[test]
    fn pages_that_were_given_back_read_as_zeros() {
        let (one, _file) = Segment::create("windlass-test", 1 << 16).unwrap();
        one.word(8192).store(7, Ordering::Relaxed);
        one.forget(8192, 4096);
        assert_eq!(one.word(8192).load(Ordering::Relaxed), 0);
    }
}
