//! Turns: exclusive use of one of a few things (the members of a pool). A job that finds none free is parked, and
//! occupies no thread while it waits.
//!
//! **Race "release against park"**: taking a turn or parking the job is one critical section. Giving a turn back and
//! taking out a parked job is another. So no job is parked while a turn is free. A job that is taken out runs again,
//! and competes for a turn like any other.

use crate::core::sync::Mutex;
use std::collections::VecDeque;

/// The free turns, and the jobs that wait for one.
pub(crate) struct Turns<J>(Mutex<State<J>>);

struct State<J> {
    free: Vec<usize>,
    parked: VecDeque<J>,
}

impl<J: Clone> Turns<J> {
    pub(crate) fn new(count: usize) -> Self {
        Turns(Mutex::new(State { free: (0..count).rev().collect(), parked: VecDeque::new() }))
    }

    /// Takes a turn; if none is free, parks the job and returns `None`.
    pub(crate) fn take_or_park(&self, job: &J) -> Option<usize> {
        let mut state = self.0.lock();
        let turn = state.free.pop();
        if turn.is_none() {
            state.parked.push_back(job.clone());
        }
        turn
    }

    /// Gives a turn back. Returns the job that was parked longest; the caller must run it again.
    pub(crate) fn give_back(&self, turn: usize) -> Option<J> {
        let mut state = self.0.lock();
        state.free.push(turn);
        state.parked.pop_front()
    }
}
