//! The asynchronous check of the residual, and what an iteration remembers between its passes.

use super::super::Sparse;
use super::super::element::SolveElement;
use super::iteration::{Iteration, IterationProgress};
use crate::core::buffer::{DeviceBuffer, In};
use crate::core::dispatch::PendingDispatch;
use crate::core::error::Result;
use crate::core::op;

/// Whether the iteration continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    GoOn,
    Stop,
}

/// What the recurrence sends to the host.
pub(super) enum Sent<'a, T: SolveElement> {
    /// The square of the norm of the residual.
    Square(In<'a, T>),
    /// The norm of the residual, and a number that is zero if the method has broken down: no further iteration changes x.
    Norm(In<'a, T>, In<'a, T>),
}

/// A residual that is being copied to the host.
struct Look<T: SolveElement> {
    iteration: usize,
    residual: PendingDispatch<Vec<T>, op::Verdict>,
    squared: bool,
    alive: Option<PendingDispatch<Vec<T>, op::Verdict>>,
    /// The x that has this residual, if the method has one.
    x: Option<DeviceBuffer<T>>,
}

/// Residuals that are being copied to the host, and those that arrived.
pub(super) struct Watch<'w, T: SolveElement> {
    sparse: &'w Sparse,
    how: &'w Iteration,
    /// Number of iterations done, in all passes.
    pub(super) iterations: usize,
    /// The relative residual at which this pass ends.
    pub(super) tolerance: f64,
    /// The norm by which residuals are divided.
    pub(super) scale: f64,
    /// Whether this pass ended because its recurrence reached the tolerance.
    pub(super) reached: bool,
    /// The last x whose residual was finite.
    pub(super) kept: Option<DeviceBuffer<T>>,
    sent: Option<Look<T>>,
    /// The last residual of this pass, and how often it came again.
    last: Option<(f64, usize)>,
    pub(super) history: Vec<IterationProgress>,
}

impl<'w, T: SolveElement> Watch<'w, T> {
    pub(super) fn new(sparse: &'w Sparse, how: &'w Iteration, tolerance: f64, scale: f64) -> Self {
        let (reached, kept, sent, last, history) = (false, None, None, None, Vec::new());
        Watch { sparse, how, iterations: 0, tolerance, scale, reached, kept, sent, last, history }
    }

    /// Begins a pass. Residuals are divided by `scale`.
    pub(super) fn begin(&mut self, scale: f64) {
        (self.scale, self.reached, self.sent, self.last) = (scale, false, None, None);
    }

    /// Whether the limit of iterations leaves one more.
    pub(super) fn goes_on(&self) -> bool {
        self.iterations < self.how.limit
    }

    /// Whether the residual of this iteration is checked.
    pub(super) fn looks(&self) -> bool {
        self.iterations.is_multiple_of(self.how.every)
    }

    /// Waits for the residual sent before, decides from it whether to continue, and sends this one. If the method has
    /// an x with this residual, a copy of it is kept until a later one is known to be finite.
    pub(super) fn look(&mut self, sent: Sent<'_, T>, x: Option<&DeviceBuffer<T>>) -> Result<Verdict> {
        let verdict = self.receive()?;
        if verdict == Verdict::GoOn {
            let device = &self.sparse.device;
            let (residual, squared, alive) = match sent {
                Sent::Square(square) => (square, true, None),
                Sent::Norm(norm, alive) => (norm, false, Some(device.download(alive.slice(0..1)?)?)),
            };
            let residual = device.download(residual.slice(0..1)?)?;
            let x = x.map(|x| device.duplicated(x)).transpose()?;
            self.sent = Some(Look { iteration: self.iterations, residual, squared, alive, x });
        }
        Ok(verdict)
    }

    /// Waits for the residual that was sent last.
    pub(super) fn receive(&mut self) -> Result<Verdict> {
        let Some(Look { iteration, residual, squared, alive, x }) = self.sent.take() else {
            return Ok(Verdict::GoOn);
        };
        let first = |sent: PendingDispatch<Vec<T>, op::Verdict>| -> Result<T> {
            Ok(sent.await_result()?.first().copied().unwrap_or_default())
        };
        let raw = first(residual)?;
        let broken = alive.map(first).transpose()?.is_some_and(|alive| alive == T::default());
        let norm = if squared { raw.re().abs().sqrt() } else { raw.magnitude() };
        let residual = if raw.magnitude().is_nan() { f64::NAN } else { norm / self.scale };
        self.tell(iteration, residual);
        if !residual.is_finite() {
            return Ok(Verdict::Stop);
        }
        if x.is_some() {
            self.kept = x;
        }
        // A recurrence that has broken down repeats its residual. The same residual by chance is no reason to stop, so
        // it has to come three times.
        let again = self.last.map_or(0, |(last, again)| if last == residual { again + 1 } else { 0 });
        self.last = Some((residual, again));
        self.reached = residual <= self.tolerance;
        Ok(if self.reached || broken || (squared && again >= 2) { Verdict::Stop } else { Verdict::GoOn })
    }

    /// Adds a residual to the history, unless there is one for this iteration.
    pub(super) fn tell(&mut self, iteration: usize, residual: f64) {
        if self.history.last().is_some_and(|last| last.iteration >= iteration) {
            return;
        }
        let progress = IterationProgress { iteration, residual };
        self.history.push(progress);
        if let Some(hook) = &self.how.progress {
            hook(progress);
        }
    }
}
