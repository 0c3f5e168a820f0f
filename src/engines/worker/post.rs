//! Where a lane of the worker waits for another.
//!
//! **Race "last turn"**: who waits says so and looks at the number once more; who raises the number then looks whether
//! anybody waits. Both have a full fence in between, so one of them sees the other. The lock is taken in between the
//! raise and the call, so a waiter is either before its look or asleep.

use crate::sync::{AtomicU64, AtomicUsize, Condvar, Mutex, Ordering, fence};

/// Those who wait for one lane. The number itself, the last order of the lane that was carried out, lies where the client
/// sees it too.
#[derive(Default)]
pub(crate) struct Post {
    waiting: AtomicUsize,
    lock: Mutex<()>,
    moved: Condvar,
}

impl Post {
    /// One more was carried out.
    pub(crate) fn raise(&self, carried: &AtomicU64, number: u64) {
        carried.store(number, Ordering::Release);
        fence(Ordering::SeqCst); // race "last turn"
        if self.waiting.load(Ordering::Relaxed) > 0 {
            drop(self.lock.lock());
            self.moved.notify_all();
        }
    }

    /// Sleeps until `number` was carried out. The caller holds nothing that another lane could need.
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
