//! Eigenvalues and singular values of many small matrices by rotations: kernels of our own, with the bits of the host half.

use super::super::SolverElement;
use super::super::matrix::Matrix;
use super::kernels::real_parts;
use crate::core::error::{Error, Result};
use crate::core::launch::LaunchDims;
use crate::engines::cuda::{Ptx, Queue};
use crate::libraries::flags::Uplo;

static KERNELS: Ptx = Ptx::new(include_str!("../kernels/small_spectra.ptx"));

/// Threads of a block.
const BLOCK: usize = 64;

/// What the kernels are told to do.
const VECTORS: u64 = 1;
const UPPER: u64 = 2;
const FULL: u64 = 4;

/// Columns of a matrix with a column of zeros, if that makes their number even.
fn even(n: usize) -> usize {
    n + n % 2
}

/// Lanes of a matrix: one for each row, and for each column.
fn lanes(size: usize) -> usize {
    even(size).next_power_of_two().clamp(4, 32)
}

/// For matrices that take `elements` of shared memory and `width` lanes each: the kernels keep their distance equal to the lanes,
/// modulo the 32 banks.
fn dims<T>(elements: usize, width: usize, count: usize) -> Result<LaunchDims> {
    let (each, matrices) = (elements + width.wrapping_sub(elements) % 32, BLOCK / width);
    let blocks = u32::try_from(count.div_ceil(matrices));
    let blocks = blocks.map_err(|_| Error::invalid("a", format!("{count} matrices")))?;
    let shared = each * matrices * size_of::<T>();
    Ok(LaunchDims { grid: (blocks, 1, 1), block: (BLOCK as u32, 1, 1), shared: shared as u32 })
}

/// Grid, shared memory, and the parameters of the kernel.
pub(in crate::libraries::solver) fn eigh_plan<T: SolverElement>(
    (vectors, uplo): (bool, Uplo),
    of: &Matrix,
    [a, w, info]: [u64; 3],
) -> Result<(LaunchDims, [u64; 9])> {
    let (n, width) = (of.rows, lanes(of.rows));
    let size = even(n);
    let elements = size * (size + 1) / 2 + size + if vectors { size * width } else { 0 };
    let what = if vectors { VECTORS } else { 0 } | if uplo == Uplo::Upper { UPPER } else { 0 };
    let [lda, step, n, count, lanes] = [of.leading(), of.distance(), n, of.count, width].map(|n| n as u64);
    Ok((dims::<T>(elements, width, of.count)?, [a, lda, step, w, info, n, count, what, lanes]))
}

/// Eigenvalues, ascending, and vectors in place of A, of f32 or f64.
pub(in crate::libraries::solver) fn eigh<T: SolverElement>(
    queue: &mut Queue<'_>,
    how: (bool, Uplo),
    of: &Matrix,
    at: [u64; 3],
) -> Result<()> {
    let (dims, args) = eigh_plan::<T>(how, of, at)?;
    let name = real_parts::<T>([c"small_eigh_4", c"small_eigh_8"]).1;
    // SAFETY: the arguments are the kernel's parameters in order and type; matrices, values and infos lie inside operands (checked).
    unsafe { queue.launch(&KERNELS, name, dims, &args.map(Into::into)) }
}

/// Matrices of vectors: where they lie, and their address.
pub(in crate::libraries::solver) type Vectors = [(Matrix, u64); 2];

/// Grid, shared memory, and the parameters of the kernel, for U and `V^T` if they are given.
pub(in crate::libraries::solver) fn svd_plan<T: SolverElement>(
    (of, a): (&Matrix, u64),
    (s, info): (u64, u64),
    vectors: Option<Vectors>,
) -> Result<(LaunchDims, [u64; 16])> {
    let (m, n) = (of.rows.max(of.cols), of.rows.min(of.cols));
    let (size, width, wants) = (even(n), lanes(m), vectors.is_some());
    let [(of_u, u), (of_vh, vh)] = vectors.unwrap_or([(Matrix::new(0, 0), 0); 2]);
    let full = wants && of_u.cols.max(of_vh.rows) > n;
    let (ld, kept) = (width + 2, if full { m.max(size) } else { size });
    let elements = kept * ld + if wants { size * ld } else { 0 } + 2 * width;
    let what = if wants { VECTORS } else { 0 } | if full { FULL } else { 0 };
    let [ldu, step_u, ldvh, step_vh] = [of_u.leading(), of_u.distance(), of_vh.leading(), of_vh.distance()];
    let [lda, step_a, ldu, step_u, ldvh, step_vh, rows, cols, count, lanes] =
        [of.leading(), of.distance(), ldu, step_u, ldvh, step_vh, of.rows, of.cols, of.count, width].map(|n| n as u64);
    let args = [a, lda, step_a, s, u, ldu, step_u, vh, ldvh, step_vh, info, rows, cols, count, what, lanes];
    Ok((dims::<T>(elements, width, of.count)?, args))
}

/// Singular values, descending, and U and `V^T` if they are given, of f32 or f64.
pub(in crate::libraries::solver) fn svd<T: SolverElement>(
    queue: &mut Queue<'_>,
    a: (&Matrix, u64),
    values: (u64, u64),
    vectors: Option<Vectors>,
) -> Result<()> {
    let (dims, args) = svd_plan::<T>(a, values, vectors)?;
    let name = real_parts::<T>([c"small_svd_4", c"small_svd_8"]).1;
    // SAFETY: the arguments are the kernel's parameters in order and type; matrices, values and infos lie inside operands (checked).
    unsafe { queue.launch(&KERNELS, name, dims, &args.map(Into::into)) }
}
