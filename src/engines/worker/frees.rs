//! Memory that drops have left to be given back, on its way into a lane.
//!
//! ```text
//!   push ──> queue ──> flush: taken out, sent, its number noted
//! ```
//!
//! **Race "on its way"**: who needs memory asks which orders give some back. Between the queue and the number an order is in
//! neither; so who flushes says so before it takes the first out, and who asks then waits for its lock.

use crate::sync::{AtomicBool, AtomicU64, Ordering, SegQueue};

/// What one lane has to give back.
#[derive(Default)]
pub(super) struct Frees {
    queue: SegQueue<u64>,
    /// Some were taken out, and are not sent yet.
    flushing: AtomicBool,
    /// The last order that gave memory back.
    freed: AtomicU64,
}

impl Frees {
    /// One more, from any drop. No wait.
    pub(super) fn push(&self, id: u64) {
        self.queue.push(id);
    }

    /// Nothing is left to be sent, though some may be on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Sends what is queued. `send` returns the number of the order, or `None` when the ring is full: then the rest stays queued,
    /// and the answer is false. Called under the senders' lock.
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

    /// The last order that gives memory back, of all that were in the queue at a time when it was seen empty. `pass` takes
    /// the lock of those who send, and gives it back.
    pub(super) fn last(&self, pass: impl FnOnce()) -> u64 {
        if self.flushing.load(Ordering::SeqCst) {
            pass(); // race "on its way"
        }
        self.freed.load(Ordering::Acquire)
    }

    /// Nobody is there to take any of it.
    pub(super) fn clear(&self) {
        while self.queue.pop().is_some() {}
    }
}
