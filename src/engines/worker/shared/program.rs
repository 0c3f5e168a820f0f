//! What identifies a worker process and its program, and its end.

use super::Identity;
use crate::core::error::{Error, Result};
use rustix::fs::{Stat, fstat, stat};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Identifies the socket that a worker has as its standard input. The variable alone does not prove anything: programs
/// that the worker starts, or other children of its parent, inherit it too. None of those has this same socket as its
/// standard input.
pub(crate) const VARIABLE: &str = "WINDLASS_WORKER_SOCKET";

/// `windlass::worker::init` was called: this executable may be started again as a worker.
static PREPARED: AtomicBool = AtomicBool::new(false);
/// `windlass::worker::init` is called.
pub(crate) fn prepare() {
    PREPARED.store(true, Ordering::Relaxed);
}

pub(crate) fn is_prepared() -> bool {
    PREPARED.load(Ordering::Relaxed)
}

pub(crate) fn id(stat: &Stat) -> String {
    format!("{}:{}", stat.st_dev, stat.st_ino)
}

/// The value of [`VARIABLE`] for a child that gets this socket.
pub(crate) fn name_of(socket: impl AsFd) -> Result<OsString> {
    let stat = fstat(socket).map_err(|e| Error::library(format!("the worker's socket: fstat: {e}")))?;
    Ok(id(&stat).into())
}

/// Ends this process at once, without running the program's exit handlers.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(code) }
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

/// Identifies the file that this process runs: device and inode.
pub(crate) fn identity() -> Result<Identity> {
    let stat = stat("/proc/self/exe").map_err(|e| Error::library(format!("/proc/self/exe: {e}")))?;
    Ok((stat.st_dev, stat.st_ino))
}
