//! What a replay gives.

use super::operands::Moved;
use super::replay::Answers;
use super::step::Cell;
use crate::buffer::{AnyBuffers, Dyn};
use crate::dispatch::Task;
use crate::op::{Made, Output};
use crate::sync::Arc;
use crate::{Error, PendingDispatch, Result};

/// What a recorded operation leaves for the host, once for each replay: made by
/// [`Recorder::later`](crate::Recorder::later), read by [`Replayed::get`].
pub struct Later<H> {
    pub(super) recording: u64,
    pub(super) answer: usize,
    pub(super) task: Arc<dyn Task<H>>,
}

impl<H> Clone for Later<H> {
    fn clone(&self) -> Self {
        Later { recording: self.recording, answer: self.answer, task: self.task.clone() }
    }
}

impl<H> std::fmt::Debug for Later<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Later(answer {} of recording {})", self.answer, self.recording)
    }
}

/// One replay that is done: the buffers that were moved in, and the answers of its operations.
#[derive(Debug)]
pub struct Replayed<W> {
    /// What was moved in, in the same order.
    pub buffers: W,
    answers: Answers,
}

impl<W> Replayed<W> {
    /// What this operation left in this replay.
    ///
    /// # Errors
    /// Its numerical verdict; [`Error::InvalidArgument`] when it is of another program.
    pub fn get<H>(&self, later: &Later<H>) -> Result<H> {
        let Later { recording, answer, task } = later;
        if *recording != self.answers.recording {
            return Err(Error::invalid("later", "it is an operation of another program"));
        }
        let at = answer * size_of::<Cell>();
        let cell = self.answers.cells.0.get(at..at + size_of::<Cell>()).and_then(|bytes| Cell::try_from(bytes).ok());
        let cell = cell.ok_or_else(|| Error::library("an answer that the replay did not bring"))?;
        task.take(&mut Made::answering(cell))
    }
}

impl<W: Moved> PendingDispatch<Replayed<W>> {
    /// The buffers at once, for the next operation to follow on the device. What the steps leave for the host is not asked
    /// for; should one fail, what reads the buffers answers [`Error::Upstream`].
    ///
    /// # Errors
    /// None that is known: the buffers are those that were moved in.
    pub fn into_buffers(self) -> Result<W> {
        Ok(W::of_any(self.split().0)?)
    }
}

impl<W: Moved> Replayed<W> {
    pub(super) fn new(buffers: AnyBuffers, answers: Answers) -> Result<Self> {
        Ok(Replayed { buffers: W::of_any(buffers)?, answers })
    }
}

impl<W: Moved> Output for Replayed<W> {
    type Writes = Dyn;
    type Host = Answers;
    fn join(buffers: AnyBuffers, answers: Answers) -> Result<Self> {
        Ok(Replayed { buffers: W::of_any(buffers)?, answers })
    }
}
