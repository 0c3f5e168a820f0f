//! Buffers that begin anywhere in their memory: libraries have rules of alignment, and break them at some cost.
//!
//! With `WINDLASS_TEST_SHIFT=3` the library, as the tests build it, puts each new buffer three elements behind the beginning of its
//! memory (`src/core/buffer/shift.rs`). So a suite need not know of it, and every operation that has a test has it shifted. A
//! process in which no buffer of the kind of device under test was shifted fails at its exit: it has tested nothing.

use std::sync::OnceLock;
use windlass::Element;

/// Elements before the data of a buffer.
pub fn shift() -> usize {
    static SHIFT: OnceLock<usize> = OnceLock::new();
    *SHIFT.get_or_init(|| std::env::var("WINDLASS_TEST_SHIFT").map_or(0, |n| n.trim().parse().expect("a number")))
}

/// A value for what no operation may write: a NaN in most types.
pub fn junk<T: Element>() -> T {
    let mut junk = T::default();
    bytemuck::bytes_of_mut(&mut junk).fill(0xff);
    junk
}

/// A process that has this in its environment was started by a test, which need not compute anything.
const CHILD: &str = "WINDLASS_TEST_SHIFT_CHILD";

/// Before `main`: with a shift, arranges that this process fails if it shifts nothing.
#[cfg(target_os = "linux")]
pub fn watch() {
    extern "C" fn at_exit() {
        let device = std::env::var("WINDLASS_TEST_DEVICE").unwrap_or_default();
        let kind = if device.ends_with(":isolated") { 2 } else { usize::from(device.starts_with("cuda")) };
        if windlass::shifted()[kind] == 0 {
            eprintln!("WINDLASS_TEST_SHIFT={}: no buffer was shifted, so this tests nothing", shift());
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(99) };
        }
    }
    if shift() > 0 && std::env::var_os(CHILD).is_none() && !std::env::args().any(|one| one == "--list") {
        // SAFETY: before `main` there is one thread; the function is called once, at the exit.
        unsafe {
            std::env::set_var(CHILD, "1");
            libc::atexit(at_exit);
        }
    }
}
