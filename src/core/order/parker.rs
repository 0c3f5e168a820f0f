//! One sleeping thread.

use crate::core::clock::Deadline;
use crate::core::sync::{Condvar, Mutex};

/// A wake-up that is remembered, so that it is not lost if it comes before the sleep.
#[derive(Default)]
pub(crate) struct Parker {
    woken: Mutex<bool>,
    condvar: Condvar,
}

impl Parker {
    pub(crate) fn wake(&self) {
        *self.woken.lock() = true;
        self.condvar.notify_all();
    }

    /// Sleeps until woken, and consumes the wake-up. Returns false if the deadline passed first.
    pub(crate) fn sleep(&self, until: Option<Deadline>) -> bool {
        let mut woken = self.woken.lock();
        while !*woken {
            match until {
                None => self.condvar.wait(&mut woken),
                Some(until) => {
                    let timed_out = self.condvar.wait_until(&mut woken, until.wake_at()).timed_out();
                    if timed_out && !*woken && until.is_over() {
                        return false;
                    }
                }
            }
        }
        *woken = false;
        true
    }
}
