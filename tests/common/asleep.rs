//! When a thread of the test waits.

use super::{LONG, eventually};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// A thread that is about to wait for something, seen from another: so that a test goes on when it waits, not some time
/// later. What the thread waits for is not seen, so a test is right in either order; this makes the order that it is about
/// the usual one.
#[derive(Clone, Default)]
pub struct Asleep(Arc<AtomicI32>);

impl Asleep {
    /// It is the calling thread.
    pub fn here(&self) {
        // SAFETY: takes nothing and cannot fail.
        #[cfg(target_os = "linux")]
        self.0.store(unsafe { libc::gettid() }, Ordering::SeqCst);
        #[cfg(not(target_os = "linux"))]
        self.0.store(1, Ordering::SeqCst);
    }

    /// Waits until the thread has come to [`here`](Self::here), and sleeps or is over.
    #[track_caller]
    pub fn wait(&self) {
        assert!(eventually(LONG.as_secs(), || self.0.load(Ordering::SeqCst) != 0), "the thread did not begin");
        let thread = self.0.load(Ordering::SeqCst);
        assert!(eventually(LONG.as_secs(), || is_asleep(thread)), "the thread does not wait for anything");
    }
}

/// A thread of this process sleeps in the system, or is over.
#[cfg(target_os = "linux")]
fn is_asleep(thread: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['S', 'D', 'Z', 'X'])),
        Err(_) => true,
    }
}

#[cfg(not(target_os = "linux"))]
fn is_asleep(_: i32) -> bool {
    let_others_run();
    true
}

/// Gives the processor away many times: whoever could run in the meantime has run. For what cannot be waited for: that
/// something does not happen.
///
/// On a busy machine each yield takes a time slice of another process, and there few are enough.
pub fn let_others_run() {
    const ENOUGH: Duration = Duration::from_millis(50);
    let begin = Instant::now();
    for round in 0..1000 {
        std::thread::yield_now();
        if round >= 10 && begin.elapsed() > ENOUGH {
            break;
        }
    }
}

/// Calls `wait`, which is to last an hour of `clock` and not less, and gives its answer.
#[track_caller]
pub fn lasts_an_hour<R: Send>(clock: windlass::clock::ManualClock, wait: impl FnOnce(Duration) -> R + Send) -> R {
    const HOUR: Duration = Duration::from_secs(3600);
    const MOMENT: Duration = Duration::from_nanos(1);
    let begun = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            begun.store(true, Ordering::SeqCst);
            wait(HOUR)
        });
        let has_begun = eventually(LONG.as_secs(), || begun.load(Ordering::SeqCst));
        let_others_run();
        clock.advance(HOUR - MOMENT);
        let_others_run();
        let early = waiter.is_finished();
        // Where it came to the clock only after the first step, its hour ends later.
        let ended = has_begun
            && eventually(LONG.as_secs(), || {
                clock.advance(if waiter.is_finished() { Duration::ZERO } else { MOMENT.max(HOUR / 60) });
                waiter.is_finished()
            });
        assert!(ended && !early, "begun: {has_begun}, over before its time: {early}, over: {ended}");
        waiter.join().unwrap()
    })
}
