//! Operations whose [`after_enqueue`](crate::trace::Trace::after_enqueue) runs on the calling thread.
//!
//! Such an operation begins when the hook has returned. A wait for it, or for work that follows it, cannot end in the hook.

use crate::core::order::{Follower, Runnable};
use crate::core::sync::Arc;
use std::cell::RefCell;
use std::collections::HashSet;

thread_local! {
    /// The innermost last: a hook may submit.
    static HOOKED: RefCell<Vec<Arc<dyn Runnable>>> = const { RefCell::new(Vec::new()) };
}

/// Marks the operation while its hook runs.
pub(super) struct Hooked(());

impl Hooked {
    pub(super) fn enter(node: Arc<dyn Runnable>) -> Self {
        let _ = HOOKED.try_with(|hooked| hooked.borrow_mut().push(node));
        Hooked(())
    }
}

impl Drop for Hooked {
    fn drop(&mut self) {
        let node = HOOKED.try_with(|hooked| hooked.borrow_mut().pop());
        drop(node); // not inside the borrow: it may drop what belongs to the user
    }
}

/// Whether the unsettled node with this place is one of these operations, or follows one of them.
///
/// The operations have not begun, so nothing that follows them has settled, and all edges between them are still there.
pub(super) fn waits_for_hook(place: u64) -> bool {
    let mut open = HOOKED.try_with(|hooked| hooked.borrow().clone()).unwrap_or_default();
    if open.is_empty() {
        return false;
    }
    let mut seen = HashSet::new();
    while let Some(node) = open.pop() {
        if node.place() == place {
            return true;
        }
        // A node follows only nodes with an earlier place.
        if node.place() < place && seen.insert(node.place()) {
            node.core().each_waiter(&mut |waiter| {
                if let Follower::Node { node, .. } = waiter {
                    open.push(node.clone());
                }
            });
        }
    }
    false
}
