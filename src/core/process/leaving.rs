//! Compilations that run while the process exits.
//!
//! An exit runs its handlers last in, first out, and the destructors of a library's static objects are such handlers. A
//! handler of ours that is registered after the library was loaded runs before those that the library had registered by
//! then. It tells compilations to stop, and waits until the last one has ended. During its first compilation of each kind
//! a compiler makes more static objects, whose destructors would run *before* our handler, while the compiler still uses
//! the objects. So these destructors begin the exit themselves ([`begin`]): the loader has put itself between the
//! compiler and the C library (`engines/loader/destructors.rs`). Test: `process
//! compiler_exit::a_static_object_of_a_running_compilation_is_not_destroyed`, and with NVRTC `nvrtc
//! compile::processes::a_process_that_ends_in_the_middle_of_a_compilation_ends_well_and_soon`.

use crate::core::clock::{self, Clock, Timing};
use crate::core::error::{Error, Result, Site};
use crate::core::process;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How many threads are inside a compiler or linker.
static INSIDE: AtomicU32 = AtomicU32::new(0);

/// Waits for running compilations. They have been told to stop: the process is already [exiting](process::exiting).
pub(super) fn leave() {
    // A limit of the process, not of a device: a device's manual clock would block the exit.
    let (start, exit) = (Clock::SYSTEM.start(), &Timing::standard().exit);
    while INSIDE.load(Ordering::SeqCst) > 0 && start.elapsed() < exit.compilers {
        clock::pause(exit.look);
    }
}

/// Registers the exit handler. Call after a compiler or linker was loaded, and before it is asked to work.
pub(crate) fn watch() {
    process::watch_exit();
}

/// The exit has begun, says a destructor of a compiler's static object: tells compilations to stop, and waits for them.
/// True if no thread is inside a compiler now. None can come in after this.
#[cfg(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn begin() -> bool {
    process::on_exit();
    INSIDE.load(Ordering::SeqCst) == 0
}

/// A compiler calls this from time to time while it works: whether to continue.
pub(crate) fn goes_on() -> bool {
    !process::exiting()
}

/// This process was forked while a thread was inside a compiler. It has the compiler's locks as they were then, and no
/// thread that could release them: NVRTC 13.0 waits for ever.
static CUT_OFF: AtomicBool = AtomicBool::new(false);

/// Called in a forked child, in which no thread is inside.
pub(super) fn in_child() {
    if INSIDE.swap(0, Ordering::SeqCst) > 0 {
        CUT_OFF.store(true, Ordering::SeqCst);
    }
}

/// Refuses a compilation that would never end.
pub(crate) fn admit() -> Result<()> {
    if !CUT_OFF.load(Ordering::SeqCst) {
        return Ok(());
    }
    Err(Error::DeviceLost {
        cause: "this process was forked during a compilation, and the compiler's locks can never be released in it"
            .into(),
        remedy: "fork only while no compilation runs, or start another program after the fork".into(),
        site: Site::none(),
    })
}

/// Runs `f` unless the process is exiting; an exit waits for it.
pub(crate) fn unless_leaving<R>(f: impl FnOnce() -> R) -> Option<R> {
    /// Counts the thread out, also after a panic.
    struct Inside;
    impl Drop for Inside {
        fn drop(&mut self) {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let _inside = Inside;
    // Checked after the thread is counted: an exit sets its flag first and reads the count after that.
    (!process::exiting()).then(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_leaves_nobody_inside() {
        let caught = std::panic::catch_unwind(|| unless_leaving(|| -> () { panic!("a wall") }));
        assert!(caught.is_err());
        // Other tests of this process may be inside for a while.
        let start = Clock::SYSTEM.start();
        while INSIDE.load(Ordering::SeqCst) > 0 {
            assert!(start.elapsed().as_secs() < 60, "somebody stays inside");
            std::thread::yield_now();
        }
    }
}
