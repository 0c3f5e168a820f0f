//! The library's factorizations and solutions of one matrix, by addresses and sizes. What they read and write lies
//! inside operands (the checks of the routines ensure it) or in scratch; it lives until the work of the dispatch is
//! over. The handle is the leased slot's. The queries for workspaces use only sizes.

use super::super::SolverElement;
use super::calls::{lettered, pointer, sized};
use super::{code, i32s};
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::libraries::flags::{Diag, Transpose, Uplo};
use crate::libraries::solver::native::calls;
use crate::libraries::solver::native::kernels;
use std::ptr::null;

/// An address and a leading dimension.
pub(in crate::libraries::solver) type At = (u64, usize);

/// `cublasOperation_t`: for real types the adjoint is the transpose.
fn operation<T: SolverElement>(trans: Transpose) -> u32 {
    match trans {
        Transpose::No => 0,
        Transpose::Conjugate if T::DTYPE.is_complex() => 2,
        Transpose::Yes | Transpose::Conjugate => 1,
    }
}

pub(in crate::libraries::solver) fn getrf<T: SolverElement>(
    queue: &mut Queue<'_>,
    (m, n): (usize, usize),
    (a, lda): At,
    pivots: u64,
    info: u64,
) -> Result<()> {
    let (m, n, lda, ty) = (m as i64, n as i64, lda as i64, code::<T>());
    calls::call_sized(
        queue,
        "cusolverDnXgetrf",
        // SAFETY: see the head of this file.
        |api, h, device, host| unsafe {
            Some(api.regular.xgetrf_size(h, null(), m, n, ty, pointer(a), lda, ty, device, host))
        },
        // SAFETY: see the head of this file.
        |api, h, room| unsafe {
            let (a, pivots, info) = (pointer(a), pivots as *mut i64, info as *mut i32);
            let (device, host) = ((room.device, room.device_bytes), (room.host, room.host_bytes));
            let code =
                api.regular.xgetrf(h, null(), m, n, ty, a, lda, pivots, ty, device.0, device.1, host.0, host.1, info);
            Some(code)
        },
    )
}

/// Uses no pivots if `pivots` is 0.
pub(in crate::libraries::solver) fn getrs<T: SolverElement>(
    queue: &mut Queue<'_>,
    trans: Transpose,
    (n, nrhs): (usize, usize),
    (a, lda): At,
    pivots: u64,
    (b, ldb): At,
    info: u64,
) -> Result<()> {
    let (n, nrhs, lda, ldb, ty) = (n as i64, nrhs as i64, lda as i64, ldb as i64, code::<T>());
    // SAFETY: see the head of this file; pivots from a caller were made valid by `keep_pivots`.
    calls::plain(queue, "cusolverDnXgetrs", |api, h| unsafe {
        let (pivots, info, op) = (pivots as *const i64, info as *mut i32, operation::<T>(trans));
        api.regular.xgetrs(h, null(), op, n, nrhs, ty, pointer(a), lda, pivots, ty, pointer(b), ldb, info)
    })
}

pub(in crate::libraries::solver) fn potrf<T: SolverElement>(
    queue: &mut Queue<'_>,
    uplo: Uplo,
    n: usize,
    (a, lda): At,
    info: u64,
) -> Result<()> {
    let (uplo, n, lda, ty) = (uplo.fill_mode(), n as i64, lda as i64, code::<T>());
    let a = pointer(a);
    sized!(queue, xpotrf_size, xpotrf, "cusolverDnXpotrf", (null(), uplo, n, ty, a, lda, ty), info)
}

pub(in crate::libraries::solver) fn potrs<T: SolverElement>(
    queue: &mut Queue<'_>,
    uplo: Uplo,
    (n, nrhs): (usize, usize),
    (a, lda): At,
    (b, ldb): At,
    info: u64,
) -> Result<()> {
    let (n, nrhs, lda, ldb, ty) = (n as i64, nrhs as i64, lda as i64, ldb as i64, code::<T>());
    // SAFETY: see the head of this file.
    calls::plain(queue, "cusolverDnXpotrs", |api, h| unsafe {
        let (uplo, info) = (uplo.fill_mode(), info as *mut i32);
        api.regular.xpotrs(h, null(), uplo, n, nrhs, ty, pointer(a), lda, ty, pointer(b), ldb, info)
    })
}

pub(in crate::libraries::solver) fn potri<T: SolverElement>(
    queue: &mut Queue<'_>,
    uplo: Uplo,
    n: usize,
    (a, lda): At,
    info: u64,
) -> Result<()> {
    let ([n, lda], uplo, a) = (i32s([n, lda]), uplo.fill_mode(), pointer(a));
    lettered!(queue, T, potri_size, potri, (uplo, n, a, lda), info)
}

pub(in crate::libraries::solver) fn trtri<T: SolverElement>(
    queue: &mut Queue<'_>,
    (uplo, diag): (Uplo, Diag),
    n: usize,
    (a, lda): At,
    info: u64,
) -> Result<()> {
    let (uplo, diag, n, lda) = (uplo.fill_mode(), u32::from(diag == Diag::Unit), n as i64, lda as i64);
    let (ty, a) = (code::<T>(), pointer(a));
    sized!(queue, xtrtri_size, xtrtri, "cusolverDnXtrtri", (uplo, diag, n, ty, a, lda), info)
}

pub(in crate::libraries::solver) fn geqrf<T: SolverElement>(
    queue: &mut Queue<'_>,
    (m, n): (usize, usize),
    (a, lda): At,
    tau: u64,
    info: u64,
) -> Result<()> {
    let (m, n, lda, ty, a, tau) = (m as i64, n as i64, lda as i64, code::<T>(), pointer(a), pointer(tau));
    sized!(queue, xgeqrf_size, xgeqrf, "cusolverDnXgeqrf", (null(), m, n, ty, a, lda, ty, tau, ty), info)
}

/// `op(Q) * C` (`left`) or `C * op(Q)`, C of `m x n`, with `k` reflectors.
pub(in crate::libraries::solver) fn ormqr<T: SolverElement>(
    queue: &mut Queue<'_>,
    (left, trans): (bool, Transpose),
    [m, n, k]: [usize; 3],
    ((a, lda), tau): (At, u64),
    (c, ldc): At,
    info: u64,
) -> Result<()> {
    let [m, n, k, lda, ldc] = i32s([m, n, k, lda, ldc]);
    let (side, op, a, tau, c) = (u32::from(!left), operation::<T>(trans), pointer(a), pointer(tau), pointer(c));
    lettered!(queue, T, ormqr_size, ormqr, (side, op, m, n, k, a, lda, tau, c, ldc), info)
}

/// Replaces `k` reflectors of `m` rows by the first `n` columns of Q.
pub(in crate::libraries::solver) fn orgqr<T: SolverElement>(
    queue: &mut Queue<'_>,
    [m, n, k]: [usize; 3],
    ((a, lda), tau): (At, u64),
    info: u64,
) -> Result<()> {
    let ([m, n, k, lda], a, tau) = (i32s([m, n, k, lda]), pointer(a), pointer(tau));
    lettered!(queue, T, orgqr_size, orgqr, (m, n, k, a, lda, tau), info)
}

/// Writes pivots of 32 bits. The documentation does not list it among the routines that give the same bits each
/// time.
pub(in crate::libraries::solver) fn sytrf<T: SolverElement>(
    queue: &mut Queue<'_>,
    uplo: Uplo,
    n: usize,
    (a, lda): At,
    pivots: u64,
    info: u64,
) -> Result<()> {
    let ([n, lda], uplo, a) = (i32s([n, lda]), uplo.fill_mode(), pointer(a));
    calls::call_lettered::<T>(
        queue,
        // SAFETY: see the head of this file.
        |api, h, len| unsafe { api.typed.sytrf_size(T::LETTER, h, n, a, lda, len) },
        // SAFETY: see the head of this file.
        |api, h, room, len| unsafe {
            let (pivots, info) = (pivots as *mut i32, info as *mut i32);
            api.typed.sytrf(T::LETTER, h, uplo, n, a, lda, pivots, room, len, info)
        },
    )
}

/// The library copies the pivots to the host without first waiting for the stream (seen with 12.0.4 on an H200:
/// after a kernel of 20 ms it used the old contents). So this function waits.
pub(in crate::libraries::solver) fn sytrs<T: SolverElement>(
    queue: &mut Queue<'_>,
    uplo: Uplo,
    (n, nrhs): (usize, usize),
    (a, lda): At,
    pivots: u64,
    (b, ldb): At,
    info: u64,
) -> Result<()> {
    let (uplo, n, nrhs, lda, ldb) = (uplo.fill_mode(), n as i64, nrhs as i64, lda as i64, ldb as i64);
    queue.wait()?;
    // The pivots were made valid by `keep_pivots`, or are `sytrf`'s own.
    let (ty, a, b, p) = (code::<T>(), pointer(a), pointer(b), pivots as *const i64);
    sized!(queue, xsytrs_size, xsytrs, "cusolverDnXsytrs", (uplo, n, nrhs, ty, a, lda, p, ty, b, ldb), info)
}

/// Solves `op(R) * X = B` with the upper triangle of `n` rows at `r`. It is copied first, and used as LU factors of
/// which L is the identity. The index of the first zero on the diagonal is written to `info`.
pub(in crate::libraries::solver) fn solve_upper<T: SolverElement>(
    queue: &mut Queue<'_>,
    trans: Transpose,
    (n, nrhs, longest): (usize, usize, usize),
    (r, ldr): At,
    b: At,
    info: u64,
) -> Result<()> {
    let bytes = n.checked_mul(n).and_then(|n| n.checked_mul(size_of::<T>()));
    let copy = queue.scratch(bytes.unwrap_or(usize::MAX))?;
    let unused = queue.scratch(size_of::<i32>())?;
    // SAFETY: the triangle lies inside an operand or scratch; the copy is scratch of this dispatch.
    unsafe { kernels::copy_matrix::<T>(queue, super::Copy::Upper, (r, ldr), (copy, n), (n, n)) }?;
    let epsilon = if size_of::<T::Real>() == size_of::<f32>() { f32::EPSILON.into() } else { f64::EPSILON };
    kernels::first_dependent::<T>(queue, (copy, n), n, longest as f64 * epsilon, info)?;
    if nrhs == 0 { Ok(()) } else { getrs::<T>(queue, trans, (n, nrhs), (copy, n), 0, b, unused) }
}
