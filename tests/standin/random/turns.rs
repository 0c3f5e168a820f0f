//! Whose turn it is.

use crate::common::{LONG, Rng};
use std::sync::{Condvar, Mutex};

/// Threads that go on one at a time, at each step one that the seed picks; or as they come.
pub(super) struct Turns(Option<(Mutex<State>, Condvar)>);

struct State {
    rng: Rng,
    /// Who has not come to its end.
    left: Vec<usize>,
    turn: usize,
}

impl Turns {
    pub(super) fn free() -> Self {
        Turns(None)
    }

    pub(super) fn seeded(threads: usize, seed: u64) -> Self {
        let mut state = State { rng: Rng::new(!seed), left: (0..threads).collect(), turn: 0 };
        state.pass();
        Turns(Some((Mutex::new(state), Condvar::new())))
    }

    /// Waits for this thread's turn, runs `step`, and passes the turn on.
    pub(super) fn step<R>(&self, thread: usize, step: impl FnOnce() -> R) -> R {
        self.turn(thread, false, step)
    }

    /// This thread wants no more turns.
    pub(super) fn end(&self, thread: usize) {
        self.turn(thread, true, || ());
    }

    fn turn<R>(&self, thread: usize, last: bool, step: impl FnOnce() -> R) -> R {
        let Some((state, changed)) = &self.0 else { return step() };
        let state = state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (mut state, late) = changed
            .wait_timeout_while(state, 3 * LONG, |state| state.turn != thread)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        assert!(!late.timed_out(), "thread {thread} never had its turn");
        let answer = step();
        if last {
            state.left.retain(|other| *other != thread);
        }
        state.pass();
        changed.notify_all();
        answer
    }
}

impl State {
    fn pass(&mut self) {
        if !self.left.is_empty() {
            self.turn = self.left[self.rng.below(self.left.len())];
        }
    }
}
