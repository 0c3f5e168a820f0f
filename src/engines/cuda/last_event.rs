//! The last ticket recorded on a slot, and its event.
//!
//! What a waiter asks about once its own ticket is over: a query of an event that is over costs the driver ten times
//! what one of an event in flight does, and this answer counts for every ticket before it, so many waits for one slot's
//! tickets cost one query together.

use crate::sync::{AtomicPtr, AtomicU64, Ordering};

/// Written by the holder of the lease, event first. A reader takes the ticket first: the event that it finds then was
/// recorded for that ticket or for a later one (also when it is one that was used again), so a "yes" is true of the
/// ticket.
#[derive(Debug)]
pub(crate) struct LastEvent<T> {
    event: AtomicPtr<T>,
    ticket: AtomicU64,
}

impl<T> LastEvent<T> {
    pub(crate) fn new() -> Self {
        LastEvent { event: AtomicPtr::new(std::ptr::null_mut()), ticket: AtomicU64::new(0) }
    }

    /// `event` was recorded for `ticket`. Only under the slot's lease.
    pub(crate) fn set(&self, ticket: u64, event: *mut T) {
        // Release: it publishes the record itself, for readers of an older ticket.
        self.event.store(event, Ordering::Release);
        self.ticket.store(ticket, Ordering::Release);
    }

    /// The newest, if it comes after `ticket`.
    pub(crate) fn after(&self, ticket: u64) -> Option<(u64, *mut T)> {
        let newest = self.ticket.load(Ordering::Acquire);
        (newest > ticket).then(|| (newest, self.event.load(Ordering::Acquire)))
    }
}
