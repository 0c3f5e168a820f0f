//! Copies on the CPU with several threads: one thread alone leaves four fifths of the link's bandwidth unused.
//!
//! The helpers are a small pool of this crate. The calling thread waits without work stealing: if it belongs to the
//! user's rayon pool, a stealing wait could run a job that needs a lock that this thread holds.

use crate::core::element::Element;
use crate::core::process;
use crate::core::sync::{AtomicUsize, Ordering};
use once_cell::sync::OnceCell;
use std::sync::Arc;

/// Up to this many bytes one thread is as fast: waking others takes tens of microseconds.
const SINGLE: usize = 4 << 20;
/// The number of threads is limited so that each copies about this many bytes at least.
const SHARE: usize = 256 << 10;
const MOST: usize = 16;

/// The helper threads, with the fork generation in which they were started: a forked child has none of them.
static HELPERS: OnceCell<Option<(u32, rayon::ThreadPool)>> = OnceCell::new();

fn helpers() -> Option<&'static rayon::ThreadPool> {
    HELPERS
        .get_or_init(|| {
            let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST);
            if threads < 2 {
                return None;
            }
            let name = |i| format!("windlass copy {i}");
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads - 1).thread_name(name).build().ok()?;
            Some((process::fork_generation(), pool))
        })
        .as_ref()
        .filter(|(fork_generation, _)| !process::forked_since(*fork_generation))
        .map(|(_, pool)| pool)
}

#[derive(Clone, Copy)]
struct Part {
    to: *mut u8,
    from: *const u8,
    len: usize,
}

// SAFETY: `copy` gives each part to one thread, and its caller owns both ranges until all are done.
unsafe impl Send for Part {}

impl Part {
    fn run(self) {
        // SAFETY: `copy`'s caller promises both ranges; parts do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(self.from, self.to, self.len) }
    }
}

/// Copies `len` bytes, with helper threads if it is worth it.
///
/// # Safety
/// Both ranges are valid for `len` bytes and do not overlap. Until this returns, nothing else accesses `to` and nothing
/// writes `from`.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    let all = Part { to, from, len };
    let Some(pool) = (len > SINGLE).then(helpers).flatten() else { return all.run() };
    let parts = (pool.current_num_threads() + 1).min(len.div_ceil(SHARE));
    // A multiple of the cache line, so that threads share none.
    let size = len.div_ceil(parts).next_multiple_of(64);
    let left = Arc::new(AtomicUsize::new(0));
    let mut mine = all;
    let mut offset = size;
    while offset < len {
        // SAFETY: `offset < len`, inside both ranges.
        let (to, from) = unsafe { (to.add(offset), from.add(offset)) };
        let part = Part { to, from, len: size.min(len - offset) };
        left.fetch_add(1, Ordering::Relaxed);
        let done = left.clone();
        pool.spawn(move || {
            let part = part; // captures the whole `Part`, which is `Send`
            part.run();
            done.fetch_sub(1, Ordering::Release);
        });
        offset += size;
    }
    mine.len = size.min(len);
    mine.run();
    // A copy never panics, so every part counts down. Parts take a fraction of a millisecond.
    let mut spins = 0u32;
    while left.load(Ordering::Acquire) > 0 {
        spins += 1;
        if spins < 10_000 { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

/// Copies as many elements as the shorter of the two has.
pub(crate) fn copy_slice<T: Element>(from: &[T], to: &mut [T]) {
    let bytes = size_of_val(from).min(size_of_val(to));
    // SAFETY: a shared and an exclusive slice of plain data, of which that many bytes are inside.
    unsafe { copy(to.as_mut_ptr().cast(), from.as_ptr().cast(), bytes) }
}

#[cfg(test)]
mod tests {
    use crate::core::process;

    /// A pool has no threads in a child that was forked from the process that made it.
    #[test]
    #[cfg(unix)]
    fn a_forked_child_copies_by_itself() {
        const LEN: usize = 2 * super::SINGLE;
        process::watch_fork();
        let (from, mut to) = (vec![7u8; LEN], vec![0u8; LEN]);
        // SAFETY: two vectors of that length.
        let mut copy = || unsafe { super::copy(to.as_mut_ptr(), from.as_ptr(), LEN) };
        copy(); // starts the pool
        // SAFETY: the child copies, which takes no lock that another thread could hold, and exits at once. If it waits
        // for other threads, the alarm ends it.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: as above.
            unsafe {
                libc::alarm(10);
                copy();
                libc::_exit(i32::from(to.iter().any(|x| *x != 7)));
            }
        }
        let mut status = 0;
        // SAFETY: the child is ours; `status` outlives the call.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        assert_eq!(status, 0, "the child waits for threads that it has not");
    }

    #[test]
    fn every_byte_arrives_at_every_length() {
        for len in [0, 1, 63, super::SINGLE, super::SINGLE + 1, 3 * super::SINGLE + 777, 9_000_001] {
            let from: Vec<u8> = (0..len).map(|i| (i * 31 + i / 255) as u8).collect();
            let mut to = vec![0u8; len + 1];
            // SAFETY: two vectors of at least `len` bytes.
            unsafe { super::copy(to.as_mut_ptr(), from.as_ptr(), len) };
            assert!(to[..len] == from[..] && to[len] == 0, "{len}");
        }
    }
}
