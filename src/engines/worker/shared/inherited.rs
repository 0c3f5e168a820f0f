//! Descriptors that a worker inherited from its parent by accident.
//!
//! A program's own descriptors close when it starts another program. But if a library opened one without the
//! close-on-exec flag, the worker inherits it, and would hold a pipe's end or a listening socket open for as long as it
//! lives. The worker closes the descriptors that its parent names, and only those that are the same file under the same
//! number: what this program opened itself before its `main` stays open. Standard output and error stay open as well.

use rustix::fs::fstat;
use rustix::io::{FdFlags, fcntl_getfd};
use serde::{Deserialize, Serialize};
use std::os::fd::{BorrowedFd, RawFd};

/// A descriptor and the file that it refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inherited {
    number: RawFd,
    device: u64,
    inode: u64,
}

/// What a child of this process would inherit now, besides standard input, output and error.
pub(crate) fn list() -> Vec<Inherited> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(look).collect()
}

/// Closes those that are still the same files.
pub(crate) fn close(inherited: &[Inherited]) {
    for known in inherited {
        if look(known.number).as_ref() == Some(known) {
            // SAFETY: it was inherited at the start, and no code of this program uses it.
            unsafe { libc::close(known.number) };
        }
    }
}

/// `None` if it is closed, or is closed on exec.
fn look(number: RawFd) -> Option<Inherited> {
    if number <= libc::STDERR_FILENO {
        return None;
    }
    // SAFETY: the number is only used for these two calls, which fail if it is not open. If it is replaced between
    // them, the second one describes the new file.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    if fcntl_getfd(fd).ok()?.contains(FdFlags::CLOEXEC) {
        return None;
    }
    let stat = fstat(fd).ok()?;
    Some(Inherited { number, device: stat.st_dev, inode: stat.st_ino })
}
