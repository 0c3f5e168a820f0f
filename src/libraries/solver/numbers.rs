//! Numbers that follow from singular values: rank, condition, norms.

use super::given::sizes;
use super::method::Reached;
use super::method::SvdMethod;
use super::prelude::*;
use super::svd::Vectors;
use crate::core::dispatch::{PendingDispatch, PendingHost};
use crate::core::element::DType;
use crate::core::op::Verdict;
use crate::core::room::{collected, copied};

/// What is computed from the singular values.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// How many are above this times the largest.
    Rank(f64),
    /// The largest over the smallest.
    Condition,
    /// The largest.
    Spectral,
    /// Their sum.
    Nuclear,
    /// The root of the sum of their squares.
    Frobenius,
}

/// A norm of a matrix that follows from its singular values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Norm {
    /// The largest singular value.
    Spectral,
    /// The sum of the singular values.
    Nuclear,
    /// The root of the sum of squares.
    Frobenius,
}

/// One number for each matrix, in flight.
#[must_use = "dropping it discards the result"]
#[derive(Debug)]
pub struct PendingNumbers<T: SolverElement> {
    verdict: PendingHost<Reached>,
    values: PendingDispatch<Vec<T::Real>, Verdict>,
    each: usize,
    count: usize,
    of: Of,
}

impl<T: SolverElement> PendingNumbers<T> {
    /// Whether the answer has arrived.
    pub fn is_ready(&self) -> bool {
        self.verdict.is_ready() && self.values.is_ready()
    }

    /// Waits, and returns a number for each matrix.
    ///
    /// # Errors
    /// [`Error::NotConverged`], also if the matrix holds a NaN or an infinity; the device's own error.
    pub fn await_result(self) -> Result<Vec<f64>> {
        self.verdict.await_result()?;
        let values = wide(&self.values.await_result()?)?;
        let number = |i: usize| self.of.number(values.get(i * self.each..).unwrap_or_default(), self.each);
        collected((0..self.count).map(number))
    }
}

impl Of {
    /// The number for `n` descending values.
    fn number(self, values: &[f64], n: usize) -> f64 {
        let values = values.get(..n).unwrap_or_default();
        let (most, least) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
        match self {
            Of::Rank(tolerance) => values.iter().filter(|s| **s > tolerance * most).count() as f64,
            Of::Condition if n == 0 => 0.0,
            Of::Condition if least == 0.0 => f64::INFINITY,
            Of::Condition => most / least,
            Of::Spectral => most,
            Of::Nuclear => values.iter().sum(),
            // Relative to the largest, so that no square overflows.
            Of::Frobenius if most == 0.0 => 0.0,
            Of::Frobenius => most * values.iter().map(|s| (s / most).powi(2)).sum::<f64>().sqrt(),
        }
    }
}

/// Real numbers in f64.
fn wide<R: crate::core::element::Element>(x: &[R]) -> Result<Vec<f64>> {
    match R::DTYPE {
        DType::F32 => collected(bytemuck::cast_slice::<R, f32>(x).iter().map(|x| f64::from(*x))),
        _ => copied(bytemuck::cast_slice::<R, f64>(x)),
    }
}

impl Solver {
    fn numbers<T: SolverElement>(&self, of: impl FnOnce(&Matrix) -> Of, a: Given<'_, T>) -> Result<PendingNumbers<T>> {
        let (_, of_a) = sizes("a", a.layout()).map_err(|error| error.in_op("gesvd", "solver"))?;
        let ((_, values, ..), verdict) = self.gesvd(SvdMethod::Auto, Vectors::None, a)?.into_parts();
        let values = self.device.download(&values)?;
        Ok(PendingNumbers { verdict, values, each: of_a.size(), count: of_a.count, of: of(&of_a) })
    }

    /// How many singular values of each matrix are larger than `tolerance` times the largest; by default the tolerance
    /// is `max(rows, cols)` times the machine precision of the type. An A that is given by value is used up, even if the call is
    /// refused.
    ///
    /// # Errors
    /// As [`svd`](Self::svd).
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// use windlass::{Device, solver::Norm};
    /// let device = Device::host()?;
    /// let a = device.tensor([2, 2], [3.0f64, 6.0, 4.0, 8.0])?; // the second column is twice the first
    /// let solver = device.solver();
    /// assert_eq!(solver.rank(None, &a)?.await_result()?, [1.0]);
    /// let norm = solver.norm(Norm::Frobenius, &a)?.await_result()?[0];
    /// assert!((norm - 125f64.sqrt()).abs() < 1e-13);
    /// # Ok(()) }
    /// ```
    pub fn rank<'a, T: SolverElement>(
        &self,
        tolerance: Option<f64>,
        a: impl GivenTensor<'a, T>,
    ) -> Result<PendingNumbers<T>> {
        let epsilon = if size_of::<T::Real>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let of = move |of: &Matrix| Of::Rank(tolerance.unwrap_or(of.rows.max(of.cols) as f64 * epsilon));
        self.numbers(of, a.into())
    }

    /// The condition number of each matrix in the spectral norm: the largest singular value over the smallest. Rounding
    /// leaves a singular matrix with a number of about `1 / epsilon` or more, infinity only if a singular value is zero: to ask for
    /// dependent columns, take [`rank`](Self::rank). An A that is given by value is used up, even if the call is refused.
    ///
    /// # Errors
    /// As [`svd`](Self::svd).
    pub fn cond<'a, T: SolverElement>(&self, a: impl GivenTensor<'a, T>) -> Result<PendingNumbers<T>> {
        self.numbers(|_| Of::Condition, a.into())
    }

    /// A norm of each matrix. An A that is given by value is used up, even if the call is refused.
    ///
    /// # Errors
    /// As [`svd`](Self::svd).
    pub fn norm<'a, T: SolverElement>(&self, norm: Norm, a: impl GivenTensor<'a, T>) -> Result<PendingNumbers<T>> {
        let of = match norm {
            Norm::Spectral => Of::Spectral,
            Norm::Nuclear => Of::Nuclear,
            Norm::Frobenius => Of::Frobenius,
        };
        self.numbers(move |_| of, a.into())
    }
}
