//! Quiet: while a stream is captured, no other thread is inside the driver or a library.
//!
//! A capture restricts *other* threads too. A call that synchronises a context, or may do so (a library's first use,
//! the destruction of a handle, the loading of a module), returns an error and ends the capture. A library may not
//! survive such an error. No library documents which of its calls do this. So a capture has the driver for itself.
//!
//! A thread enters by a door to call the driver, and leaves again. A capture closes all doors and waits until no other
//! thread is inside. A thread that finds its door closed waits for the end of the capture. There are many doors, and
//! each thread always uses the same one, so that most threads do not share a cache line.
//!
//! **Race "enter against close"**: the count of threads inside and the closed flag are one word. A thread counts itself
//! in and sees in the same step whether the door was closed. A capture closes the door and sees in the same step how
//! many threads are inside. So one of the two sees the other.
//!
//! **No thread waits for itself**: a thread that is inside enters again without a check (`inside.rs`), and a capture
//! does not count its own thread. **No capture waits for ever**: `patient` ends the wait, and the caller goes on
//! without a capture.

use crate::core::sync::{AtomicUsize, Mutex, Ordering};

/// The number of threads that entered by this door and are inside, and the [`CLOSED`] flag.
#[repr(align(128))]
struct Door(AtomicUsize);

const CLOSED: usize = 1 << (usize::BITS - 1);
/// The number of doors.
pub(crate) const DOORS: usize = if cfg!(loom) { 2 } else { 32 };

/// The doors to the driver.
pub(crate) struct Quiet {
    doors: [Door; DOORS],
    /// Held while the doors are closed.
    closed: Mutex<()>,
}

/// While it lives, no other thread is inside.
pub(crate) struct Silence<'q> {
    quiet: &'q Quiet,
    _closed: Closed<'q>,
}

#[cfg(not(loom))]
type Closed<'q> = parking_lot::MutexGuard<'q, ()>;
#[cfg(loom)]
type Closed<'q> = crate::core::sync::Guard<'q, ()>;

impl Quiet {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Quiet { doors: [const { Door(AtomicUsize::new(0)) }; DOORS], closed: Mutex::new(()) }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Quiet { doors: [Door(AtomicUsize::new(0)), Door(AtomicUsize::new(0))], closed: Mutex::new(()) }
    }

    #[expect(clippy::indexing_slicing, reason = "less than there are")]
    fn door(&self, door: usize) -> &AtomicUsize {
        &self.doors[door % DOORS].0
    }

    /// Enters; waits while a capture is under way. The thread must be outside.
    #[inline]
    pub(crate) fn enter(&self, door: usize) {
        if self.door(door).fetch_add(1, Ordering::Acquire) & CLOSED != 0 {
            self.wait(door);
        }
    }

    #[cold]
    fn wait(&self, door: usize) {
        loop {
            self.leave(door);
            drop(self.closed.lock()); // until the capture is over
            if self.door(door).fetch_add(1, Ordering::Acquire) & CLOSED == 0 {
                return;
            }
        }
    }

    /// Leaves.
    #[inline]
    pub(crate) fn leave(&self, door: usize) {
        self.door(door).fetch_sub(1, Ordering::Release);
    }

    /// Closes the doors and waits until no thread is inside, except the calling thread if it entered by the door `own`.
    /// `None`: another capture is under way, or `patient` has said that the wait is too long.
    pub(crate) fn silence(&self, own: Option<usize>, mut patient: impl FnMut() -> bool) -> Option<Silence<'_>> {
        let _closed = self.closed.try_lock()?;
        let silence = Silence { quiet: self, _closed };
        for door in &self.doors {
            door.0.fetch_or(CLOSED, Ordering::AcqRel);
        }
        for (index, door) in self.doors.iter().enumerate() {
            let own = usize::from(own.is_some_and(|own| own % DOORS == index));
            // A thread that comes now does not stay inside, so it is enough to see the door empty once.
            while door.0.load(Ordering::Acquire) & !CLOSED != own {
                if !patient() {
                    return None;
                }
            }
        }
        Some(silence)
    }
}

impl Drop for Silence<'_> {
    fn drop(&mut self) {
        // Open the doors before the lock is released: other threads wait for the lock.
        for door in &self.quiet.doors {
            door.0.fetch_and(!CLOSED, Ordering::Release);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_is_inside_puts_a_capture_off_unless_it_is_its_own_thread() {
        let quiet = Quiet::new();
        quiet.enter(3);
        assert!(quiet.silence(None, || false).is_none());
        assert!(quiet.silence(Some(4), || false).is_none());
        assert!(quiet.silence(Some(3), || false).is_some());
        assert!(quiet.silence(Some(3 + DOORS), || false).is_some(), "threads share doors");
        quiet.leave(3);
        assert!(quiet.silence(None, || false).is_some());
    }

    #[test]
    fn one_capture_at_a_time_and_the_doors_are_open_after_it() {
        let quiet = Quiet::new();
        let silence = quiet.silence(None, || false).unwrap();
        assert!(quiet.silence(None, || true).is_none());
        drop(silence);
        quiet.enter(0); // does not wait
        quiet.leave(0);
        assert!(quiet.silence(None, || false).is_some());
    }

    #[test]
    fn who_comes_during_a_capture_waits_for_its_end() {
        let quiet = Quiet::new();
        let over = crate::core::sync::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let silence = quiet.silence(None, || true);
            let coming: Vec<_> = (0..4)
                .map(|door| {
                    let (quiet, over) = (&quiet, &over);
                    scope.spawn(move || {
                        quiet.enter(door);
                        assert!(over.load(Ordering::Acquire), "it was let in beside a capture");
                        quiet.leave(door);
                    })
                })
                .collect();
            std::thread::yield_now();
            over.store(true, Ordering::Release);
            drop(silence);
            coming.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}
