//! A compilation on a helper thread.

use super::Image;
use super::single_flight::Compilation;
use crate::core::clock::Clock;
use crate::core::error::{Error, Result};
use crate::core::sync::Arc;
use std::time::Duration;

/// A compilation in progress, from [`Compiler::compile_pending`](super::Compiler::compile_pending).
///
/// Dropping it has no effect: the compilation continues, and its image goes to the cache.
#[must_use = "dropping a pending compilation discards its image"]
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

    /// Whether the compilation has finished, with an image or an error.
    pub fn is_ready(&self) -> bool {
        match &self.state {
            State::Done(_) => true,
            State::UnderWay(compilation) => compilation.is_done(),
        }
    }

    /// Waits for the image.
    ///
    /// # Errors
    /// As [`Compiler::compile`](super::Compiler::compile).
    pub fn await_result(self) -> Result<Image> {
        match self.state {
            State::Done(answer) => answer,
            State::UnderWay(compilation) => compilation
                .wait(None)
                .unwrap_or_else(|| Err(Error::library("internal error: a compilation without a result"))),
        }
    }

    /// Waits for at most `limit`; returns itself if the compilation has not finished by then.
    ///
    /// # Errors
    /// Outer: not finished. Inner: as [`Compiler::compile`](super::Compiler::compile).
    pub fn await_timeout(self, limit: Duration) -> Result<Result<Image>, Self> {
        let answer = match &self.state {
            State::Done(answer) => return Ok(answer.clone()),
            // A compiler belongs to no device, so this uses the system clock.
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
