//! Solutions that are refined until their backward error is at rounding level, and tell if it is not.

use super::Matrix;
use super::solve::Solver;
use crate::core::room::{OrUnwind, copied, filled};
use crate::libraries::direct::{Factorization, STEPS, UNITS};
use crate::libraries::flags::Transpose;
use crate::libraries::sparse::SolveElement;
use crate::libraries::sparse::host::{at, put};

impl<T: SolveElement> Matrix<'_, T> {
    /// Calls `each` with row, column and value of every entry of `op(A)`, of which only one triangle may be stored.
    fn each(&self, how: Factorization, trans: Transpose, each: &mut dyn FnMut(usize, usize, T)) {
        let hermitian = how.is_hermitian();
        for (i, j, entry) in self.entries.iter().copied() {
            let value = at(self.values, entry);
            if how == Factorization::Lu {
                let (i, j) = if trans == Transpose::No { (i, j) } else { (j, i) };
                each(i, j, value.conj_if(trans == Transpose::Conjugate));
            } else if i == j {
                let value = if hermitian { T::from_parts(value.re(), 0.0) } else { value };
                each(i, j, value.conj_if(trans == Transpose::Conjugate));
            } else {
                let value = value.conj_if(trans == if hermitian { Transpose::Yes } else { Transpose::Conjugate });
                each(i, j, value);
                each(j, i, value.conj_if(hermitian));
            }
        }
    }
}

fn largest<T: SolveElement>(x: &[T]) -> f64 {
    x.iter().map(|x| x.magnitude()).fold(0.0, |most, x| if x.is_nan() || x > most { x } else { most })
}

/// A system and the factor of its matrix.
pub(crate) struct System<'a, T> {
    pub(crate) how: Factorization,
    pub(crate) trans: Transpose,
    pub(crate) a: Matrix<'a, T>,
    pub(crate) solver: Solver<'a, T>,
    pub(crate) n: usize,
}

impl<T: SolveElement> System<'_, T> {
    /// The largest sum of sizes in a row of `op(A)`.
    pub(crate) fn norm(&self) -> f64 {
        let mut sums = filled(self.n, 0.0f64).or_unwind();
        self.a.each(self.how, self.trans, &mut |i, _, value| {
            if let Some(sum) = sums.get_mut(i) {
                *sum += value.magnitude();
            }
        });
        sums.into_iter().fold(0.0, |most, x| if x.is_nan() || x > most { x } else { most })
    }

    /// Writes the solution to x. `false` if its backward error, `|b - op(A) x| / (|op(A)| |x| + |b|)`, is not at rounding level,
    /// or if the last correction was as large as the solution, which then has no digit that is known to be right.
    pub(crate) fn solve(&self, norm: f64, b: &[T], x: &mut [T]) -> bool {
        x.copy_from_slice(b);
        self.solver.solve(self.trans, x);
        let (mut best, mut known) = (f64::INFINITY, false);
        let mut before = copied(x).or_unwind();
        for step in 0..=STEPS {
            let mut rest = copied(b).or_unwind();
            self.a.each(self.how, self.trans, &mut |i, j, value| {
                let left = at(&rest, i) - value * at(x, j);
                put(&mut rest, i, left);
            });
            let (size, scale) = (largest(&rest), norm * largest(x) + largest(b));
            let error = if size == 0.0 { 0.0 } else { size / scale };
            // NaN is not better either.
            if error.is_nan() || error >= best {
                x.copy_from_slice(&before);
                break;
            }
            let slow = error > best / 2.0;
            best = error;
            if step == STEPS || (step > 0 && (slow || error <= T::EPSILON / 2.0)) {
                break;
            }
            before.copy_from_slice(x);
            self.solver.solve(self.trans, &mut rest);
            known = largest(&rest) <= largest(x) / 4.0;
            x.iter_mut().zip(rest).for_each(|(x, correction)| *x = *x + correction);
        }
        known && best <= UNITS * T::EPSILON && largest(x).is_finite()
    }
}
