//! Memory that drops have queued to be freed, on its way into a lane.
//!
//! ```text
//!   push ──> queue ──> flush: taken out, sent, its number noted
//! ```
//!
//! **Race "on its way"**: a thread that needs memory asks which orders free some. Between the queue and the noted
//! number an order is in neither. So a thread that flushes sets a flag before it takes the first one out, and a thread
//! that sees the flag waits for the flusher's lock.

use crate::core::sync::{AtomicBool, AtomicU64, Ordering, SegQueue};

/// The memory that one lane has to free.
#[derive(Default)]
pub(super) struct Frees {
    queue: SegQueue<u64>,
    /// Some were taken out and are not sent yet.
    flushing: AtomicBool,
    /// The number of the last order that frees memory.
    freed: AtomicU64,
}

impl Frees {
    /// Queues one more. Does not wait: may be called from any drop.
    pub(super) fn push(&self, id: u64) {
        self.queue.push(id);
    }

    /// The queue is empty, though some may be on their way.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sends what is queued. `send` returns the number of the order, or `None` if the ring is full: then the rest stays
    /// queued, and this returns false. Called under the senders' lock.
    pub(super) fn flush(&self, mut send: impl FnMut(u64) -> Option<u64>) -> bool {
        if self.is_empty() {
            return true;
        }
        self.flushing.store(true, Ordering::SeqCst); // race "on its way"
        let mut flushed = true;
        while flushed && let Some(id) = self.queue.pop() {
            match send(id) {
                Some(number) => self.freed.store(number, Ordering::Release),
                None => {
                    self.queue.push(id);
                    flushed = false;
                }
            }
        }
        self.flushing.store(false, Ordering::SeqCst);
        flushed
    }

    /// The number of the last order that frees memory. It covers all that were queued before the caller saw the queue
    /// empty. `pass` takes the senders' lock and releases it.
    pub(super) fn last(&self, pass: impl FnOnce()) -> u64 {
        if self.flushing.load(Ordering::SeqCst) {
            pass(); // race "on its way"
        }
        self.freed.load(Ordering::Acquire)
    }

    /// The worker is gone: drops what is queued.
    pub(super) fn clear(&self) {
        while self.queue.pop().is_some() {}
    }
}
