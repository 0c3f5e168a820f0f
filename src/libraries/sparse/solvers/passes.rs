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
use super::system::{System, Unknowns};
use super::watch::Watch;
use crate::core::buffer::DeviceBuffer;
use crate::core::error::Result;

/// The x of an iteration that ends at its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtLimit {
    /// The last one, whatever its residual: the method makes another norm of the error smaller.
    Last,
    /// The one of the least residual, of the guess and the ends of all passes.
    Best,
}

/// The relative residuals at which a pass ends, and at which the system counts as solved.
struct Limits {
    aim: f64,
    target: f64,
}

impl Limits {
    fn of<T: SolveElement>(how: &Iteration) -> Self {
        let tolerance = how.tolerance.unwrap_or(if T::EPSILON > 1e-10 { 1e-5 } else { 1e-8 });
        // Negative or NaN: no residual reaches it.
        let target = if tolerance >= 0.0 { (2.0 * tolerance).max(16.0 * T::EPSILON) } else { tolerance };
        let aim = if tolerance >= 0.0 { tolerance.max(8.0 * T::EPSILON) } else { tolerance };
        Limits { aim, target }
    }
}

/// Where passes have led.
struct Reached<T: SolveElement> {
    x: DeviceBuffer<T>,
    residual: f64,
    /// The method has broken down.
    broken: bool,
}

impl Sparse {
    /// Solves by passes of a method. The x that comes back, also inside an error, is in the tensor that was given.
    pub(super) fn by_passes<'s, T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>>(
        &'s self,
        (a, m): (&'s A, &'s Preconditioner<T, I>),
        (b, x, whole): Unknowns<'s, T>,
        (how, at_limit): (&Iteration, AtLimit),
        pass: impl Fn(&System<'s, T, I, A>, DeviceBuffer<T>, &mut Watch<'_, T>) -> Result<DeviceBuffer<T>>,
    ) -> Result<IterativeSolution<T>, Unsolved<T>> {
        let system = match System::new(self, (a, m), b, &x) {
            Ok(system) => system,
            Err(error) => return Err(Unsolved::Failed { error, x: Some(whole.tensor(x)) }),
        };
        if system.norm == 0.0 {
            let x = whole.tensor(self.device.filled(x, T::default())?.into_output());
            return Ok(IterativeSolution { x, iterations: 0, residual: 0.0, history: Vec::new() });
        }
        if !system.norm.is_finite() {
            return Err(Unsolved::Broken { iterations: 0, x: whole.tensor(x), residual: f64::NAN });
        }
        let limits = Limits::of::<T>(how);
        let mut watch = Watch::new(self, how, limits.aim, system.norm);
        // The numbers of the result may leave the range of the type when they are scaled back, or those of the guess before.
        let guess = if system.moves() { Some(self.device.duplicated(&x)?) } else { None };
        let x = system.enter(x)?;
        let Reached { mut x, mut residual, mut broken } =
            self.passes(&system, x, (&limits, at_limit), &mut watch, pass)?;
        if let Some(guess) = guess {
            let left = self.leave(&system, &guess, x)?;
            (x, residual, broken) = (left.x, left.residual, broken || left.broken);
        }
        let (x, iterations) = (whole.tensor(x), watch.iterations);
        watch.tell(iterations, residual);
        let history = watch.history;
        if residual <= limits.target {
            return Ok(IterativeSolution { x, iterations, residual, history });
        }
        if broken || !residual.is_finite() {
            return Err(Unsolved::Broken { iterations, x, residual });
        }
        Err(Unsolved::NotConverged { residual, iterations, x, history })
    }

    /// Passes, until one reaches the aim or nothing helps.
    fn passes<'s, T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>>(
        &'s self,
        system: &System<'s, T, I, A>,
        mut x: DeviceBuffer<T>,
        (limits, at_limit): (&Limits, AtLimit),
        watch: &mut Watch<'_, T>,
        pass: impl Fn(&System<'s, T, I, A>, DeviceBuffer<T>, &mut Watch<'_, T>) -> Result<DeviceBuffer<T>>,
    ) -> Result<Reached<T>> {
        let Limits { aim, target } = *limits;
        let mut residual = system.true_residual(&x)?;
        watch.tell(0, residual);
        // An x with every number finite, and its residual, to go back to.
        let mut best = (self.device.duplicated(&x)?, residual);
        let (mut broken, mut idle) = (!residual.is_finite(), 0);
        // False for a tolerance that is NaN.
        let reached = |residual: f64, limit: f64| residual <= limit;
        while !broken && !reached(residual, aim) && watch.goes_on() {
            let (before, begun) = (residual, watch.iterations);
            watch.begin(system.norm);
            x = pass(system, x, watch)?;
            watch.receive()?;
            residual = system.true_residual(&x)?;
            if !residual.is_finite() {
                broken = true;
                (residual, x) = self.last_finite(system, watch.kept.take(), &best, x)?;
            }
            let progress = residual <= 0.5 * before;
            let goes_on = watch.goes_on() && watch.iterations > begun;
            let ends = !goes_on && !broken;
            if residual > best.1 && !(ends && at_limit == AtLimit::Last) {
                (residual, x) = (best.1, self.put(&best.0, x)?);
            } else {
                best = (self.put(&x, best.0)?, residual);
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
        Ok(Reached { x, residual, broken })
    }

    /// The last x that was finite, if it is better than the one of the beginning, and its residual.
    fn last_finite<T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>>(
        &self,
        system: &System<'_, T, I, A>,
        kept: Option<DeviceBuffer<T>>,
        best: &(DeviceBuffer<T>, f64),
        x: DeviceBuffer<T>,
    ) -> Result<(f64, DeviceBuffer<T>)> {
        if let Some(kept) = kept {
            let residual = system.true_residual(&kept)?;
            if residual.is_finite() {
                return Ok((residual, self.put(&kept, x)?));
            }
        }
        Ok((best.1, self.put(&best.0, x)?))
    }

    /// Scales the solution back. If its numbers leave the range of the type, it is the guess.
    fn leave<T: SolveElement, I: SparseIndex, A: SparseMatrix<T, I>>(
        &self,
        system: &System<'_, T, I, A>,
        guess: &DeviceBuffer<T>,
        x: DeviceBuffer<T>,
    ) -> Result<Reached<T>> {
        // The residual of what is handed out.
        let of = |x: &DeviceBuffer<T>| system.true_residual(&system.enter(self.device.duplicated(x)?)?);
        let x = system.leave(x)?;
        let residual = of(&x)?;
        if residual.is_finite() {
            return Ok(Reached { x, residual, broken: false });
        }
        let x = self.put(guess, x)?;
        let residual = of(&x)?;
        Ok(Reached { x, residual, broken: true })
    }

    /// Copies into a buffer.
    fn put<T: SolveElement>(&self, from: &DeviceBuffer<T>, to: DeviceBuffer<T>) -> Result<DeviceBuffer<T>> {
        Ok(self.device.copied_into(from.as_in(), to)?.into_output())
    }
}
