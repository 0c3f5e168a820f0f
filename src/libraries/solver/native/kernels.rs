//! Our own kernels, for what cuSOLVER does not do.

use crate::core::element::{DType, Element};
use crate::core::error::Result;
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{Ptx, Queue};
use crate::libraries::flags::Uplo;

pub(super) static KERNELS: Ptx = Ptx::new(include_str!("kernels.ptx"));
pub(super) static RANKS: Ptx = Ptx::new(include_str!("../kernels/ranks.ptx"));

/// Threads of the single block that searches an array.
const BLOCK: u32 = 256;

/// What a copy of a matrix does.
#[derive(Clone, Copy, Debug)]
pub(in crate::libraries::solver) enum Copy {
    /// All of it, as it is.
    All,
    /// The conjugate transpose.
    Adjoint,
    /// The upper triangle, with zeros below.
    Upper,
    /// No copy: the identity.
    Identity,
    /// One triangle; the other one of the target stays.
    Triangle(Uplo),
}

/// 32-bit words of an element.
fn words<T: Element>() -> usize {
    size_of::<T>() / 4
}

/// The parts of a number, and the kernel for its real type.
pub(super) fn real_parts<T: Element>(
    [single, double]: [&'static std::ffi::CStr; 2],
) -> (usize, &'static std::ffi::CStr) {
    let parts = if T::DTYPE.is_complex() { 2 } else { 1 };
    (parts, if size_of::<T>() / parts == 4 { single } else { double })
}

/// Writes the first info that is not zero, with the number of its matrix, to `result`.
pub(super) fn first_info(queue: &mut Queue<'_>, info: u64, count: usize, result: u64) -> Result<()> {
    let args = [info.into(), count.into(), result.into()];
    // SAFETY: the arguments are the kernel's parameters in order and type; it reads `count` infos, which lie in an
    // operand or in scratch, and writes the result of this dispatch.
    unsafe { queue.launch(&KERNELS, c"first_info", one_block(), &args) }
}

/// Writes the index of the first zero on the diagonal of an `n x n` matrix, counted from 1, to `info`.
pub(in crate::libraries::solver) fn first_zero<T: Element>(
    queue: &mut Queue<'_>,
    (a, ld): (u64, usize),
    n: usize,
    info: u64,
) -> Result<()> {
    let wide = usize::from(matches!(T::DTYPE, DType::F64 | DType::C64));
    let args = [a.into(), n.into(), ld.into(), words::<T>().into(), wide.into(), info.into()];
    // SAFETY: as above; the matrix lies inside an operand (checked) or scratch, and `info` is four bytes of either.
    unsafe { queue.launch(&KERNELS, c"first_zero", one_block(), &args) }
}

/// Writes the first column of the upper triangle R, counted from 1, whose element on the diagonal is at most `limit`
/// times the norm of the column, to `info`; 0 for none.
pub(in crate::libraries::solver) fn first_dependent<T: Element>(
    queue: &mut Queue<'_>,
    (r, ld): (u64, usize),
    n: usize,
    limit: f64,
    info: u64,
) -> Result<()> {
    let (parts, name) = real_parts::<T>([c"first_dependent_4", c"first_dependent_8"]);
    let args = [r.into(), n.into(), ld.into(), parts.into(), limit.into(), info.into()];
    // SAFETY: the arguments are the kernel's parameters in order and type; the triangle lies in scratch, and `info` is
    // four bytes of an operand or scratch.
    unsafe { queue.launch(&RANKS, name, one_block(), &args) }
}

/// Writes how many of `n` values that descend are above `tolerance` times the first, as an i32.
pub(in crate::libraries::solver) fn count_above<T: Element>(
    queue: &mut Queue<'_>,
    values: u64,
    n: usize,
    tolerance: f64,
    count: u64,
) -> Result<()> {
    let name = real_parts::<T>([c"count_above_4", c"count_above_8"]).1;
    let args = [values.into(), n.into(), tolerance.into(), count.into()];
    // SAFETY: as above; the values lie in an operand.
    unsafe { queue.launch(&RANKS, name, one_block(), &args) }
}

/// Writes the sum of squares of each column, of the real type.
pub(in crate::libraries::solver) fn sum_squares<T: Element>(
    queue: &mut Queue<'_>,
    (x, ld): (u64, usize),
    (rows, cols): (usize, usize),
    sums: u64,
) -> Result<()> {
    let (parts, name) = real_parts::<T>([c"sum_squares_4", c"sum_squares_8"]);
    let args = [x.into(), rows.saturating_mul(parts).into(), ld.saturating_mul(parts).into(), sums.into()];
    let columns =
        u32::try_from(cols).map_err(|_| crate::core::error::Error::invalid("b", format!("{cols} columns")))?;
    let dims = LaunchDims { grid: (columns, 1, 1), block: (BLOCK, 1, 1), shared: 0 };
    // SAFETY: as above; the matrix lies inside an operand (checked), and a sum of each column inside another.
    if cols == 0 { Ok(()) } else { unsafe { queue.launch(&RANKS, name, dims, &args) } }
}

/// Sets `found` to 1 if a matrix of f64, or of pairs of f64, holds a NaN or an infinity; else leaves it.
pub(in crate::libraries::solver) fn find_broken<T: Element>(
    queue: &mut Queue<'_>,
    (x, ld): (u64, usize),
    (rows, cols): (usize, usize),
    found: u64,
) -> Result<()> {
    let parts = size_of::<T>() / size_of::<f64>();
    let (rows, ld) = (rows.saturating_mul(parts), ld.saturating_mul(parts));
    let numbers = rows.saturating_mul(cols);
    if numbers == 0 {
        return Ok(());
    }
    let args = [x.into(), rows.into(), cols.into(), ld.into(), found.into()];
    // SAFETY: the arguments are the kernel's parameters in order and type; it reads the matrix, which lies inside an
    // operand (checked), and writes four bytes of scratch.
    unsafe { queue.launch(&KERNELS, c"find_broken", LaunchDims::for_elements(numbers)?, &args) }
}

/// Converts a matrix of single precision to double (`wide` true), or the reverse: addresses with leading
/// dimensions.
///
/// # Safety
/// This dispatch may read the one matrix and write the other.
pub(in crate::libraries::solver) unsafe fn convert<T: Element>(
    queue: &mut Queue<'_>,
    wide: bool,
    (from, ld_from): (u64, usize),
    (to, ld_to): (u64, usize),
    (rows, cols): (usize, usize),
) -> Result<()> {
    let parts = if T::DTYPE.is_complex() { 2 } else { 1 };
    let [rows, ld_from, ld_to] = [rows, ld_from, ld_to].map(|numbers| numbers.saturating_mul(parts));
    let numbers = rows.saturating_mul(cols);
    if numbers == 0 {
        return Ok(());
    }
    let args = [from.into(), to.into(), rows.into(), cols.into(), ld_from.into(), ld_to.into()];
    let name = if wide { c"widen_numbers" } else { c"narrow_numbers" };
    // SAFETY: the arguments are the kernel's parameters in order and type; where it reads and writes is the caller's
    // promise.
    unsafe { queue.launch(&KERNELS, name, LaunchDims::for_elements(numbers)?, &args) }
}

/// Divides the rows of a matrix by singular values. Rows whose value is at most `tolerance` times the first become
/// zero.
pub(in crate::libraries::solver) fn divide_rows<T: Element>(
    queue: &mut Queue<'_>,
    (x, ld): (u64, usize),
    (rows, cols): (usize, usize),
    values: u64,
    tolerance: f64,
) -> Result<()> {
    let parts = if T::DTYPE.is_complex() { 2 } else { 1 };
    let (rows, ld) = (rows.saturating_mul(parts), ld.saturating_mul(parts));
    let numbers = rows.saturating_mul(cols);
    if numbers == 0 {
        return Ok(());
    }
    let args = [x.into(), rows.into(), cols.into(), ld.into(), parts.into(), values.into(), tolerance.into()];
    let name = if size_of::<T>() / parts == 4 { c"divide_rows_4" } else { c"divide_rows_8" };
    // SAFETY: the arguments are the kernel's parameters in order and type; matrix and values lie in scratch.
    unsafe { queue.launch(&KERNELS, name, LaunchDims::for_elements(numbers)?, &args) }
}

/// Copies a matrix of `rows x cols`.
///
/// # Safety
/// This dispatch may read the one matrix and write the other, and they do not overlap.
pub(in crate::libraries::solver) unsafe fn copy_matrix<T: Element>(
    queue: &mut Queue<'_>,
    how: Copy,
    (from, ld_from): (u64, usize),
    (to, ld_to): (u64, usize),
    (rows, cols): (usize, usize),
) -> Result<()> {
    // SAFETY: the caller's promise, of a single matrix.
    unsafe { copy_matrices::<T>(queue, how, (from, ld_from, 0), (to, ld_to, 0), (rows, cols), 1) }
}

/// The same for `count` matrices: addresses, leading dimensions, and elements from one matrix to the next.
///
/// # Safety
/// As [`copy_matrix`](copy_matrix), of all of them.
pub(in crate::libraries::solver) unsafe fn copy_matrices<T: Element>(
    queue: &mut Queue<'_>,
    how: Copy,
    (from, ld_from, step_from): (u64, usize, usize),
    (to, ld_to, step_to): (u64, usize, usize),
    (rows, cols): (usize, usize),
    count: usize,
) -> Result<()> {
    let elements = rows.saturating_mul(cols).saturating_mul(count);
    if elements == 0 {
        return Ok(());
    }
    let how: usize = match how {
        Copy::All => 0,
        Copy::Adjoint if T::DTYPE.is_complex() => 1 | 2,
        Copy::Adjoint => 1,
        Copy::Upper => 4,
        Copy::Identity => 8,
        Copy::Triangle(Uplo::Lower) => 16,
        Copy::Triangle(Uplo::Upper) => 32,
    };
    // A one of the real type, as two 32-bit words.
    let (one0, one1): (u64, u64) = match T::DTYPE {
        DType::F64 | DType::C64 => (0, 1f64.to_bits() >> 32),
        _ => (1f32.to_bits().into(), 0),
    };
    let args = [
        from.into(),
        to.into(),
        rows.into(),
        cols.into(),
        count.into(),
        ld_from.into(),
        ld_to.into(),
        step_from.into(),
        step_to.into(),
        words::<T>().into(),
        how.into(),
        one0.into(),
        one1.into(),
    ];
    // SAFETY: the arguments are the kernel's parameters in order and type; where it reads and writes is the caller's
    // promise.
    unsafe { queue.launch(&KERNELS, c"copy_matrix", LaunchDims::for_elements(elements)?, &args) }
}

/// Copies the pivots of `count` matrices of `n` rows to scratch. Those that are not row numbers are replaced, so
/// that they swap nothing. If `signed`, pivots may be negative, for blocks of two rows.
pub(in crate::libraries::solver) fn keep_pivots(
    queue: &mut Queue<'_>,
    pivots: u64,
    n: usize,
    count: usize,
    signed: bool,
) -> Result<u64> {
    let len = n.saturating_mul(count); // cannot overflow: the pivots lie in a buffer
    let kept = queue.scratch(len.saturating_mul(size_of::<i64>()))?;
    let args = [pivots.into(), kept.into(), len.into(), n.into(), usize::from(signed).into()];
    // SAFETY: the arguments are the kernel's parameters in order and type; it reads the pivots, which the check has put
    // inside their buffer, and writes as many to scratch.
    unsafe { queue.launch(&KERNELS, c"keep_long_pivots", LaunchDims::for_elements(len)?, &args) }?;
    Ok(kept)
}

/// Widens integers of 32 bits to 64 bits.
pub(in crate::libraries::solver) fn widen(queue: &mut Queue<'_>, from: u64, to: u64, len: usize) -> Result<()> {
    let args = [from.into(), to.into(), len.into()];
    // SAFETY: the arguments are the kernel's parameters in order and type; it reads scratch of `len` integers and writes
    // an operand that holds as many (checked).
    unsafe { queue.launch(&KERNELS, c"widen", LaunchDims::for_elements(len)?, &args) }
}

fn one_block() -> LaunchDims {
    LaunchDims { grid: (1, 1, 1), block: (BLOCK, 1, 1), shared: 0 }
}
