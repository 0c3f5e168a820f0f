//! Many small matrices in one call: cuBLAS's `getrfBatched` and cuSOLVER's `potrfBatched`. For other batches the
//! callers loop over the matrices.

use super::super::SolverElement;
use super::super::matrix::Matrix;
use super::handle::Cusolver;
use super::{Copy, i32s};
use crate::core::error::{Error, Result};
use crate::engines::cuda::{Queue, Series};
use crate::libraries::blas::native::batched_lu;
use crate::libraries::flags::Uplo;
use crate::libraries::solver::native::kernels;

/// The most rows of a matrix in a batch, and the fewest matrices, for which one call is faster than a loop.
const ROWS: usize = 256;
const MATRICES: usize = 4;

/// Whether one call is used.
fn fits(of: &Matrix) -> bool {
    of.rows == of.cols && (1..=ROWS).contains(&of.rows) && of.count >= MATRICES
}

/// LU factors of small square matrices. Returns `false` if the batch does not fit.
pub(in crate::libraries::solver) fn lu_batched<T: SolverElement>(
    queue: &mut Queue<'_>,
    of: &Matrix,
    a: u64,
    pivots: u64,
    info: u64,
) -> Result<bool> {
    if !fits(of) {
        return Ok(false);
    }
    let step = (of.distance() * size_of::<T>()) as u64;
    let table = queue.even_table(&[Series { first: a, step }], of.count)?;
    let short = queue.scratch(4 * of.rows * of.count)?;
    let [n, lda, count] = i32s([of.rows, of.leading(), of.count]);
    // SAFETY: matrices and infos lie inside their buffers (checked), the pivots in scratch of this dispatch.
    unsafe { batched_lu(queue, T::LETTER, (n, lda, count), table, short, info) }?;
    kernels::widen(queue, short, pivots, of.rows * of.count)?;
    Ok(true)
}

/// Cholesky factors of small matrices. Returns `false` if the batch does not fit. The routine destroys the other
/// triangle, so it works on a copy.
pub(in crate::libraries::solver) fn cholesky_batched<T: SolverElement>(
    queue: &mut Queue<'_>,
    uplo: Uplo,
    of: &Matrix,
    a: u64,
    info: u64,
) -> Result<bool> {
    if !fits(of) {
        return Ok(false);
    }
    let (n, one) = (of.rows, of.rows * of.rows);
    let copy = queue.scratch(one.saturating_mul(of.count).saturating_mul(size_of::<T>()))?;
    let (there, here) = ((a, of.leading(), of.distance()), (copy, n, one));
    // SAFETY: the matrices lie inside their buffer (checked), the copies in scratch of this dispatch.
    unsafe { kernels::copy_matrices::<T>(queue, Copy::Triangle(uplo), there, here, (n, n), of.count) }?;
    let step = (one * size_of::<T>()) as u64;
    let table = queue.even_table(&[Series { first: copy, step }], of.count)?;
    let [rows, count] = i32s([n, of.count]);
    let (api, handle) = queue.library::<Cusolver>()?;
    // SAFETY: the table is that of the copies; the infos lie inside their buffer (checked); the handle is the leased
    // slot's.
    let called = unsafe {
        let (uplo, table, info) = (uplo.fill_mode(), table as *const _, info as *mut i32);
        api.typed.potrf_batched(T::LETTER, handle.raw.0, uplo, rows, table, rows, info, count)
    };
    match called.code {
        Some(code) => queue.status::<Cusolver>(called.name, code)?,
        None => return Err(Error::unsupported(format!("the cuSOLVER of this machine has no {}", called.name))),
    }
    // SAFETY: as above.
    unsafe { kernels::copy_matrices::<T>(queue, Copy::Triangle(uplo), here, there, (n, n), of.count) }?;
    Ok(true)
}
