//! The start of a worker process.

use crate::core::error::Error;
use crate::engines::worker::shared::{program, reply};
use rustix::fs::fstat;
use std::ffi::OsStr;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// This process serves as a worker, or is being refused.
static SERVING: AtomicBool = AtomicBool::new(false);

/// This process was started to be a worker.
fn is_worker() -> bool {
    std::env::var_os(program::VARIABLE)
        .is_some_and(|name| fstat(std::io::stdin()).is_ok_and(|stat| name == OsStr::new(&program::id(&stat))))
}

pub(crate) fn init() {
    program::prepare();
    if is_worker() && !SERVING.swap(true, Ordering::Relaxed) {
        let code = super::lanes::serve();
        // No destructors: what the device still does is of no interest any more.
        program::exit(code);
    }
}

/// Called when a device is opened. A worker that gets here has not called `init`, and runs its parent's program a
/// second time. Reports that on both sides, and ends the process.
pub(crate) fn guard() {
    static CHECKED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    if *CHECKED.get_or_init(is_worker) && !SERVING.swap(true, Ordering::Relaxed) {
        const WHY: &str = "this program was started as the worker of another process, but it opened a device of its \
                           own: call `windlass::worker::init()` first in its `main`";
        // Before the parent is told: it then kills this process.
        let _ = writeln!(std::io::stderr(), "windlass: {WHY}");
        super::handshake::refuse(Error::unsupported(WHY));
        program::exit(reply::REFUSED);
    }
}
