//! No submission inside another.
//!
//! While a collective is submitted or a communicator is made, locks give it its place in the order of all; and the hooks of the
//! devices ([`Trace`](crate::trace::Trace)) are called meanwhile, on the same thread. A hook that wanted one of these locks would wait
//! for its own thread.

use crate::core::error::{Error, Result};
use std::cell::Cell;

thread_local! {
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// The calling thread submits a collective, or makes a communicator.
pub(super) struct Submitting(());

impl Submitting {
    /// Fails in an op's host half, and in a hook that is called inside of another submission: `what` would wait for itself.
    pub(super) fn begin(what: &str) -> Result<Self> {
        crate::core::inside::refuse_inside(what)?;
        if HERE.replace(true) {
            let why = "inside a hook that is called while a collective is submitted would wait for that submission; do it \
                       when the submission has returned";
            return Err(Error::unsupported(format!("{what} {why}")));
        }
        Ok(Submitting(()))
    }

    /// Whether the calling thread is inside of one.
    #[cfg(target_os = "linux")]
    pub(super) fn is_here() -> bool {
        HERE.get()
    }
}

impl Drop for Submitting {
    fn drop(&mut self) {
        HERE.set(false);
    }
}
