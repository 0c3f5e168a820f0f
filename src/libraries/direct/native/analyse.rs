//! Analysis: the library's object, and the order.

use super::kept::Systems;
use super::recipe::Recipe;
use super::system::{Arrays, Made};
use crate::core::error::{Error, Result};
use crate::engines::cuda::Queue;
use crate::libraries::direct::Factorization;

/// Analyses a matrix of at least one row, and writes the plan: the order, zeros, the offsets of the rows, zeros. The number of
/// entries of the factors; `None` for a matrix without entries of which a factor would read any to be regular.
///
/// # Safety
/// The arrays are those of a valid matrix with the recipe's size, and the plan has as many bytes as are said, at least those of
/// `3 n + 1` indices: operands of this dispatch.
pub(in super::super) unsafe fn analyse(
    queue: &mut Queue<'_>,
    systems: Option<&Systems>,
    recipe: Recipe,
    a: Arrays,
    (plan, bytes): (u64, usize),
) -> Result<Option<u64>> {
    let systems = systems.ok_or_else(super::isolated)?;
    if recipe.factorization == Factorization::Qr {
        return Err(super::super::no_qr());
    }
    if i32::try_from(recipe.n).is_err() {
        return Err(Error::unsupported("more than 2^31 - 1 rows on a GPU: cuDSS takes no more"));
    }
    if recipe.n == 0 || recipe.nnz == 0 {
        // SAFETY: the caller's promise.
        unsafe { queue.fill(plan, bytes, &[0]) }?;
        let may_be_regular = recipe.n == 0 || !recipe.factorization.is_matched();
        return Ok(may_be_regular.then_some(0));
    }
    let made = Made::new(queue, recipe, a)?;
    let [offsets, ..] = a;
    // SAFETY: the caller's promise.
    unsafe {
        queue.fill(plan, bytes, &[0])?;
        queue.copy(recipe.offsets_of(plan), offsets, (recipe.n + 1) * recipe.index_bytes())?;
    }
    made.order(queue, plan)?;
    let entries = made.entries(queue)?;
    systems.keep(made);
    Ok(Some(entries))
}
