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

impl Sparse {
    /// Solves by passes of a method.
    pub(super) fn by_passes<'s, T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>>(
        &'s self,
        (a, m): (&'s A, &'s Preconditioner<T, I>),
        b: In<'s, T>,
        x: DeviceBuffer<T>,
        how: &Iteration,
        pass: impl Fn(&System<'s, T, I, A>, DeviceBuffer<T>, &mut Watch<'_, T>) -> Result<DeviceBuffer<T>>,
    ) -> Result<IterativeSolution<T>, Unsolved<T>> {
        let system = System::new(self, (a, m), b, &x)?;
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
                    Some((of_kept, kept)) if of_kept.is_finite() => (of_kept, kept),
                    _ => (best.1, self.device.duplicate(&best.0)?.into_output()),
                };
            }
            let progress = residual <= 0.5 * before;
            let goes_on = watch.goes_on() && watch.iterations > begun;
            if !goes_on && !broken {
                break;
            }
            if residual > best.1 {
                (residual, x) = (best.1, self.device.duplicate(&best.0)?.into_output());
            } else {
                best = (self.device.duplicate(&x)?.into_output(), residual);
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
        if system.moves() {
            // The residual of what is handed out: its numbers may have left the range of the type.
            x = system.leave(x)?;
            let copy = system.enter(self.device.duplicate(&x)?.into_output())?;
            residual = system.true_residual(&copy)?;
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
