//! Lets one lane of the worker wait for another.
//!
//! **Race "last turn"**: a waiter counts itself and then looks at the number once more. The thread that raises the
//! number then looks whether there are waiters. Both have a full fence in between, so one of them sees the other. The
//! raising thread takes the lock between raising the number and notifying, so a waiter has either not looked yet or is
//! asleep.

use crate::core::sync::{AtomicU64, AtomicUsize, Condvar, Mutex, Ordering, fence};

/// The threads that wait for one lane. The number itself (the last order of the lane that was carried out) is in shared
/// memory, where the client sees it too.
#[derive(Default)]
pub(crate) struct Post {
    waiting: AtomicUsize,
    lock: Mutex<()>,
    moved: Condvar,
}

impl Post {
    /// The order `number` was carried out: wakes the waiters.
    pub(crate) fn raise(&self, carried: &AtomicU64, number: u64) {
        carried.store(number, Ordering::Release);
        fence(Ordering::SeqCst); // race "last turn"
        if self.waiting.load(Ordering::Relaxed) > 0 {
            drop(self.lock.lock());
            self.moved.notify_all();
        }
    }

    /// Sleeps until the order `number` was carried out. The caller must hold nothing that another lane could need.
    pub(crate) fn wait(&self, carried: &AtomicU64, number: u64) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // race "last turn"
        let mut guard = self.lock.lock();
        while carried.load(Ordering::Acquire) < number {
            self.moved.wait(&mut guard);
        }
        drop(guard);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
