//! Who has which of a few things that one at a time may have, and who waits for one without a thread.
//!
//! **Race "release against park"**: to take one or to park is one critical section, and so is to give one back and to take
//! out who waits; so nobody is parked while one is free. Who is taken out comes again and takes one as anybody else.

use crate::sync::Mutex;
use std::collections::VecDeque;

/// So many turns, and jobs that wait for one.
pub(crate) struct Turns<J>(Mutex<State<J>>);

struct State<J> {
    free: Vec<usize>,
    parked: VecDeque<J>,
}

impl<J: Clone> Turns<J> {
    pub(crate) fn new(count: usize) -> Self {
        Turns(Mutex::new(State { free: (0..count).rev().collect(), parked: VecDeque::new() }))
    }

    /// Takes one, or parks the job.
    pub(crate) fn take_or_park(&self, job: &J) -> Option<usize> {
        let mut state = self.0.lock();
        let turn = state.free.pop();
        if turn.is_none() {
            state.parked.push_back(job.clone());
        }
        turn
    }

    /// Gives one back; answers the job that was parked longest, which is to come again.
    pub(crate) fn give_back(&self, turn: usize) -> Option<J> {
        let mut state = self.0.lock();
        state.free.push(turn);
        state.parked.pop_front()
    }
}
