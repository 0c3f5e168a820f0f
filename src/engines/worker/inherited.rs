//! Descriptors that came to the worker from its parent, and are none of its business.
//!
//! A program's own descriptors close when it starts another; one that some library of it opened without that mark goes on
//! into the worker, which would hold a pipe's end or a listening socket open for as long as it lives. The worker closes
//! what its parent names, and only what is the very same file under the same number: what this program opened itself before
//! its `main` stays. Standard output and error stay as well.

use rustix::fs::fstat;
use rustix::io::{FdFlags, fcntl_getfd};
use serde::{Deserialize, Serialize};
use std::os::fd::{BorrowedFd, RawFd};

/// A descriptor and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inherited {
    number: RawFd,
    device: u64,
    inode: u64,
}

/// What a child of this process would inherit now, past the standard three.
pub(super) fn list() -> Vec<Inherited> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(look).collect()
}

/// Closes them.
pub(super) fn close(inherited: &[Inherited]) {
    for known in inherited {
        if look(known.number).as_ref() == Some(known) {
            // SAFETY: it came with the process, and nothing of this program has been told of it.
            unsafe { libc::close(known.number) };
        }
    }
}

/// `None` for one that is closed, or closes by itself in a child.
fn look(number: RawFd) -> Option<Inherited> {
    if number <= libc::STDERR_FILENO {
        return None;
    }
    // SAFETY: the number is only looked at for the two calls; where it is not open, or another by the second, they say so.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    if fcntl_getfd(fd).ok()?.contains(FdFlags::CLOEXEC) {
        return None;
    }
    let stat = fstat(fd).ok()?;
    Some(Inherited { number, device: stat.st_dev, inode: stat.st_ino })
}
