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

    /// Waits until nobody is on the way to a call: for a while none was made, and no thread of the library's waits for a
    /// processor, as one may between two calls. To be asked where nothing is in flight, for the housekeeping looks after
    /// that again and again.
    #[track_caller]
    pub(crate) fn await_rest(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        let (mut before, mut quiet) = (self.calls(), 0);
        while quiet < 4 {
            assert!(Instant::now() < until, "the driver is called on and on");
            std::thread::sleep(Duration::from_millis(3));
            let now = self.calls();
            quiet = if now == before && !is_running() { quiet + 1 } else { 0 };
            before = now;
        }
    }

    /// Waits until the housekeeping has looked at what is in flight several times.
    #[track_caller]
    pub(crate) fn await_sweeps(&self) {
        let before = self.calls();
        assert!(comes(|| self.calls() > before + 20), "nobody looks at what is in flight");
    }

    /// Everything that was asked of the driver has been given back, a minute from now at the latest, and nothing
    /// was done that a real driver would not forgive. Every handle of every device must be gone.
    #[track_caller]
    pub(crate) fn assert_finished(&self) {
        self.mode(Mode::Eager);
        self.release();
        assert!(comes(|| self.left().is_empty()), "still live: {:?}", self.left());
        self.assert_clean();
    }

    /// What is live, by the words of `standin.h`.
    pub(crate) fn left(&self) -> Vec<(&'static str, i64)> {
        const KINDS: [&str; 12] = [
            "streams",
            "events",
            "allocations",
            "pools",
            "pinned",
            "managed",
            "reserves",
            "physical",
            "modules",
            "contexts",
            "blas",
            "graphs",
        ];
        KINDS.into_iter().map(|what| (what, self.live(what))).filter(|(_, count)| *count > 0).collect()
    }
}

/// Looks for a minute at most. (Benchmarks have this file without the tests' common ones.)
fn comes(so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(60);
    while !so() && Instant::now() < until {
        std::thread::sleep(Duration::from_micros(200));
    }
    so()
}

/// A thread of the library's runs, or would if there were a processor for it.
fn is_running() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a list of threads");
    // A thread that ends meanwhile has no such file any more.
    let stats = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    stats.into_iter().any(|stat| {
        let name = stat.split_once('(').is_some_and(|(_, rest)| rest.starts_with("windlass"));
        name && stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['R', 'D']))
    })
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
