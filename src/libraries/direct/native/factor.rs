//! Factors, and their verdicts.

use super::kept::Held;
use super::kernels;
use super::recipe::Recipe;
use super::system::{Arrays, Made, Told};
use crate::core::error::{Error, Result};
use crate::engines::cuda::Queue;
use crate::libraries::direct::Factorization;
use crate::libraries::direct::factor::{Pivots, Stopped};

/// What our kernels find: a row with a value that is not finite, a difference of structures, a pivot that is not finite. All bits
/// are set for none.
const FOUND: usize = 3;

/// Factors a matrix with the structure that was analysed. `a`: the offsets of the plan, the indices that were analysed, and the
/// values. `own`: offsets and indices of the matrix itself, if these are not known to be those that were analysed.
///
/// # Safety
/// All arrays are operands of this dispatch with the recipe's lengths.
pub(in super::super) unsafe fn factor(
    queue: &mut Queue<'_>,
    held: Option<&Held>,
    recipe: Recipe,
    a: Arrays,
    own: Option<[u64; 2]>,
) -> Result<Result<Pivots, Stopped>> {
    let held = held.ok_or_else(super::isolated)?;
    let [offsets, indices, values] = a;
    if recipe.n == 0 {
        return Ok(Ok(Pivots::default()));
    }
    if recipe.nnz == 0 {
        let is_cholesky = matches!(recipe.factorization, Factorization::Cholesky(_));
        return Ok(Err(if is_cholesky { Stopped::Indefinite(1) } else { Stopped::Singular(1) }));
    }
    // Before the library is called: without memory for these nothing has happened yet, and it is tried again.
    let found = queue.scratch(8 * FOUND)?;
    let diagonal = queue.scratch(recipe.n.saturating_mul(recipe.dtype.size()))?;
    let kept = held.take(recipe.dtype);
    // Scales and permutations of values that turn out to be wrong serve no other factor.
    let is_sound = kept.is_some() || !recipe.factorization.is_matched();
    let mut made = match kept {
        Some(made) => made,
        None => Made::new(queue, recipe, a)?,
    };
    if let Err(error) = made.factor(queue, a) {
        if matches!(error, Error::OutOfMemory { .. }) {
            held.give_back(made);
        }
        return Err(error);
    }
    // SAFETY: scratch of that many bytes, and the caller's promise.
    unsafe {
        queue.fill(found, 8 * FOUND, &[0xff])?;
        kernels::first_not_finite(queue, recipe, [offsets, indices, values], found)?;
        if let Some([own_offsets, own_indices]) = own {
            let size = recipe.index_bytes();
            kernels::first_difference(queue, recipe, [offsets, own_offsets], (recipe.n + 1) * size, found + 8)?;
            kernels::first_difference(queue, recipe, [indices, own_indices], recipe.nnz * size, found + 8)?;
        }
    }
    // The library waits for its numbers, under the lock of its handles.
    queue.wait()?;
    let has_pivots = made.diagonal(queue, diagonal)?;
    // SAFETY: as above.
    let found: [u8; 8 * FOUND] = unsafe {
        if has_pivots {
            kernels::first_odd(queue, recipe, diagonal, recipe.n, found + 16)?;
        }
        queue.look(found)?
    };
    let told = made.told(queue)?;
    let verdict = verdict(recipe, found, told);
    if verdict.is_ok() {
        held.set(made);
    } else if is_sound {
        held.give_back(made);
    }
    Ok(verdict)
}

fn verdict(recipe: Recipe, found: [u8; 8 * FOUND], told: Told) -> Result<Pivots, Stopped> {
    let mut numbers = found.chunks_exact(8).map(|bytes| bytes.try_into().map_or(u64::MAX, u64::from_le_bytes));
    let mut next = || numbers.next().filter(|number| *number != u64::MAX);
    let (row, differs, pivot) = (next(), next(), next());
    if differs.is_some() {
        return Err(Stopped::Other);
    }
    if let Some(row) = row {
        return Err(Stopped::NotFinite(row as usize));
    }
    let Told { info, perturbed, negative } = told;
    if info != 0 && matches!(recipe.factorization, Factorization::Cholesky(_)) {
        return Err(Stopped::Indefinite(info as usize));
    }
    if let Some(row) = pivot {
        return Err(Stopped::Singular(row as usize));
    }
    // A number that the library does not explain for LU and LDL is one pivot more.
    let perturbed = perturbed.saturating_add(u64::from(info != 0));
    Ok(Pivots { perturbed: perturbed as usize, negative: negative as usize })
}
