//! What this process may do: nothing after it began to exit, nothing in a forked child.
//!
//! The fork generation is a number that changes only at an exit or a fork. An epoch remembers the value at its creation
//! and compares it with one relaxed load. This takes no system call and no lock, so both handlers are safe where they
//! run (a fork handler may only touch atomics). After `exit` begins, libcuda is being torn down; and a forked child
//! shares handles that it must not use.

#[cfg(feature = "cuda")]
pub(crate) mod leaving;

use crate::core::clock::{self, Clock, Timing};
use std::sync::Once;
#[cfg(feature = "cuda")]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicU32, Ordering};

const EXITING: u32 = 1 << 31;

static FORK_GENERATION: AtomicU32 = AtomicU32::new(0);

/// The current fork generation.
pub(crate) fn fork_generation() -> u32 {
    FORK_GENERATION.load(Ordering::Relaxed)
}

/// Whether this process was forked from the one in which the fork generation was `before`.
pub(crate) fn forked_since(before: u32) -> bool {
    (before ^ fork_generation()) & !EXITING != 0
}

/// Whether the process has begun to exit.
pub(crate) fn exiting() -> bool {
    fork_generation() & EXITING != 0
}

/// Closes every epoch, and lets our own threads leave the driver before the driver's own exit handler runs: a thread
/// that is inside the driver then ends in a segmentation fault.
#[cfg(feature = "cuda")]
pub(super) extern "C" fn on_exit() {
    /// The first handler to run has waited: a thread that is still inside after that will not come out.
    static WAITED: AtomicBool = AtomicBool::new(false);
    FORK_GENERATION.fetch_or(EXITING, Ordering::SeqCst);
    if WAITED.swap(true, Ordering::SeqCst) {
        return;
    }
    leaving::leave();
    let (start, exit) = (Clock::SYSTEM.start(), &Timing::standard().exit);
    while CALLERS.load(Ordering::SeqCst) > 0 && start.elapsed() < exit.driver {
        clock::pause(exit.look);
    }
}

/// How many housekeeping threads may be inside the driver.
#[cfg(feature = "cuda")]
static CALLERS: AtomicU32 = AtomicU32::new(0);

/// Runs `f`, which may call the driver, unless the process is exiting; an exit waits for it.
#[cfg(feature = "cuda")]
pub(crate) fn unless_exiting<R>(f: impl FnOnce() -> R) -> Option<R> {
    let _caller = Caller::new();
    (!exiting()).then(f)
}

/// Counts a thread in [`CALLERS`], and out again also after a panic; otherwise every exit would wait for it.
#[cfg(feature = "cuda")]
struct Caller;

#[cfg(feature = "cuda")]
impl Caller {
    fn new() -> Self {
        CALLERS.fetch_add(1, Ordering::SeqCst);
        Caller
    }
}

#[cfg(feature = "cuda")]
impl Drop for Caller {
    fn drop(&mut self) {
        CALLERS.fetch_sub(1, Ordering::SeqCst);
    }
}

extern "C" fn in_child() {
    FORK_GENERATION.fetch_add(1, Ordering::SeqCst);
    // The threads that were counted belong to the parent.
    #[cfg(feature = "cuda")]
    CALLERS.store(0, Ordering::SeqCst);
    #[cfg(feature = "cuda")]
    leaving::in_child();
}

/// Registers the fork handler.
pub(crate) fn watch_fork() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| crate::system::process::in_forked_children(in_child));
}

/// Registers the exit handler. Handlers run last in, first out, and libraries register theirs when they are loaded or
/// first used. So this is called after `cuInit`, after a handle of a library was made, and when a device is closed,
/// whose housekeeping thread then tears it down. Our handler then runs before theirs, and waits for the thread.
/// (Without that, `cublasDestroy` during the exit of the process ended in a segmentation fault.)
#[cfg(feature = "cuda")]
pub(crate) fn watch_exit() {
    crate::system::process::at_exit(on_exit);
}

/// As [`watch_exit`], for callers that repeat it. The C library never removes a handler, so their number is bounded: a
/// process that has made so many handles and closed so many devices has used each library for the first time long ago.
#[cfg(feature = "cuda")]
pub(crate) fn watch_exit_again() {
    const MOST: u32 = 1024;
    static HANDLERS: AtomicU32 = AtomicU32::new(0);
    if HANDLERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < MOST).then_some(n + 1)).is_ok() {
        watch_exit();
    }
}

/// The same, after a handle of a library was made. `first`: the first use of that library, which always registers.
#[cfg(feature = "cuda")]
pub(crate) fn watch_exit_after(first: &Once) {
    first.call_once(watch_exit);
    watch_exit_again();
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_no_longer_waited_for() {
        let _ = std::panic::catch_unwind(|| unless_exiting(|| panic!("inside")));
        // Threads of other tests come and go.
        let start = Clock::SYSTEM.start();
        while CALLERS.load(Ordering::SeqCst) != 0 {
            assert!(start.elapsed().as_secs() < 60, "an exit would wait for nobody");
            std::thread::yield_now();
        }
    }

    #[test]
    fn an_exit_is_no_fork() {
        let before = fork_generation();
        assert!(!forked_since(before) && !forked_since(before | EXITING));
        assert!(forked_since(before + 1) && forked_since((before + 1) | EXITING));
    }
}
