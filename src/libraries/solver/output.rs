//! Results that come with a verdict. They are types of their own, without `into_output`, so that no operation uses them
//! by mistake before the verdict.

use super::{Matrix, SolverElement};
use crate::core::buffer::DeviceBuffer;
use crate::core::error::Result;
use crate::core::op::{Bufs, Output};

/// Inverses.
#[derive(Debug)]
pub struct Inverse<T: SolverElement> {
    /// The inverse of each matrix, with the layout [`shape`](Self::shape).
    pub matrix: DeviceBuffer<T>,
    /// The layout of the inverses.
    pub shape: Matrix,
}

impl<T: SolverElement> Output for Inverse<T> {
    type Writes = (T,);
    type Host = Matrix;

    fn join((matrix,): Bufs<Self>, shape: Matrix) -> Result<Self> {
        Ok(Inverse { matrix, shape })
    }
}

/// Solutions, with the factors of the matrix.
#[derive(Debug)]
pub struct Solved<T: SolverElement> {
    /// The solutions, in the buffer of the right sides.
    pub x: DeviceBuffer<T>,
    /// The factors, in the buffer of the matrix.
    pub a: DeviceBuffer<T>,
    /// An info for each matrix: all zero.
    pub info: DeviceBuffer<i32>,
}

impl<T: SolverElement> Output for Solved<T> {
    type Writes = (T, T, i32);
    type Host = ();

    fn join((a, x, info): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Solved { x, a, info })
    }
}

/// Solutions.
#[derive(Debug)]
pub struct Solution<T: SolverElement> {
    /// The solutions, in the buffer of the right sides.
    pub x: DeviceBuffer<T>,
}

impl<T: SolverElement> Output for Solution<T> {
    type Writes = (T,);
    type Host = ();

    fn join((x,): Bufs<Self>, (): ()) -> Result<Self> {
        Ok(Solution { x })
    }
}
