//! The beginning and the end of a worker process.

use super::message::Identity;
use crate::{Error, Result};
use rustix::fs::{Stat, fstat, stat};
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Names the socket that a worker has as its standard input. A variable alone would be inherited further, by programs
/// that a worker or its parent's other children start; none of those has that very socket there.
pub(super) const VARIABLE: &str = "WINDLASS_WORKER_SOCKET";

/// [`init`] was called: this executable may be started again as a worker.
static PREPARED: AtomicBool = AtomicBool::new(false);
/// This process serves.
static SERVING: AtomicBool = AtomicBool::new(false);

pub(super) fn is_prepared() -> bool {
    PREPARED.load(Ordering::Relaxed)
}

fn id(stat: &Stat) -> String {
    format!("{}:{}", stat.st_dev, stat.st_ino)
}

/// What [`VARIABLE`] is set to for a child that gets this socket.
pub(super) fn name_of(socket: impl AsFd) -> Result<OsString> {
    let stat = fstat(socket).map_err(|e| Error::library(format!("the worker's socket: fstat: {e}")))?;
    Ok(id(&stat).into())
}

/// This process was started to be a worker.
fn is_worker() -> bool {
    std::env::var_os(VARIABLE)
        .is_some_and(|name| fstat(std::io::stdin()).is_ok_and(|stat| name == OsStr::new(&id(&stat))))
}

pub(super) fn init() {
    PREPARED.store(true, Ordering::Relaxed);
    if is_worker() && !SERVING.swap(true, Ordering::Relaxed) {
        let code = super::server::serve();
        // No destructors: what the device still does is nobody's business any more.
        exit(code);
    }
}

/// Ends this process at once, without the handlers of the program that it was started from.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(code) }
}

/// A worker that has come to open a device has gone past the place where it should have served: it runs what its parent
/// runs, for a second time. Tells both sides, and ends it.
pub(super) fn guard() {
    static CHECKED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    if *CHECKED.get_or_init(is_worker) && !SERVING.swap(true, Ordering::Relaxed) {
        const WHY: &str = "this program was started as the worker of another process, and came to open a device of its own: \
                           `windlass::worker::init()` does not stand first in its `main`";
        // First: once the parent knows, it ends this process.
        let _ = writeln!(std::io::stderr(), "windlass: {WHY}");
        super::handshake::refuse(Error::unsupported(WHY));
        exit(super::reply::REFUSED);
    }
}

/// This process was given rights that its user has not: what the environment names is the user's word.
pub(super) fn is_privileged() -> bool {
    // SAFETY: reads a value that the kernel has left.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Which processes' numbers this process sees. A worker program may be a script that starts the worker in a namespace of
/// its own, where its parent's number is nobody's or another's.
pub(super) fn namespace() -> Option<u64> {
    Some(stat("/proc/self/ns/pid").ok()?.st_ino)
}

/// Signals that the thread blocked which started this process are blocked here too: not any more. Before any other thread
/// begins, which has what the first has.
pub(super) fn unblock_signals() {
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `none` is made by the first call, which always can, and read by the second.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Makes this process so much likelier to be killed for want of memory. (Anybody may, for himself.)
pub(super) fn raise_oom_score(more: u16) -> Result<()> {
    const FILE: &str = "/proc/self/oom_score_adj";
    const MOST: i32 = 1000;
    if more == 0 {
        return Ok(());
    }
    let failed = |e: std::io::Error| Error::library(format!("`worker_oom_score`: {FILE}: {e}"));
    let now: i32 = std::fs::read_to_string(FILE).map_err(failed)?.trim().parse().unwrap_or_default();
    std::fs::write(FILE, (now + i32::from(more)).min(MOST).to_string()).map_err(failed)
}

/// Which file this process runs: device and inode.
pub(super) fn identity() -> Result<Identity> {
    let stat = stat("/proc/self/exe").map_err(|e| Error::library(format!("/proc/self/exe: {e}")))?;
    Ok((stat.st_dev, stat.st_ino))
}
