//! How long to iterate, and what comes of it.

use crate::{DeviceBuffer, Element, Error};
use std::sync::Arc;

/// The progress of an iteration, for the hook.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Iterations done when the residual was this.
    pub iteration: usize,
    /// The norm of the residual, over that of the right side.
    pub residual: f64,
}

type Hook = Arc<dyn Fn(Progress) + Send + Sync>;

/// When to stop: at a residual, or after so many iterations.
#[derive(Clone)]
pub struct Iteration {
    pub(super) tolerance: f64,
    pub(super) limit: usize,
    pub(super) every: usize,
    pub(super) restart: usize,
    pub(super) progress: Option<Hook>,
}

impl Default for Iteration {
    fn default() -> Self {
        Self::new()
    }
}

impl Iteration {
    /// To a relative residual of 1e-8, in at most 1000 iterations, with a look every 10; GMRES restarts after 30.
    pub fn new() -> Self {
        Iteration { tolerance: 1e-8, limit: 1000, every: 10, restart: 30, progress: None }
    }

    /// The norm of the residual to reach, over that of the right side. No residual reaches a tolerance that is negative or NaN.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Iterations at most.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// How often the residual is sent to the host; at least 1. Up to twice as many iterations are done after convergence.
    pub fn every(mut self, iterations: usize) -> Self {
        self.every = iterations.max(1);
        self
    }

    /// Vectors of GMRES's basis before it begins again; at least 1.
    pub fn restart(mut self, vectors: usize) -> Self {
        self.restart = vectors.max(1);
        self
    }

    /// Called on the calling thread with each residual that arrives.
    pub fn progress(mut self, hook: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(hook));
        self
    }
}

impl std::fmt::Debug for Iteration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Iteration { tolerance, limit, every, restart, .. } = self;
        write!(f, "Iteration(to {tolerance:e} in {limit}, a look every {every}, restart after {restart})")
    }
}

/// What an iteration came to.
#[derive(Debug)]
pub struct Solution<T: Element> {
    /// The solution.
    pub x: DeviceBuffer<T>,
    /// Iterations done.
    pub iterations: usize,
    /// The norm of the residual of `x` as the recurrence has it, over that of the right side.
    pub residual: f64,
    /// Every residual that was looked at.
    pub history: Vec<Progress>,
}

/// Why an iteration has no solution.
pub enum Unsolved<T: Element> {
    /// The limit was reached first.
    NotConverged {
        /// The norm of the residual, over that of the right side.
        residual: f64,
        /// Iterations done.
        iterations: usize,
        /// The last iterate, to go on from.
        x: DeviceBuffer<T>,
        /// Every residual that was looked at.
        history: Vec<Progress>,
    },
    /// The residual is NaN: the matrix or the preconditioner is not what the method needs, or numbers
    /// overflowed.
    Broken {
        /// Iterations done.
        iterations: usize,
    },
    /// An operation failed.
    Failed(Error),
}

impl<T: Element> From<Error> for Unsolved<T> {
    fn from(error: Error) -> Self {
        Unsolved::Failed(error)
    }
}

impl<T: Element, B> From<crate::Rejected<B>> for Unsolved<T> {
    fn from(rejected: crate::Rejected<B>) -> Self {
        Unsolved::Failed(rejected.error)
    }
}

impl<T: Element> From<Unsolved<T>> for Error {
    fn from(unsolved: Unsolved<T>) -> Self {
        match unsolved {
            Unsolved::Failed(error) => error,
            other => Error::library(other.to_string()),
        }
    }
}

impl<T: Element> std::fmt::Display for Unsolved<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unsolved::NotConverged { residual, iterations, .. } => {
                write!(f, "not converged: the relative residual is {residual:e} after {iterations} iterations")
            }
            Unsolved::Broken { iterations } => {
                write!(f, "the iteration broke down: the residual is no number after {iterations} iterations")
            }
            Unsolved::Failed(error) => std::fmt::Display::fmt(error, f),
        }
    }
}

impl<T: Element> std::fmt::Debug for Unsolved<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl<T: Element> std::error::Error for Unsolved<T> {}
