//! A compilation on a helper thread.

use super::Image;
use super::single_flight::Compilation;
use crate::clock::Clock;
use crate::sync::Arc;
use crate::{Error, Result};
use std::time::Duration;

/// A compilation under way, from [`Compiler::compile_pending`](super::Compiler::compile_pending).
///
/// Dropping one does nothing: the compilation goes on, and its image is kept for the next request.
#[must_use = "dropping a pending drops its image"]
pub struct PendingCompile {
    state: State,
}

enum State {
    Done(Result<Image>),
    UnderWay(Arc<Compilation>),
}

impl PendingCompile {
    pub(super) fn done(image: Image) -> Self {
        PendingCompile { state: State::Done(Ok(image)) }
    }

    pub(super) fn under_way(compilation: Arc<Compilation>) -> Self {
        PendingCompile { state: State::UnderWay(compilation) }
    }

    /// The answer is there, also when it is an error.
    pub fn is_ready(&self) -> bool {
        match &self.state {
            State::Done(_) => true,
            State::UnderWay(compilation) => compilation.is_done(),
        }
    }

    /// Waits and gives the image.
    ///
    /// # Errors
    /// As [`Compiler::compile`](super::Compiler::compile).
    pub fn await_result(self) -> Result<Image> {
        match self.state {
            State::Done(answer) => answer,
            State::UnderWay(compilation) => {
                compilation.wait(None).unwrap_or_else(|| Err(Error::library("a compilation without an answer")))
            }
        }
    }

    /// Waits at most `limit`; gives itself back when that was not enough.
    ///
    /// # Errors
    /// Outer: still under way. Inner: as [`Compiler::compile`](super::Compiler::compile).
    pub fn await_timeout(self, limit: Duration) -> Result<Result<Image>, Self> {
        let answer = match &self.state {
            State::Done(answer) => return Ok(answer.clone()),
            // A compiler belongs to no device.
            State::UnderWay(compilation) => compilation.wait(Clock::SYSTEM.after(limit)),
        };
        answer.ok_or(self)
    }
}

impl std::fmt::Debug for PendingCompile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PendingCompile(ready: {})", self.is_ready())
    }
}
