//! The asynchronous check of the residual.

use super::super::Sparse;
use super::super::element::SolveElement;
use super::iteration::{Iteration, Progress, Solution, Unsolved};
use crate::{DeviceBuffer, Error, PendingDispatch, Result};

/// Whether the iteration continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    GoOn,
    Stop,
}

/// Residuals that are being copied to the host.
pub(super) struct Watch<'w, T: SolveElement> {
    sparse: &'w Sparse,
    how: &'w Iteration,
    /// The norm by which residuals are divided.
    scale: f64,
    /// Whether the value that is sent is the square of a norm.
    squared: bool,
    sent: Option<(usize, PendingDispatch<Vec<T>>)>,
    history: Vec<Progress>,
}

impl<'w, T: SolveElement> Watch<'w, T> {
    pub(super) fn new(sparse: &'w Sparse, how: &'w Iteration, scale: f64, squared: bool) -> Self {
        Watch { sparse, how, scale, squared, sent: None, history: Vec::new() }
    }

    /// Whether the residual of this iteration is checked.
    pub(super) fn looks(&self, iteration: usize) -> bool {
        iteration.is_multiple_of(self.how.every)
    }

    /// Waits for the residual sent before, decides from it whether to continue, and sends this one.
    pub(super) fn look(&mut self, iteration: usize, residual: &DeviceBuffer<T>) -> Result<Verdict> {
        let verdict = self.receive()?;
        if verdict == Verdict::GoOn {
            let first = residual.as_in().slice(0..1)?;
            self.sent = Some((iteration, self.sparse.device.download(first)?));
        }
        Ok(verdict)
    }

    fn receive(&mut self) -> Result<Verdict> {
        let Some((iteration, pending)) = self.sent.take() else { return Ok(Verdict::GoOn) };
        let raw = pending.await_result().map_err(Error::from)?.first().copied().unwrap_or_default();
        let norm = if self.squared { raw.re().abs().sqrt() } else { raw.magnitude() };
        let residual = if raw.magnitude().is_nan() { f64::NAN } else { norm / self.scale };
        let progress = Progress { iteration, residual };
        self.history.push(progress);
        if let Some(hook) = &self.how.progress {
            hook(progress);
        }
        Ok(if residual.is_nan() || residual <= self.how.tolerance { Verdict::Stop } else { Verdict::GoOn })
    }

    /// Called after the last iteration: checks the final residual and returns the result.
    pub(super) fn end(
        mut self,
        iterations: usize,
        residual: &DeviceBuffer<T>,
        x: DeviceBuffer<T>,
    ) -> Result<Solution<T>, Unsolved<T>> {
        self.receive()?;
        if self.history.last().is_none_or(|last| last.iteration != iterations) {
            self.sent = Some((iterations, self.sparse.device.download(residual.as_in().slice(0..1)?)?));
            self.receive()?;
        }
        let residual = self.history.last().map_or(0.0, |last| last.residual);
        if residual.is_nan() {
            return Err(Unsolved::Broken { iterations });
        }
        if residual <= self.how.tolerance {
            return Ok(Solution { x, iterations, residual, history: self.history });
        }
        Err(Unsolved::NotConverged { residual, iterations, x, history: self.history })
    }
}
