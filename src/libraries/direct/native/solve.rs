//! Solutions with a factor.

use super::kept::Use;
use super::kernels;
use super::recipe::Recipe;
use super::system::{Arrays, Made};
use crate::core::error::{Error, Result};
use crate::engines::cuda::Queue;
use crate::libraries::direct::Factorization;
use crate::libraries::flags::Transpose;

/// Columns one after the other: their address, the distance between them in elements, their number.
pub(in super::super) type Columns = (u64, usize, usize);

/// This cannot happen: only a factor whose verdict is good is handed out.
#[cold]
pub(super) fn no_factor() -> Error {
    Error::library("internal error: a solution without its factor")
}

impl Made {
    /// Solves `op(A) * X = B` in place. The library has modes for matrices of no symmetry alone; of others `op(A)` is A or its
    /// conjugate, whose solution is a conjugate itself.
    pub(super) fn solve_for(
        &self,
        queue: &mut Queue<'_>,
        recipe: Recipe,
        a: Arrays,
        trans: Transpose,
        x: Columns,
    ) -> Result<()> {
        let is_complex = recipe.dtype.is_complex();
        if recipe.factorization == Factorization::Lu {
            let mode = match trans {
                Transpose::No => 0,
                Transpose::Conjugate if is_complex => 2,
                _ => 1,
            };
            return self.solve(queue, a, mode, x);
        }
        let other = if recipe.factorization.is_hermitian() { Transpose::Yes } else { Transpose::Conjugate };
        if !is_complex || trans != other {
            return self.solve(queue, a, 0, x);
        }
        // SAFETY: the columns are operands or scratch of this dispatch, with as many rows as A.
        unsafe { kernels::conjugate(queue, recipe, x) }?;
        self.solve(queue, a, 0, x)?;
        // SAFETY: as above.
        unsafe { kernels::conjugate(queue, recipe, x) }
    }
}

/// Enqueues the solution of `op(A) * X = B` in place of B, for at least one row and one column.
///
/// # Safety
/// The arrays of the matrix that was factored, and X: operands of this dispatch with the recipe's lengths.
pub(in super::super) unsafe fn solve(
    queue: &mut Queue<'_>,
    held: Option<&Use>,
    recipe: Recipe,
    a: Arrays,
    trans: Transpose,
    x: Columns,
) -> Result<()> {
    let held = held.ok_or_else(super::isolated)?;
    let made = held.made.lock();
    made.as_ref().ok_or_else(no_factor)?.solve_for(queue, recipe, a, trans, x)?;
    drop(made);
    held.end();
    Ok(())
}
