//! What a worker changes of its process.

use crate::core::error::{Error, Result};

/// Unblocks all signals: this process inherits the blocked ones from the thread that started it. Called before any
/// other thread starts, because threads inherit the mask too.
pub(crate) fn unblock_signals() {
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `none` is initialised by the first call, which cannot fail, and read by the second.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Adds `more` to this process's `oom_score_adj`, so that the OOM killer prefers it. (Raising it needs no privileges.)
pub(crate) fn raise_oom_score(more: u16) -> Result<()> {
    const FILE: &str = "/proc/self/oom_score_adj";
    const MOST: i32 = 1000;
    if more == 0 {
        return Ok(());
    }
    let failed = |e: std::io::Error| Error::library(format!("`worker_oom_score`: {FILE}: {e}"));
    let now: i32 = std::fs::read_to_string(FILE).map_err(failed)?.trim().parse().unwrap_or_default();
    std::fs::write(FILE, (now + i32::from(more)).min(MOST).to_string()).map_err(failed)
}
