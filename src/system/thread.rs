//! Time and memory as the system gives them to a thread.

#[cfg(target_os = "linux")]
use std::num::NonZeroU64;

/// The system's monotonic clock, in nanoseconds; the same in all processes.
#[cfg(target_os = "linux")]
pub(crate) fn monotonic_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// While this lives, sleeps of the calling thread end on time: its timer slack is 1 us.
#[cfg(target_os = "linux")]
pub(crate) struct FineTimer {
    before: Option<NonZeroU64>,
    /// Not `Send`: the slack belongs to this thread.
    here: std::marker::PhantomData<*const ()>,
}

#[cfg(target_os = "linux")]
impl FineTimer {
    const SLACK: Option<NonZeroU64> = NonZeroU64::new(1_000);

    pub(crate) fn begin() -> Self {
        let before = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
        // If the system refuses, sleeps take as long as before.
        let _ = rustix::thread::set_current_timer_slack(Self::SLACK);
        FineTimer { before, here: std::marker::PhantomData }
    }
}

#[cfg(target_os = "linux")]
impl Drop for FineTimer {
    fn drop(&mut self) {
        let _ = rustix::thread::set_current_timer_slack(self.before); // `None` is the thread's own default
    }
}

/// Asks the system for large pages for `bytes` of memory at `at`. Only a hint.
///
/// # Safety
/// They are whole pages of an allocation of the caller.
pub(crate) unsafe fn advise_large_pages(at: usize, bytes: usize) {
    #[cfg(target_os = "linux")]
    // SAFETY: whole pages of the caller's; the advice changes no contents.
    unsafe {
        libc::madvise(at as *mut _, bytes, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (at, bytes);
}
