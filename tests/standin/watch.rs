//! What a thread calls, and what is left at the end.

use std::time::{Duration, Instant};

use cudarc::driver::{result, sys};

use super::{Driver, Mode};

impl Driver {
    /// What the calling thread calls while `f` runs, by name and in order. Other threads, housekeeping above all, are
    /// left out.
    pub(crate) fn calls_in<R>(&self, f: impl FnOnce() -> R) -> (R, Vec<String>) {
        self.log_of_this_thread();
        let answer = f();
        self.log(false);
        (answer, self.take_log().iter().map(|line| name(line).to_owned()).collect())
    }

    /// Runs `f`, which may call nothing on this thread.
    #[track_caller]
    pub(crate) fn silently<R>(&self, what: &str, f: impl FnOnce() -> R) -> R {
        let (answer, calls) = self.calls_in(f);
        assert!(calls.is_empty(), "{what} called {calls:?}");
        answer
    }

    /// Everything that was asked of the driver has been given back, a few seconds from now at the latest, and nothing
    /// was done that a real driver would not forgive. Every handle of every device must be gone.
    #[track_caller]
    pub(crate) fn assert_finished(&self) {
        self.mode(Mode::Eager);
        self.release();
        let until = Instant::now() + Duration::from_secs(5);
        while !self.left().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(200));
        }
        assert!(self.left().is_empty(), "still live: {:?}", self.left());
        self.assert_clean();
    }

    /// What is live, by the words of `standin.h`.
    pub(crate) fn left(&self) -> Vec<(&'static str, i64)> {
        const KINDS: [&str; 8] = ["streams", "events", "allocations", "pools", "pinned", "modules", "contexts", "blas"];
        KINDS.into_iter().map(|what| (what, self.live(what))).filter(|(_, count)| *count > 0).collect()
    }
}

/// The function of a line of the log, without its suffix.
pub(crate) fn name(line: &str) -> &str {
    let name = line.split(' ').next().unwrap_or_default();
    name.strip_suffix("_v2").unwrap_or(name)
}

/// A device's context as the calling thread's current one, as a program that uses CUDA itself has it.
pub(crate) struct Current(sys::CUdevice);

impl Current {
    pub(crate) fn of(ordinal: i32) -> Self {
        result::init().unwrap();
        let device = result::device::get(ordinal).unwrap();
        // SAFETY: the device exists, and the context is retained until this object goes.
        unsafe { result::ctx::set_current(result::primary_ctx::retain(device).unwrap()).unwrap() };
        Current(device)
    }

    /// What is current on this thread.
    pub(crate) fn now() -> Option<sys::CUcontext> {
        result::ctx::get_current().unwrap()
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        // SAFETY: null leaves none current; the context was retained once.
        unsafe {
            let _ = result::ctx::set_current(std::ptr::null_mut());
            let _ = result::primary_ctx::release(self.0);
        }
    }
}
