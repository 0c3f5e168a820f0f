//! Solutions that are refined until their backward error is at rounding level, and tell if it is not: as on the host, of all columns
//! at once.

use super::kept::Use;
use super::kernels;
use super::recipe::Recipe;
use super::solve::{Columns, no_factor};
use super::system::Arrays;
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::libraries::direct::{STEPS, UNITS};
use crate::libraries::flags::Transpose;

/// Solves `op(A) * X = B` for at least one row and one column, refines X, and writes the number of columns that are not right to
/// `wrong`, a u64. Waits for each step.
///
/// # Safety
/// The arrays of the matrix that was factored, B and X, and the number: operands and memory of this dispatch.
pub(in super::super) unsafe fn solve_checked(
    queue: &mut Queue<'_>,
    held: Option<&Use>,
    recipe: Recipe,
    (a, trans): (Arrays, Transpose),
    (b, x): (Columns, Columns),
    wrong: u64,
) -> Result<()> {
    let held = held.ok_or_else(super::isolated)?;
    let locked = held.made.lock();
    let made = locked.as_ref().ok_or_else(no_factor)?;
    let (n, (at_x, ld, cols), how) = (recipe.n, x, kernels::how(recipe, trans));
    let block = n.saturating_mul(cols).saturating_mul(recipe.dtype.size());
    let (rest, before, sums) = (queue.scratch(block)?, queue.scratch(block)?, queue.scratch(n.saturating_mul(8))?);
    let bytes = cols.saturating_mul(8);
    let state = queue.scratch(bytes.saturating_mul(kernels::STATE))?;
    let part = |index: usize| state + (bytes * index) as u64;
    let (sizes, of_x, of_correction, of_b, best, going) = (part(0), part(1), part(2), part(3), part(4), part(6));
    let numbers = queue.scratch(16)?;
    let (norm, left) = (numbers, numbers + 8);
    // SAFETY: scratch of these sizes and operands, with the parameters in order and type; here and below.
    unsafe {
        queue.fill(state, bytes * kernels::STATE, &[0])?;
        queue.fill(best, cols, &f64::INFINITY.to_ne_bytes())?;
        queue.fill(going, cols, &1u64.to_ne_bytes())?;
        queue.fill(sums, 8 * n, &[0])?;
        queue.fill(norm, 8, &[0])?;
        kernels::norm(queue, recipe, a, how, [sums, norm])?;
        kernels::largest(queue, recipe, b, of_b)?;
        kernels::copy(queue, recipe, b, (at_x, ld))?;
    }
    made.solve_for(queue, recipe, a, trans, x)?;
    // A column whose first residual is NaN or infinite goes back too.
    // SAFETY: as above.
    unsafe { kernels::copy(queue, recipe, x, (before, n)) }?;
    for step in 0..=STEPS {
        // SAFETY: as above.
        let going = unsafe {
            kernels::copy(queue, recipe, b, (rest, n))?;
            kernels::residual(queue, recipe, a, how, x, rest)?;
            queue.fill(sizes, 3 * bytes, &[0])?;
            kernels::largest(queue, recipe, (rest, n, cols), sizes)?;
            kernels::largest(queue, recipe, x, of_x)?;
            queue.fill(left, 8, &[0])?;
            kernels::judge(queue, recipe, (state, cols), [norm, left], (step, step == STEPS))?;
            kernels::keep(queue, recipe, state, x, before)?;
            u64::from_ne_bytes(queue.look(left)?)
        };
        if going == 0 {
            break;
        }
        made.solve_for(queue, recipe, a, trans, (rest, n, cols))?;
        // SAFETY: as above.
        unsafe {
            kernels::largest(queue, recipe, (rest, n, cols), of_correction)?;
            kernels::correct(queue, recipe, state, x, rest)?;
        }
    }
    // SAFETY: as above.
    unsafe {
        queue.fill(of_x, bytes, &[0])?;
        kernels::largest(queue, recipe, x, of_x)?;
        kernels::count_wrong(queue, recipe, (state, cols), UNITS * recipe.epsilon(), wrong)?;
    }
    drop(locked);
    held.end();
    Ok(())
}
