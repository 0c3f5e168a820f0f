//! Tracks which threads of this process are inside the driver or a library, so that a capture can keep them out: see
//! `quiet.rs`.
//!
//! Every call that needs a current context is made while the guard of [`Context::bind`](crate::engines::cuda::context::Context::bind)
//! lives, and that guard holds an [`Inside`]. (Event queries need no current context, and do not disturb a capture.)
//! The doors belong to the process, not to a context: devices share contexts, libraries keep state for all contexts
//! together, and captures are rare.
//!
//! The cost is one atomic addition on entry and one on exit, on a cache line that the thread shares with no other
//! thread as long as there are at most [`DOORS`] of them.

use super::quiet::{DOORS, Quiet, Silence};
use crate::core::clock::Clock;
use crate::core::sync::{AtomicUsize, Ordering};
use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Duration;

static QUIET: Quiet = Quiet::new();

/// The state of one thread.
#[derive(Clone, Copy)]
struct Here {
    /// Its door. [`DOORS`], which is no door, until it first enters.
    door: usize,
    /// How many [`Inside`] it holds.
    depth: usize,
}

thread_local! {
    static HERE: Cell<Here> = const { Cell::new(Here { door: DOORS, depth: 0 }) };
}

/// While this lives, the calling thread is inside.
pub(crate) struct Inside(PhantomData<*const ()>);

impl Inside {
    /// Enters. If a capture is under way, waits for its end, unless the thread is inside already.
    #[inline]
    pub(crate) fn enter() -> Self {
        let mut here = HERE.get();
        if here.depth == 0 {
            if here.door == DOORS {
                here.door = next_door();
            }
            QUIET.enter(here.door);
        }
        here.depth += 1;
        HERE.set(here);
        Inside(PhantomData)
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        let mut here = HERE.get();
        here.depth -= 1;
        HERE.set(here);
        if here.depth == 0 {
            QUIET.leave(here.door);
        }
    }
}

#[cold]
fn next_door() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed) % DOORS
}

/// Keeps all threads but the calling one out until the returned value is dropped. Threads that want to enter wait
/// meanwhile. `None` if other threads stay inside for longer than `patience`, or if another capture is under way.
pub(super) fn silence(patience: Duration) -> Option<Silence<'static>> {
    /// Checks before the clock is first read: most calls take microseconds.
    const SPINS: u32 = 256;
    let (mut looks, mut start) = (0u32, None);
    let patient = || {
        looks += 1;
        if looks < SPINS {
            std::hint::spin_loop();
            return true;
        }
        std::thread::yield_now();
        start.get_or_insert_with(|| Clock::SYSTEM.start()).elapsed() < patience
    };
    let here = HERE.get();
    QUIET.silence((here.depth > 0).then_some(here.door), patient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_inside_goes_in_again_and_may_have_silence() {
        let (first, second) = (Inside::enter(), Inside::enter());
        drop(first); // in any order
        // Threads of other tests enter and leave meanwhile.
        let quiet = std::iter::repeat_with(|| silence(Duration::from_millis(1))).flatten().next();
        drop(Inside::enter()); // the thread that has the silence may enter
        drop((quiet, second));
        assert_eq!(HERE.get().depth, 0);
    }
}
