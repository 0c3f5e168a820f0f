//! Kernels of our own, from `kernels/direct.cu`, compiled to PTX for each value type by NVRTC 13.0.

use super::recipe::Recipe;
use super::solve::Columns;
use super::system::Arrays;
use crate::core::element::DType;
use crate::core::error::Result;
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{KernelArg, Ptx, Queue};
use crate::libraries::direct::Factorization;
use crate::libraries::flags::Transpose;
use std::ffi::CStr;

static SINGLE: Ptx = Ptx::new(include_str!("../kernels/direct_s.ptx"));
static DOUBLE: Ptx = Ptx::new(include_str!("../kernels/direct_d.ptx"));
static COMPLEX: Ptx = Ptx::new(include_str!("../kernels/direct_c.ptx"));
static WIDE: Ptx = Ptx::new(include_str!("../kernels/direct_z.ptx"));

/// Words of 8 bytes in the state of a column.
pub(super) const STATE: usize = 8;

/// How `op(A)` follows from the stored entries, as the kernels have it.
pub(super) fn how(recipe: Recipe, trans: Transpose) -> u64 {
    const TURNED: u64 = 4;
    const CONJUGATED: u64 = 8;
    const HERMITIAN: u64 = 16;
    let flag = |bit: u64, is: bool| if is { bit } else { 0 };
    let part = u64::from(recipe.view().unsigned_abs());
    if recipe.factorization == Factorization::Lu {
        return part | flag(TURNED, trans != Transpose::No) | flag(CONJUGATED, trans == Transpose::Conjugate);
    }
    let hermitian = recipe.factorization.is_hermitian();
    let other = if hermitian { Transpose::Yes } else { Transpose::Conjugate };
    part | flag(CONJUGATED, trans == other) | flag(HERMITIAN, hermitian)
}

/// Launches one thread for each of `count` elements; nothing for none.
///
/// # Safety
/// As [`launch`](crate::op::Enqueue::launch).
unsafe fn each(
    queue: &mut Queue<'_>,
    recipe: Recipe,
    name: &'static CStr,
    count: usize,
    args: &[KernelArg],
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let text = match recipe.dtype {
        DType::F32 => &SINGLE,
        DType::F64 => &DOUBLE,
        DType::C32 => &COMPLEX,
        _ => &WIDE,
    };
    // SAFETY: the caller's promise.
    unsafe { queue.launch(text, name, LaunchDims::for_elements(count)?, args) }
}

/// The arrays and sizes of a matrix, and how it is read, as parameters.
fn matrix([offsets, indices, values]: Arrays, recipe: Recipe, how: u64) -> [KernelArg; 6] {
    [offsets.into(), indices.into(), values.into(), recipe.n.into(), recipe.nnz.into(), how.into()]
}

/// Lowers the number `found` to the first row, from 1, with a value that is read and not finite.
///
/// # Safety
/// The arrays of a valid matrix with the recipe's size, and the number: memory of this dispatch. So below.
pub(super) unsafe fn first_not_finite(queue: &mut Queue<'_>, recipe: Recipe, a: Arrays, found: u64) -> Result<()> {
    let name = if recipe.wide { c"first_not_finite_8" } else { c"first_not_finite_4" };
    let args = [&matrix(a, recipe, how(recipe, Transpose::No))[..], &[found.into()]].concat();
    // SAFETY: the parameters in order and type; the caller's promise.
    unsafe { each(queue, recipe, name, recipe.nnz, &args) }
}

/// Lowers the number `found` to the first of `n` values, from 1, that is not finite.
///
/// # Safety
/// As above.
pub(super) unsafe fn first_odd(queue: &mut Queue<'_>, recipe: Recipe, values: u64, n: usize, found: u64) -> Result<()> {
    // SAFETY: as above.
    unsafe { each(queue, recipe, c"first_odd", n, &[values.into(), n.into(), found.into()]) }
}

/// Lowers the number `found` to the first word of four bytes in which two arrays differ.
///
/// # Safety
/// As above, of two arrays of so many bytes.
pub(super) unsafe fn first_difference(
    queue: &mut Queue<'_>,
    recipe: Recipe,
    [one, other]: [u64; 2],
    bytes: usize,
    found: u64,
) -> Result<()> {
    let words = bytes / 4;
    // SAFETY: as above.
    unsafe { each(queue, recipe, c"first_difference", words, &[one.into(), other.into(), words.into(), found.into()]) }
}

/// `R -= op(A) X`, where the columns of R follow each other without gaps.
///
/// # Safety
/// As above, of X and R with as many rows as A.
pub(super) unsafe fn residual(
    queue: &mut Queue<'_>,
    recipe: Recipe,
    a: Arrays,
    how: u64,
    (x, ld, columns): Columns,
    r: u64,
) -> Result<()> {
    let name = if recipe.wide { c"residual_8" } else { c"residual_4" };
    let rest = [x.into(), ld.into(), r.into(), recipe.n.into(), columns.into()];
    let args = [&matrix(a, recipe, how)[..], &rest].concat();
    // SAFETY: as above.
    unsafe { each(queue, recipe, name, recipe.n.saturating_mul(columns), &args) }
}

/// Raises the number `norm` to the largest sum of sizes in a row of `op(A)`. `sums` are zeros, one f64 for each row.
///
/// # Safety
/// As above.
pub(super) unsafe fn norm(
    queue: &mut Queue<'_>,
    recipe: Recipe,
    a: Arrays,
    how: u64,
    [sums, norm]: [u64; 2],
) -> Result<()> {
    let name = if recipe.wide { c"sums_8" } else { c"sums_4" };
    let args = [&matrix(a, recipe, how)[..], &[sums.into()]].concat();
    // SAFETY: as above.
    unsafe {
        each(queue, recipe, name, recipe.n, &args)?;
        each(queue, recipe, c"largest_sum", recipe.n, &[sums.into(), recipe.n.into(), norm.into()])
    }
}

/// Raises the numbers `sizes` to the largest size in each column.
///
/// # Safety
/// As above.
pub(super) unsafe fn largest(
    queue: &mut Queue<'_>,
    recipe: Recipe,
    (x, ld, columns): Columns,
    sizes: u64,
) -> Result<()> {
    let args = [x.into(), ld.into(), recipe.n.into(), columns.into(), sizes.into()];
    // SAFETY: as above.
    unsafe { each(queue, recipe, c"largest", recipe.n.saturating_mul(columns), &args) }
}

/// Copies columns to others, which are as many.
///
/// # Safety
/// As above.
pub(super) unsafe fn copy(
    queue: &mut Queue<'_>,
    recipe: Recipe,
    (from, from_ld, columns): Columns,
    (to, to_ld): (u64, usize),
) -> Result<()> {
    let args = [from.into(), from_ld.into(), to.into(), to_ld.into(), recipe.n.into(), columns.into()];
    // SAFETY: as above.
    unsafe { each(queue, recipe, c"copy_columns", recipe.n.saturating_mul(columns), &args) }
}

/// Conjugates columns.
///
/// # Safety
/// As above.
pub(super) unsafe fn conjugate(queue: &mut Queue<'_>, recipe: Recipe, (x, ld, columns): Columns) -> Result<()> {
    let args = [x.into(), ld.into(), recipe.n.into(), columns.into()];
    // SAFETY: as above.
    unsafe { each(queue, recipe, c"conjugate", recipe.n.saturating_mul(columns), &args) }
}

/// Decides after the residual of a step which columns go on; `going`, which is zero, counts them.
///
/// # Safety
/// As above; the state has [`STATE`] words for each column.
pub(super) unsafe fn judge(
    queue: &mut Queue<'_>,
    recipe: Recipe,
    (state, columns): (u64, usize),
    [norm, going]: [u64; 2],
    (step, is_last): (usize, bool),
) -> Result<()> {
    let args = [
        state.into(),
        columns.into(),
        norm.into(),
        step.into(),
        u64::from(is_last).into(),
        recipe.epsilon().into(),
        going.into(),
    ];
    // SAFETY: as above.
    unsafe { each(queue, recipe, c"judge", columns, &args) }
}

/// Keeps the columns as they are, or brings them back. `before` has them without gaps.
///
/// # Safety
/// As above.
pub(super) unsafe fn keep(
    queue: &mut Queue<'_>,
    recipe: Recipe,
    state: u64,
    (x, ld, columns): Columns,
    before: u64,
) -> Result<()> {
    let args = [state.into(), x.into(), ld.into(), before.into(), recipe.n.into(), columns.into()];
    // SAFETY: as above.
    unsafe { each(queue, recipe, c"keep", recipe.n.saturating_mul(columns), &args) }
}

/// Adds the corrections, which have no gaps between them.
///
/// # Safety
/// As above.
pub(super) unsafe fn correct(
    queue: &mut Queue<'_>,
    recipe: Recipe,
    state: u64,
    (x, ld, columns): Columns,
    by: u64,
) -> Result<()> {
    let args = [state.into(), x.into(), ld.into(), by.into(), recipe.n.into(), columns.into()];
    // SAFETY: as above.
    unsafe { each(queue, recipe, c"correct", recipe.n.saturating_mul(columns), &args) }
}

/// Counts the columns that are not right in `wrong`, which is zero.
///
/// # Safety
/// As above.
pub(super) unsafe fn count_wrong(
    queue: &mut Queue<'_>,
    recipe: Recipe,
    (state, columns): (u64, usize),
    limit: f64,
    wrong: u64,
) -> Result<()> {
    // SAFETY: as above.
    unsafe { each(queue, recipe, c"count_wrong", columns, &[state.into(), columns.into(), limit.into(), wrong.into()]) }
}
