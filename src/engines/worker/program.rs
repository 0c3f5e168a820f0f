//! The start and the end of a worker process.

use super::message::Identity;
use crate::core::error::{Error, Result};
use rustix::fs::{Stat, fstat, stat};
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Identifies the socket that a worker has as its standard input. The variable alone does not prove anything: programs
/// that the worker starts, or other children of its parent, inherit it too. None of those has this same socket as its
/// standard input.
pub(crate) const VARIABLE: &str = "WINDLASS_WORKER_SOCKET";

/// [`init`] was called: this executable may be started again as a worker.
static PREPARED: AtomicBool = AtomicBool::new(false);
/// This process serves as a worker, or is being refused.
static SERVING: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_prepared() -> bool {
    PREPARED.load(Ordering::Relaxed)
}

fn id(stat: &Stat) -> String {
    format!("{}:{}", stat.st_dev, stat.st_ino)
}

/// The value of [`VARIABLE`] for a child that gets this socket.
pub(crate) fn name_of(socket: impl AsFd) -> Result<OsString> {
    let stat = fstat(socket).map_err(|e| Error::library(format!("the worker's socket: fstat: {e}")))?;
    Ok(id(&stat).into())
}

/// This process was started to be a worker.
fn is_worker() -> bool {
    std::env::var_os(VARIABLE)
        .is_some_and(|name| fstat(std::io::stdin()).is_ok_and(|stat| name == OsStr::new(&id(&stat))))
}

pub(crate) fn init() {
    PREPARED.store(true, Ordering::Relaxed);
    if is_worker() && !SERVING.swap(true, Ordering::Relaxed) {
        let code = crate::device::serve::server::serve();
        // No destructors: what the device still does is of no interest any more.
        exit(code);
    }
}

/// Ends this process at once, without running the program's exit handlers.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(code) }
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
        crate::device::serve::handshake::refuse(Error::unsupported(WHY));
        exit(super::reply::REFUSED);
    }
}

/// This process has rights that its user does not have, so it must not trust programs that the environment names.
pub(crate) fn is_privileged() -> bool {
    // SAFETY: reads a value that the kernel gave to this process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The pid namespace of this process. A worker program may be a script that starts the worker in a namespace of its
/// own, where the parent's process id is invalid or belongs to another process.
pub(crate) fn namespace() -> Option<u64> {
    Some(stat("/proc/self/ns/pid").ok()?.st_ino)
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

/// Identifies the file that this process runs: device and inode.
pub(crate) fn identity() -> Result<Identity> {
    let stat = stat("/proc/self/exe").map_err(|e| Error::library(format!("/proc/self/exe: {e}")))?;
    Ok((stat.st_dev, stat.st_ino))
}
