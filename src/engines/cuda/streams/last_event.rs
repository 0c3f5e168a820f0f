//! The last ticket recorded on a slot, and its event.
//!
//! A waiter queries this event when its own ticket has completed. To query a completed event costs the driver ten times
//! as much as to query one in flight. If the last event has completed, so have all tickets before it. So many waits for
//! tickets of one slot need only one such query together.

use crate::core::sync::{AtomicPtr, AtomicU64, Ordering};

/// Written by the holder of the lease, event first. A reader loads the ticket first. The event that it loads then was
/// recorded for that ticket or for a later one, even if the event was reused. So if the event has completed, the ticket
/// has too.
#[derive(Debug)]
pub(crate) struct LastEvent<T> {
    event: AtomicPtr<T>,
    ticket: AtomicU64,
}

impl<T> LastEvent<T> {
    pub(crate) fn new() -> Self {
        LastEvent { event: AtomicPtr::new(std::ptr::null_mut()), ticket: AtomicU64::new(0) }
    }

    /// Stores that `event` was recorded for `ticket`. Call only under the slot's lease.
    pub(crate) fn set(&self, ticket: u64, event: *mut T) {
        // Release: it publishes the record itself, for readers of an older ticket.
        self.event.store(event, Ordering::Release);
        self.ticket.store(ticket, Ordering::Release);
    }

    /// The newest ticket and its event, if it is later than `ticket`.
    pub(crate) fn after(&self, ticket: u64) -> Option<(u64, *mut T)> {
        let newest = self.ticket.load(Ordering::Acquire);
        (newest > ticket).then(|| (newest, self.event.load(Ordering::Acquire)))
    }
}
