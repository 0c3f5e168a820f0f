//! Which threads of this process are inside the driver or a library, for captures to keep them out: see `quiet.rs`.
//!
//! Every call that needs a current context is made while [`Context::bind`](super::context::Context::bind)'s guard lives,
//! and that guard holds an [`Inside`]. (Queries of events need none, nor do they disturb a capture.) The doors are the
//! process's and not a context's: devices share contexts, libraries keep state for all of them, and captures are rare.
//!
//! It costs an atomic addition on the way in and one on the way out, on a line that the thread has for itself.

use super::quiet::{DOORS, Quiet, Silence};
use crate::clock::Clock;
use crate::sync::{AtomicUsize, Ordering};
use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Duration;

static QUIET: Quiet = Quiet::new();

/// What a thread knows of itself.
#[derive(Clone, Copy)]
struct Here {
    /// Its door; none of them before it first came.
    door: usize,
    /// How often it is inside.
    depth: usize,
}

thread_local! {
    static HERE: Cell<Here> = const { Cell::new(Here { door: DOORS, depth: 0 }) };
}

/// The calling thread is inside.
pub(super) struct Inside(PhantomData<*const ()>);

impl Inside {
    /// Goes in; waits for the end of a capture, unless the thread is inside already.
    #[inline]
    pub(super) fn enter() -> Self {
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

/// Nobody but the calling thread is inside until what this gives is dropped; `None` where others stay inside for longer than
/// `patience`, who come to the doors wait meanwhile.
pub(super) fn silence(patience: Duration) -> Option<Silence<'static>> {
    /// Looks before the first at the clock: most calls take microseconds.
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
        // Other tests of this program come and go.
        let quiet = std::iter::repeat_with(|| silence(Duration::from_millis(1))).flatten().next();
        drop(Inside::enter()); // a thread that has it may go in
        drop((quiet, second));
        assert_eq!(HERE.get().depth, 0);
    }
}
