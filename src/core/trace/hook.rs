//! Which hooks run on the calling thread, so that a wait that cannot end there is refused.
//!
//! While [`after_enqueue`](super::Trace::after_enqueue) or [`before_complete`](super::Trace::before_complete) runs, its
//! operation is in flight, and on some engines it goes on only when the hook returns. A wait that includes this operation
//! would wait for the calling thread itself. It is refused on every engine, so that a hook behaves alike on all of them.

use super::Sink;
use crate::core::error::{Error, Result};
use std::cell::RefCell;

/// A hook whose operation is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    AfterEnqueue,
    BeforeComplete,
}

thread_local! {
    /// The hooks that this thread is in, the innermost last. A device is known by the address of its listeners, which last
    /// as long as the device. (A thread that ends may have dropped this, and may still call a hook.)
    static INSIDE: RefCell<Vec<(usize, Hook)>> = const { RefCell::new(Vec::new()) };
}

fn address(of: &Sink) -> usize {
    std::ptr::from_ref(of).addr()
}

/// Marks the thread while it calls a hook.
pub(super) struct Inside(());

impl Inside {
    pub(super) fn enter(of: &Sink, hook: Hook) -> Self {
        let _ = INSIDE.try_with(|inside| inside.borrow_mut().push((address(of), hook)));
        Inside(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = INSIDE.try_with(|inside| inside.borrow_mut().pop());
    }
}

/// Whether the calling thread is inside such a hook of the device with these listeners.
pub(crate) fn is_inside(listeners: Option<&Sink>, hook: Hook) -> bool {
    let Some(sink) = listeners else { return false };
    INSIDE.try_with(|inside| inside.borrow().contains(&(address(sink), hook))).unwrap_or(false)
}

/// Fails inside a hook whose operation the wait `what` would wait for.
pub(crate) fn refuse_inside_hook(what: &str, listeners: Option<&Sink>) -> Result<()> {
    for (hook, name) in [(Hook::AfterEnqueue, "after_enqueue"), (Hook::BeforeComplete, "before_complete")] {
        if is_inside(listeners, hook) {
            return Err(refusal(what, name));
        }
    }
    Ok(())
}

/// The error of a wait inside [`after_enqueue`](super::Trace::after_enqueue).
#[cold]
pub(crate) fn refusal(what: &str, hook: &str) -> Error {
    Error::unsupported(format!(
        "{what} inside `Trace::{hook}` would wait for the operation that the hook was called for; wait after the hook \
         has returned"
    ))
}
