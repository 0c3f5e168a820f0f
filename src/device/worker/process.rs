//! The start of a worker process.

use crate::core::error::{Error, Result};
use crate::engines::worker::shared::{program, reply};
use rustix::fs::fstat;
use std::ffi::OsStr;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// This process serves as a worker, or is being refused.
static SERVING: AtomicBool = AtomicBool::new(false);

/// This process was started to be a worker.
fn is_worker() -> bool {
    std::env::var_os(program::VARIABLE)
        .is_some_and(|name| fstat(std::io::stdin()).is_ok_and(|stat| name == OsStr::new(&program::id(&stat))))
}

pub(crate) fn init() {
    program::prepare();
    if is_worker() && !SERVING.swap(true, Ordering::Relaxed) {
        let code = super::server::serve();
        // No destructors: what the device still does is of no interest any more.
        program::exit(code);
    }
}

/// Called when a device is opened. A worker that gets here has not called `init`, and runs its parent's program a
/// second time. Reports that on both sides, and ends the process.
pub(crate) fn guard() {
    static CHECKED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    if *CHECKED.get_or_init(is_worker) && !SERVING.swap(true, Ordering::Relaxed) {
        const WHY: &str = "this program was started as the worker of another process, but it opened a device of its \
                           own: call `windlass::worker::init()` first in its `main`";
        // Before the parent is told: it then kills this process.
        let _ = writeln!(std::io::stderr(), "windlass: {WHY}");
        super::handshake::refuse(Error::unsupported(WHY));
        program::exit(reply::REFUSED);
    }
}

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
