//! In the build of the tests, buffers that begin at an odd place of their memory.
//!
//! `WINDLASS_TEST_SHIFT=3` puts each new buffer three elements behind the beginning of its memory, on every engine: kernels, and the
//! rules of alignment of the libraries, then see what windows of larger buffers would show them, whatever a test does. Only with the
//! feature `precompiled`; elsewhere [`lead`] is 0. Scratch memory, and what programs keep their temporaries in, begin where
//! they always do.

/// Where a buffer was made: in this process on the CPU, on a GPU, or in a worker.
#[derive(Clone, Copy)]
pub(crate) enum At {
    #[cfg(feature = "host")]
    Host,
    #[cfg(feature = "cuda")]
    Cuda,
    #[cfg(target_os = "linux")]
    Worker,
}

#[cfg(feature = "precompiled")]
mod test_build {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static COUNTS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

    pub(crate) fn lead(size: usize) -> usize {
        static SHIFT: OnceLock<usize> = OnceLock::new();
        let shift = || std::env::var("WINDLASS_TEST_SHIFT").ok().and_then(|n| n.trim().parse().ok()).unwrap_or(0);
        // A shift has to stay below the alignment of memory, 256 bytes on a GPU.
        (*SHIFT.get_or_init(shift)).min(15) * size
    }

    pub(crate) fn count(at: super::At, lead: usize) {
        let place = match at {
            #[cfg(feature = "host")]
            super::At::Host => 0,
            #[cfg(feature = "cuda")]
            super::At::Cuda => 1,
            #[cfg(target_os = "linux")]
            super::At::Worker => 2,
        };
        if let Some(count) = COUNTS.get(place).filter(|_| lead > 0) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many buffers were shifted: of this process, of its GPUs, and of its workers.
    pub fn shifted() -> [u64; 3] {
        COUNTS.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
}

#[cfg(feature = "precompiled")]
pub use test_build::shifted;
#[cfg(feature = "precompiled")]
pub(crate) use test_build::{count, lead};

/// Bytes between the beginning of memory and a new buffer with elements of `size` bytes in it.
#[cfg(not(feature = "precompiled"))]
pub(crate) const fn lead(size: usize) -> usize {
    let _ = size;
    0
}

/// Counts a buffer that begins `lead` bytes behind its memory.
#[cfg(not(feature = "precompiled"))]
pub(crate) const fn count(at: At, lead: usize) {
    let _ = (at, lead);
}
