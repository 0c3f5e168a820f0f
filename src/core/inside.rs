//! Whether the calling thread is inside an op's host half.

use crate::core::error::{Error, Result};
use std::cell::Cell;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread runs an op's host half, or belongs to a pool that runs nothing else.
pub(crate) fn inside_op() -> bool {
    INSIDE.with(Cell::get)
}

/// Fails inside a host half: there the operation `what` would wait for itself.
pub(crate) fn refuse_inside(what: &str) -> Result<()> {
    if inside_op() {
        return Err(Error::unsupported(format!("{what} inside an operation's host half would deadlock the device")));
    }
    Ok(())
}

/// Marks a thread of a device's own pool permanently.
#[cfg(feature = "host")]
pub(crate) fn mark_thread() {
    INSIDE.with(|i| i.set(true));
}

/// Marks the thread while it runs an op: a short op may run on the thread that submits it.
#[cfg(feature = "host")]
pub(crate) struct Inside(bool);

#[cfg(feature = "host")]
impl Inside {
    pub(crate) fn enter() -> Self {
        Inside(INSIDE.with(|i| i.replace(true)))
    }
}

#[cfg(feature = "host")]
impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.with(|i| i.set(self.0));
    }
}
