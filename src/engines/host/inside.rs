//! Whether the calling thread is inside an op's host half.

use crate::{Error, Result};
use std::cell::Cell;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread runs an op's host half, or belongs to a pool that runs nothing else.
pub(crate) fn inside_op() -> bool {
    INSIDE.with(Cell::get)
}

/// Refuses what a host half must not do, where it would wait for itself.
pub(crate) fn refuse_inside(what: &str) -> Result<()> {
    if inside_op() {
        return Err(Error::unsupported(format!(
            "{what} from inside an operation's host half would deadlock its device"
        )));
    }
    Ok(())
}

/// Marks a thread of a device's own pool, for good.
#[cfg(feature = "host")]
pub(super) fn mark_thread() {
    INSIDE.with(|i| i.set(true));
}

/// Marks the thread while it runs an op (the inline mode runs on the caller's).
#[cfg(feature = "host")]
pub(super) struct Inside(bool);

#[cfg(feature = "host")]
impl Inside {
    pub(super) fn enter() -> Self {
        Inside(INSIDE.with(|i| i.replace(true)))
    }
}

#[cfg(feature = "host")]
impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.with(|i| i.set(self.0));
    }
}
