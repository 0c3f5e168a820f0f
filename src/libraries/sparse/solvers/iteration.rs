//! Stopping criteria of an iteration, and its result.

use crate::core::element::Element;
use crate::core::error::Error;
use crate::device::tensor::Tensor;
use std::sync::Arc;

/// The progress of an iteration, as the progress hook receives it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct IterationProgress {
    /// Number of iterations done when the residual had this value.
    pub iteration: usize,
    /// The norm of the residual, divided by the norm of the right-hand side.
    pub residual: f64,
}

type Hook = Arc<dyn Fn(IterationProgress) + Send + Sync>;

/// When an iteration stops: at a tolerance of the residual, or after a number of iterations.
#[derive(Clone)]
pub struct Iteration {
    pub(super) tolerance: Option<f64>,
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
    /// A relative residual of 1e-8 (1e-5 for f32 and complex numbers of f32), at most 1000 iterations, a check of the
    /// residual every 10 iterations; GMRES restarts after 30.
    pub fn new() -> Self {
        Iteration { tolerance: None, limit: 1000, every: 10, restart: 30, progress: None }
    }

    /// The relative residual to reach: the norm of the residual divided by the norm of the right-hand side. The
    /// iteration stops when its recurrence reaches it. A solution is returned only if the true residual is at most
    /// twice the tolerance, or 16 times the machine epsilon of the type if that is more. No residual reaches a
    /// tolerance that is negative or NaN.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// The maximum number of iterations.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// How often the residual is sent to the host; at least 1. The solver stops at most twice as many iterations after
    /// it has converged.
    pub fn every(mut self, iterations: usize) -> Self {
        self.every = iterations.max(1);
        self
    }

    /// The number of basis vectors after which GMRES restarts; at least 1. More than the size of the matrix, or than
    /// the limit of iterations, has no effect.
    pub fn restart(mut self, vectors: usize) -> Self {
        self.restart = vectors.max(1);
        self
    }

    /// A hook that is called on the calling thread with each residual that arrives.
    pub fn progress(mut self, hook: impl Fn(IterationProgress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(hook));
        self
    }
}

impl std::fmt::Debug for Iteration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Iteration { tolerance, limit, every, restart, .. } = self;
        let tolerance = tolerance.map_or_else(|| "by type".to_owned(), |tolerance| format!("{tolerance:e}"));
        write!(f, "Iteration(tolerance {tolerance}, limit {limit}, check every {every}, restart after {restart})")
    }
}

/// The result of an iteration that converged.
#[derive(Debug)]
#[non_exhaustive]
pub struct IterativeSolution<T: Element> {
    /// The solution.
    pub x: Tensor<T>,
    /// Number of iterations done.
    pub iterations: usize,
    /// The norm of `b - A * x`, computed from this `x` after the last iteration, divided by the norm of b.
    pub residual: f64,
    /// Every residual that was checked during the iteration, as its recurrence has it.
    pub history: Vec<IterationProgress>,
}

/// Why an iteration did not find a solution.
pub enum Unsolved<T: Element> {
    /// The limit of iterations was reached before the tolerance, or the method cannot reduce the residual further: the
    /// system has no solution, or the method breaks down on it.
    NotConverged {
        /// The norm of `b - A * x`, computed from this `x`, divided by the norm of b.
        residual: f64,
        /// Number of iterations done.
        iterations: usize,
        /// The iterate to continue with, in the tensor that was given: of CG the last one, of the other methods the one of
        /// the least residual among the initial guess and the points at which the residual was computed anew.
        x: Tensor<T>,
        /// Every residual that was checked.
        history: Vec<IterationProgress>,
    },
    /// The residual became NaN or infinite: the matrix or the preconditioner does not satisfy the requirements of the
    /// method, the input is not finite, or a number overflowed.
    Broken {
        /// Number of iterations done.
        iterations: usize,
        /// The last iterate that was found to be finite, in the tensor that was given: the initial guess, if there was none,
        /// or if the solution is beyond the range of the type.
        x: Tensor<T>,
        /// The norm of `b - A * x`, computed from this `x`, divided by the norm of b; NaN if A or b is not finite.
        residual: f64,
    },
    /// The sizes do not fit, or an operation failed.
    Failed {
        /// What is wrong.
        error: Error,
        /// The tensor that was given, if the call was refused before anything was done with it.
        x: Option<Tensor<T>>,
    },
}

impl<T: Element> From<Error> for Unsolved<T> {
    fn from(error: Error) -> Self {
        Unsolved::Failed { error, x: None }
    }
}

impl<T: Element, B> From<crate::core::error::Rejected<B>> for Unsolved<T> {
    fn from(rejected: crate::core::error::Rejected<B>) -> Self {
        Unsolved::Failed { error: rejected.error, x: None }
    }
}

impl<T: Element> From<Unsolved<T>> for Error {
    fn from(unsolved: Unsolved<T>) -> Self {
        match unsolved {
            Unsolved::Failed { error, .. } => error,
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
            Unsolved::Broken { iterations, .. } => {
                write!(f, "the iteration broke down: the residual is not finite after {iterations} iterations")
            }
            Unsolved::Failed { error, .. } => std::fmt::Display::fmt(error, f),
        }
    }
}

impl<T: Element> std::fmt::Debug for Unsolved<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl<T: Element> std::error::Error for Unsolved<T> {}
