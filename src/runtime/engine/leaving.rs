//! Compilations beside the exit of the process.
//!
//! An exit runs its handlers last in, first out, and the destructors of a library's static objects are such handlers. A
//! handler of ours that is registered after the library was loaded runs before those that it registered by then: it
//! tells compilations to stop, and waits until the last one is out. But a compiler makes more static objects on the way of
//! its first compilation of each kind (NVRTC 13.0: five, and eighteen more for `sm_100`), and registers their destructors
//! then, so that those would run *before* ours, under its feet. So ours is registered again and again while it works
//! ([`goes_on`]): what is left is an exit in the moment between the two, of the first compilation of a kind.

use super::process;
use crate::clock::{self, Clock, Timing};
use crate::{Error, Result, error::Site};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Inside a compiler or linker.
static INSIDE: AtomicU32 = AtomicU32::new(0);

/// Waits for what compiles. It has been told: by then the process is [exiting](process::exiting).
pub(super) fn leave() {
    // Of the process, not of a device: a manual clock of one would hold up all.
    let (start, exit) = (Clock::SYSTEM.start(), &Timing::standard().exit);
    while INSIDE.load(Ordering::SeqCst) > 0 && start.elapsed() < exit.compilers {
        clock::pause(exit.look);
    }
}

/// After a compiler or linker was loaded, and before it is asked to work.
pub(crate) fn watch() {
    process::watch_exit();
}

/// Asked by a compiler now and then while it works: whether to go on. The C library keeps every handler for good, so there
/// is an end to registering them; the objects come early.
pub(crate) fn goes_on() -> bool {
    const MOST: u32 = 256;
    static HANDLERS: AtomicU32 = AtomicU32::new(0);
    if HANDLERS.load(Ordering::Relaxed) < MOST && HANDLERS.fetch_add(1, Ordering::Relaxed) < MOST {
        process::watch_exit();
    }
    !process::exiting()
}

/// This process was forked while a thread was inside, and has its locks as they were then, with nobody to open them:
/// NVRTC 13.0 waits for ever.
static CUT_OFF: AtomicBool = AtomicBool::new(false);

/// In a forked child nobody is inside.
pub(super) fn in_child() {
    if INSIDE.swap(0, Ordering::SeqCst) > 0 {
        CUT_OFF.store(true, Ordering::SeqCst);
    }
}

/// Refuses to go inside where nobody comes out.
pub(crate) fn admit() -> Result<()> {
    if !CUT_OFF.load(Ordering::SeqCst) {
        return Ok(());
    }
    Err(Error::DeviceLost {
        cause: "this process was forked in the middle of a compilation, and the compiler's locks are held for good"
            .into(),
        remedy: "fork while nothing compiles, or start another program after the fork".into(),
        site: Site::none(),
    })
}

/// Runs `f` unless the process is leaving; an exit waits for it.
pub(crate) fn unless_leaving<R>(f: impl FnOnce() -> R) -> Option<R> {
    /// Also out after a panic.
    struct Inside;
    impl Drop for Inside {
        fn drop(&mut self) {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let _inside = Inside;
    // After it is counted, as an exit looks at the count after it is told.
    (!process::exiting()).then(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_leaves_nobody_inside() {
        let caught = std::panic::catch_unwind(|| unless_leaving(|| -> () { panic!("a wall") }));
        assert!(caught.is_err());
        // Others of this process may be inside for a while.
        let start = Clock::SYSTEM.start();
        while INSIDE.load(Ordering::SeqCst) > 0 {
            assert!(start.elapsed().as_secs() < 60, "somebody stays inside");
            std::thread::yield_now();
        }
    }
}
