//! The frame of all methods: passes, each from a residual that is computed anew, until one is small enough or nothing
//! helps.
//!
//! A recurrence loses touch with the true residual: by rounding, and entirely if the matrix is singular or the method
//! breaks down. So only the residual `b - A * x` of the final x decides about success. If the recurrence has reached the
//! tolerance and the true residual has not, or the method has broken down after progress, the next pass begins there.

use super::super::Sparse;
use super::super::element::{SolveElement, SparseIndex};
use super::super::formats::SparseMatrix;
use super::iteration::{Iteration, IterativeSolution, Unsolved};
use super::precondition::Preconditioner;
use super::system::System;
use super::watch::Watch;
use crate::core::buffer::{DeviceBuffer, In};
use crate::core::error::Result;

/// The x of an iteration that ends at its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtLimit {
    /// The last one, whatever its residual: the method makes another norm of the error smaller.
    Last,
    /// The one of the least residual, of the guess and the ends of all passes.
    Best,
}

impl Sparse {
    /// Solves by passes of a method. The x that comes back, also inside an error, is in the buffer that was given.
    pub(super) fn by_passes<'s, T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>>(
        &'s self,
        (a, m): (&'s A, &'s Preconditioner<T, I>),
        b: In<'s, T>,
        x: DeviceBuffer<T>,
        (how, at_limit): (&Iteration, AtLimit),
        pass: impl Fn(&System<'s, T, I, A>, DeviceBuffer<T>, &mut Watch<'_, T>) -> Result<DeviceBuffer<T>>,
    ) -> Result<IterativeSolution<T>, Unsolved<T>> {
        let system = match System::new(self, (a, m), b, &x) {
            Ok(system) => system,
            Err(error) => return Err(Unsolved::Failed { error, x: Some(x) }),
        };
        if system.norm == 0.0 {
            let x = self.device.fill(x, T::default())?.into_output();
            return Ok(IterativeSolution { x, iterations: 0, residual: 0.0, history: Vec::new() });
        }
        if !system.norm.is_finite() {
            return Err(Unsolved::Broken { iterations: 0, x, residual: f64::NAN });
        }
        let tolerance = how.tolerance.unwrap_or(if T::EPSILON > 1e-10 { 1e-5 } else { 1e-8 });
        // Negative or NaN: no residual reaches it.
        let target = if tolerance >= 0.0 { (2.0 * tolerance).max(16.0 * T::EPSILON) } else { tolerance };
        let aim = if tolerance >= 0.0 { tolerance.max(8.0 * T::EPSILON) } else { tolerance };
        let mut watch = Watch::new(self, how, aim, system.norm);
        // The numbers of the result may leave the range of the type when they are scaled back, or those of the guess before.
        let guess = if system.moves() { Some(self.device.duplicate(&x)?.into_output()) } else { None };
        let put = |from: &DeviceBuffer<T>, x: DeviceBuffer<T>| -> Result<DeviceBuffer<T>> {
            Ok(self.device.copy(from, x)?.into_output())
        };
        let mut x = system.enter(x)?;
        let mut residual = system.true_residual(&x)?;
        watch.tell(0, residual);
        // An x with every number finite, and its residual, to go back to.
        let mut best = (self.device.duplicate(&x)?.into_output(), residual);
        let (mut broken, mut idle) = (!residual.is_finite(), 0);
        // False for a tolerance that is NaN.
        let reached = |residual: f64, limit: f64| residual <= limit;
        while !broken && !reached(residual, aim) && watch.goes_on() {
            let (before, begun) = (residual, watch.iterations);
            watch.begin(system.norm);
            x = pass(&system, x, &mut watch)?;
            watch.receive()?;
            residual = system.true_residual(&x)?;
            if !residual.is_finite() {
                // Continues with the last x that was finite, if that is better than the one of the beginning.
                let kept = watch
                    .kept
                    .take()
                    .map(|kept| Ok::<_, crate::core::error::Error>((system.true_residual(&kept)?, kept)));
                broken = true;
                (residual, x) = match kept.transpose()? {
                    Some((of_kept, kept)) if of_kept.is_finite() => (of_kept, put(&kept, x)?),
                    _ => (best.1, put(&best.0, x)?),
                };
            }
            let progress = residual <= 0.5 * before;
            let goes_on = watch.goes_on() && watch.iterations > begun;
            let ends = !goes_on && !broken;
            if residual > best.1 && !(ends && at_limit == AtLimit::Last) {
                (residual, x) = (best.1, put(&best.0, x)?);
            } else {
                best = (put(&x, best.0)?, residual);
            }
            if ends {
                break;
            }
            if residual <= target {
                broken = false;
                break;
            }
            idle = if progress { 0 } else { idle + 1 };
            // The recurrence measures in another norm, or has lost touch: the next pass aims lower.
            watch.tolerance *= 0.5 * (aim / residual).clamp(1e-4, 1.0);
            if idle > usize::from(watch.reached) {
                break;
            }
            broken &= !progress;
        }
        if let Some(guess) = guess {
            // The residual of what is handed out.
            let told =
                |x: &DeviceBuffer<T>| system.true_residual(&system.enter(self.device.duplicate(x)?.into_output())?);
            x = system.leave(x)?;
            residual = told(&x)?;
            if !residual.is_finite() {
                (x, broken) = (put(&guess, x)?, true);
                residual = told(&x)?;
            }
        }
        let iterations = watch.iterations;
        watch.tell(iterations, residual);
        let history = watch.history;
        if residual <= target {
            return Ok(IterativeSolution { x, iterations, residual, history });
        }
        if broken || !residual.is_finite() {
            return Err(Unsolved::Broken { iterations, x, residual });
        }
        Err(Unsolved::NotConverged { residual, iterations, x, history })
    }
}
