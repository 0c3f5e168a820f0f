//! What a replay returns.

use super::operands::ReplayBack;
use super::replay::Answers;
use crate::core::dispatch::{Conclude, PendingDispatch};
use crate::core::error::{Error, Result};
use crate::core::op::raw::Landing;
use crate::core::op::{Made, Output, contained};

/// A value that a recorded operation leaves for the host in each replay: made by
/// [`Recorder::later`](crate::Recorder::later), read by [`Replayed::get`].
pub struct Later<H> {
    pub(super) recording: u64,
    pub(super) answer: usize,
    pub(super) conclude: Conclude<H>,
}

impl<H> Clone for Later<H> {
    fn clone(&self) -> Self {
        Later { recording: self.recording, answer: self.answer, conclude: self.conclude }
    }
}

impl<H> std::fmt::Debug for Later<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Later(answer {} of recording {})", self.answer, self.recording)
    }
}

/// A completed replay: the operands that were moved in, and the answers of its operations.
#[derive(Debug)]
pub struct Replayed<W> {
    /// The operands that were moved in, in the same order.
    pub operands: W,
    answers: Answers,
}

impl<W> Replayed<W> {
    /// The value that this operation left in this replay. If [`Program::set`](crate::Program::set) has replaced it, that is
    /// the value of the operation that was in its place when the replay was submitted.
    ///
    /// # Errors
    /// The operation's numerical verdict; [`Error::InvalidArgument`] when the operation is of another program, or of a
    /// call of `set` that failed.
    pub fn get<H>(&self, later: &Later<H>) -> Result<H> {
        let Later { recording, answer, conclude } = later;
        if *recording != self.answers.plan.id {
            return Err(Error::invalid("later", "its operation belongs to another program"));
        }
        let answer = self.answers.get(*answer);
        let (step, cell) = answer.ok_or_else(|| Error::library("the replay returned no result for this operation"))?;
        // The code of the operation's author.
        let host = contained(|| conclude(step.op()?, Landing::Slot(cell), &mut Made::default()));
        host.map_err(|error| error.in_op(step.facts().name, step.facts().library))
    }
}

impl<W: ReplayBack, V> PendingDispatch<Replayed<W>, V> {
    /// Returns the operands at once, for a next operation that follows on the device. The answers of the steps are
    /// discarded. If a step fails, operations that read them fail with [`Error::Upstream`].
    ///
    /// # Errors
    /// No failure is known.
    pub fn into_operands(self) -> Result<W> {
        Ok(self.into_parts().0)
    }
}

impl<W> Replayed<W> {
    pub(super) fn new(operands: W, answers: Answers) -> Self {
        Replayed { operands, answers }
    }
}

impl<W: ReplayBack> Output for Replayed<W> {
    type Writes = W::Elems;
    type Host = Answers;
    fn join(operands: W, answers: Answers) -> Result<Self> {
        Ok(Replayed::new(operands, answers))
    }
}
