//! Compilations beside the exit of the process.
//!
//! An exit runs its handlers last in, first out, and the destructors of a library's static objects are such handlers. A
//! handler of ours that is registered after the library was loaded runs before those that it registered by then: it
//! tells compilations to stop, and waits until the last one is out. But NVRTC and nvJitLink make more static objects on
//! the way of the first compilation of each kind (13.0: five, and eighteen more for `sm_100`), and register their
//! destructors then, so that those run *before* ours, under the compiler's feet: every second exit within 150 ms of the
//! first two compilations ended in a signal. So these libraries get [`never`] in the place of the function that they
//! register with: a library that is never unloaded needs no destructors, and the process gives back its memory.

use super::process;
#[cfg(feature = "nvrtc")]
use crate::loader::Loaded;
#[cfg(feature = "nvrtc")]
use crate::{Error, Result, error::Site};
#[cfg(feature = "nvrtc")]
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Inside a compiler or linker.
static INSIDE: AtomicU32 = AtomicU32::new(0);

/// What stops is out in some 50 ms. A compiler older than 13 does not stop, and needs what it needs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits for what compiles. It has been told: by then the process is [exiting](process::exiting).
pub(super) fn leave() {
    let until = Instant::now() + PATIENCE;
    while INSIDE.load(Ordering::SeqCst) > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// In the place of `__cxa_atexit`: takes the destructor and forgets it.
#[cfg(feature = "nvrtc")]
unsafe extern "C" fn never(_: Option<unsafe extern "C" fn(*mut c_void)>, _: *mut c_void, _: *mut c_void) -> c_int {
    0
}

/// After a compiler or linker was loaded, and before it is asked to work.
#[cfg(feature = "nvrtc")]
pub(crate) fn watch(library: &Loaded) {
    let never: unsafe extern "C" fn(_, _, _) -> c_int = never;
    // SAFETY: the signature of `__cxa_atexit`, and success is what its callers are told; that a destructor does not run
    // at the exit can be seen by nobody, as the library is not used after it. Where it cannot be done the exit is only
    // less safe, as `Compiler::compile_pending` says.
    unsafe { library.rebind(c"__cxa_atexit", never as *const c_void) };
    process::watch_exit();
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
#[cfg(feature = "nvrtc")]
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
        let until = Instant::now() + Duration::from_secs(60);
        while INSIDE.load(Ordering::SeqCst) > 0 {
            assert!(Instant::now() < until, "somebody stays inside");
            std::thread::yield_now();
        }
    }
}
