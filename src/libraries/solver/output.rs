//! Results that come with a verdict. They are types of their own, without `into_output`, so that no operation uses them
//! by mistake before the verdict.

use super::SolverElement;
use super::given::head;
use crate::core::error::Result;
use crate::core::op::{Bufs, Output};
use crate::device::tensor::{Strided, Tensor};

/// Inverses.
#[derive(Debug)]
#[non_exhaustive]
pub struct Inverse<T: SolverElement> {
    /// The inverse of each matrix.
    pub matrix: Tensor<T>,
    /// An info for each matrix: all zero.
    pub info: Tensor<i32>,
}

impl<T: SolverElement> Output for Inverse<T> {
    type Writes = (Strided<T>, Strided<i32>);
    type Host = ();

    fn join((matrix, info): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Inverse { matrix, info })
    }
}

/// Solutions, with the factors of the matrix.
#[derive(Debug)]
#[non_exhaustive]
pub struct Solved<T: SolverElement> {
    /// The solutions, in the memory of the right sides.
    pub x: Tensor<T>,
    /// The factors, in the memory of the matrix.
    pub a: Tensor<T>,
    /// An info for each matrix: all zero.
    pub info: Tensor<i32>,
}

impl<T: SolverElement> Output for Solved<T> {
    type Writes = (Strided<T>, Strided<T>, Strided<i32>);
    type Host = ();

    fn join((a, x, info): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Solved { x: solutions(x, &a)?, a, info })
    }
}

/// Solutions.
#[derive(Debug)]
#[non_exhaustive]
pub struct Solution<T: SolverElement> {
    /// The solutions, in the memory of the right sides.
    pub x: Tensor<T>,
}

impl<T: SolverElement> Output for Solution<T> {
    type Writes = (Strided<T>,);
    /// Where the rows are, and how many are solutions.
    type Host = (isize, usize);

    fn join((x,): Bufs<Self>, (axis, n): (isize, usize)) -> Result<Self> {
        Ok(Solution { x: head(x, axis, n)? })
    }
}

/// The first rows of B, as many as A has columns.
pub(super) fn solutions<T: SolverElement>(b: Tensor<T>, a: &Tensor<T>) -> Result<Tensor<T>> {
    // A single axis is a column for each matrix.
    let axis = if b.rank() < a.rank() { -1 } else { -2 };
    head(b, axis, a.shape().last().copied().unwrap_or_default())
}
