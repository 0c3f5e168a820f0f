//! The library's routines on one matrix, as addresses and sizes. What they read and write lies inside operands, as the checks
//! of the routines have seen, or in scratch; it lives until the work of the dispatch is over, and the handle is the leased
//! slot's. The questions for workspaces look at sizes alone.

use super::super::SolverElement;
use super::status::IRS_MATRIX_SINGULAR;
use super::{code, i32s};
use crate::cuda::Queue;
use crate::library::Code;
use crate::{Diag, Result, Transpose, Uplo};
use std::ffi::c_void;
use std::ptr::null;

/// An address and a leading dimension.
pub(in crate::libraries::solver) type At = (u64, usize);

fn read(at: u64) -> *const c_void {
    at as *const c_void
}

fn write(at: u64) -> *mut c_void {
    at as *mut c_void
}

/// `cublasOperation_t`: of reals the adjoint is a transpose.
fn operation<T: SolverElement>(trans: Transpose) -> u32 {
    match trans {
        Transpose::No => 0,
        Transpose::Conjugate if T::DTYPE.is_complex() => 2,
        Transpose::Yes | Transpose::Conjugate => 1,
    }
}

impl Queue<'_> {
    pub(in crate::libraries::solver) fn getrf<T: SolverElement>(
        &mut self,
        (m, n): (usize, usize),
        (a, lda): At,
        pivots: u64,
        info: u64,
    ) -> Result<()> {
        let (m, n, lda, ty) = (m as i64, n as i64, lda as i64, code::<T>());
        self.sized(
            "cusolverDnXgetrf",
            // SAFETY: see the head of this file.
            |api, h, device, host| unsafe {
                Some(api.regular.xgetrf_size(h, null(), m, n, ty, read(a), lda, ty, device, host))
            },
            // SAFETY: see the head of this file.
            |api, h, room| unsafe {
                let (pivots, info) = (pivots as *mut i64, info as *mut i32);
                Some(api.regular.xgetrf(
                    h,
                    null(),
                    m,
                    n,
                    ty,
                    write(a),
                    lda,
                    pivots,
                    ty,
                    room.device,
                    room.device_bytes,
                    room.host,
                    room.host_bytes,
                    info,
                ))
            },
        )
    }

    /// Without pivots where `pivots` is 0.
    pub(in crate::libraries::solver) fn getrs<T: SolverElement>(
        &mut self,
        trans: Transpose,
        (n, nrhs): (usize, usize),
        (a, lda): At,
        pivots: u64,
        (b, ldb): At,
        info: u64,
    ) -> Result<()> {
        let (n, nrhs, lda, ldb, ty) = (n as i64, nrhs as i64, lda as i64, ldb as i64, code::<T>());
        // SAFETY: see the head of this file; pivots that a caller gave were made safe to follow.
        self.plain("cusolverDnXgetrs", |api, h| unsafe {
            let (pivots, info, op) = (pivots as *const i64, info as *mut i32, operation::<T>(trans));
            api.regular.xgetrs(h, null(), op, n, nrhs, ty, read(a), lda, pivots, ty, write(b), ldb, info)
        })
    }

    pub(in crate::libraries::solver) fn potrf<T: SolverElement>(
        &mut self,
        uplo: Uplo,
        n: usize,
        (a, lda): At,
        info: u64,
    ) -> Result<()> {
        let (uplo, n, lda, ty) = (uplo.fill_mode(), n as i64, lda as i64, code::<T>());
        self.sized(
            "cusolverDnXpotrf",
            // SAFETY: see the head of this file.
            |api, h, device, host| unsafe {
                Some(api.regular.xpotrf_size(h, null(), uplo, n, ty, read(a), lda, ty, device, host))
            },
            // SAFETY: see the head of this file.
            |api, h, room| unsafe {
                Some(api.regular.xpotrf(
                    h,
                    null(),
                    uplo,
                    n,
                    ty,
                    write(a),
                    lda,
                    ty,
                    room.device,
                    room.device_bytes,
                    room.host,
                    room.host_bytes,
                    info as *mut i32,
                ))
            },
        )
    }

    pub(in crate::libraries::solver) fn potrs<T: SolverElement>(
        &mut self,
        uplo: Uplo,
        (n, nrhs): (usize, usize),
        (a, lda): At,
        (b, ldb): At,
        info: u64,
    ) -> Result<()> {
        let (n, nrhs, lda, ldb, ty) = (n as i64, nrhs as i64, lda as i64, ldb as i64, code::<T>());
        // SAFETY: see the head of this file.
        self.plain("cusolverDnXpotrs", |api, h| unsafe {
            let (uplo, info) = (uplo.fill_mode(), info as *mut i32);
            api.regular.xpotrs(h, null(), uplo, n, nrhs, ty, read(a), lda, ty, write(b), ldb, info)
        })
    }

    pub(in crate::libraries::solver) fn potri<T: SolverElement>(
        &mut self,
        uplo: Uplo,
        n: usize,
        (a, lda): At,
        info: u64,
    ) -> Result<()> {
        let ([n, lda], uplo) = (i32s([n, lda]), uplo.fill_mode());
        self.lettered::<T>(
            // SAFETY: see the head of this file.
            |api, h, len| unsafe { api.typed.potri_size(T::LETTER, h, uplo, n, write(a), lda, len) },
            // SAFETY: see the head of this file.
            |api, h, room, len| unsafe {
                api.typed.potri(T::LETTER, h, uplo, n, write(a), lda, room, len, info as *mut i32)
            },
        )
    }

    pub(in crate::libraries::solver) fn trtri<T: SolverElement>(
        &mut self,
        (uplo, diag): (Uplo, Diag),
        n: usize,
        (a, lda): At,
        info: u64,
    ) -> Result<()> {
        let (uplo, diag, n, lda, ty) =
            (uplo.fill_mode(), u32::from(diag == Diag::Unit), n as i64, lda as i64, code::<T>());
        self.sized(
            "cusolverDnXtrtri",
            // SAFETY: see the head of this file.
            |api, h, device, host| unsafe {
                Some(api.regular.xtrtri_size(h, uplo, diag, n, ty, write(a), lda, device, host))
            },
            // SAFETY: see the head of this file.
            |api, h, room| unsafe {
                Some(api.regular.xtrtri(
                    h,
                    uplo,
                    diag,
                    n,
                    ty,
                    write(a),
                    lda,
                    room.device,
                    room.device_bytes,
                    room.host,
                    room.host_bytes,
                    info as *mut i32,
                ))
            },
        )
    }

    pub(in crate::libraries::solver) fn geqrf<T: SolverElement>(
        &mut self,
        (m, n): (usize, usize),
        (a, lda): At,
        tau: u64,
        info: u64,
    ) -> Result<()> {
        let (m, n, lda, ty) = (m as i64, n as i64, lda as i64, code::<T>());
        self.sized(
            "cusolverDnXgeqrf",
            // SAFETY: see the head of this file.
            |api, h, device, host| unsafe {
                Some(api.regular.xgeqrf_size(h, null(), m, n, ty, read(a), lda, ty, read(tau), ty, device, host))
            },
            // SAFETY: see the head of this file.
            |api, h, room| unsafe {
                Some(api.regular.xgeqrf(
                    h,
                    null(),
                    m,
                    n,
                    ty,
                    write(a),
                    lda,
                    ty,
                    write(tau),
                    ty,
                    room.device,
                    room.device_bytes,
                    room.host,
                    room.host_bytes,
                    info as *mut i32,
                ))
            },
        )
    }

    /// `op(Q) * C` (`left`) or `C * op(Q)`, C of `m x n`, with `k` reflectors.
    pub(in crate::libraries::solver) fn ormqr<T: SolverElement>(
        &mut self,
        (left, trans): (bool, Transpose),
        [m, n, k]: [usize; 3],
        ((a, lda), tau): (At, u64),
        (c, ldc): At,
        info: u64,
    ) -> Result<()> {
        let [m, n, k, lda, ldc] = i32s([m, n, k, lda, ldc]);
        let (side, op) = (u32::from(!left), operation::<T>(trans));
        self.lettered::<T>(
            // SAFETY: see the head of this file.
            |api, h, len| unsafe {
                api.typed.ormqr_size(T::LETTER, h, side, op, m, n, k, read(a), lda, read(tau), read(c), ldc, len)
            },
            // SAFETY: see the head of this file.
            |api, h, room, len| unsafe {
                let info = info as *mut i32;
                api.typed.ormqr(
                    T::LETTER,
                    h,
                    side,
                    op,
                    m,
                    n,
                    k,
                    read(a),
                    lda,
                    read(tau),
                    write(c),
                    ldc,
                    room,
                    len,
                    info,
                )
            },
        )
    }

    /// The first `n` columns of Q in place of `k` reflectors of `m` rows.
    pub(in crate::libraries::solver) fn orgqr<T: SolverElement>(
        &mut self,
        [m, n, k]: [usize; 3],
        ((a, lda), tau): (At, u64),
        info: u64,
    ) -> Result<()> {
        let [m, n, k, lda] = i32s([m, n, k, lda]);
        self.lettered::<T>(
            // SAFETY: see the head of this file.
            |api, h, len| unsafe { api.typed.orgqr_size(T::LETTER, h, m, n, k, read(a), lda, read(tau), len) },
            // SAFETY: see the head of this file.
            |api, h, room, len| unsafe {
                api.typed.orgqr(T::LETTER, h, m, n, k, write(a), lda, read(tau), room, len, info as *mut i32)
            },
        )
    }

    /// Solutions by factors of half the precision, of an A without gaps that is destroyed. The rounds of refinement, negative
    /// where it fell back to the whole precision; `None` where the library says that it found no solution.
    pub(in crate::libraries::solver) fn refine<T: SolverElement>(
        &mut self,
        (n, nrhs): (usize, usize),
        a: u64,
        (b, ldb): At,
        (x, ldx): At,
        info: u64,
    ) -> Result<Option<i64>> {
        let pivots = self.scratch(n.saturating_mul(size_of::<i32>()))? as *mut i32;
        let rounds = self.keep_host(size_of::<i32>()).cast::<i32>();
        let ([n, nrhs, ldb, ldx], complex) = (i32s([n, nrhs, ldb, ldx]), T::DTYPE.is_complex());
        let (a, b, x) = (write(a), write(b), write(x));
        let mut singular = false;
        self.sized(
            "cusolverDn<t>gesv",
            // SAFETY: see the head of this file.
            |api, h, device, _| unsafe {
                let (api, work) = (api.regular, std::ptr::null_mut());
                if complex {
                    api.zcgesv_size(h, n, nrhs, a, n, pivots, b, ldb, x, ldx, work, device)
                } else {
                    api.dsgesv_size(h, n, nrhs, a, n, pivots, b, ldb, x, ldx, work, device)
                }
            },
            // SAFETY: see the head of this file; the rounds are written to memory that is kept.
            |api, h, room| unsafe {
                let (api, work, bytes, info) = (api.regular, room.device, room.device_bytes, info as *mut i32);
                let code = if complex {
                    api.zcgesv(h, n, nrhs, a, n, pivots, b, ldb, x, ldx, work, bytes, rounds, info)
                } else {
                    api.dsgesv(h, n, nrhs, a, n, pivots, b, ldb, x, ldx, work, bytes, rounds, info)
                };
                singular = code.is_some_and(|code| code.0 == IRS_MATRIX_SINGULAR);
                if singular { Some(Code::SUCCESS) } else { code }
            },
        )?;
        // SAFETY: kept until the work is over, and the call has waited for the device.
        let rounds = unsafe { rounds.read_volatile() };
        Ok((!singular).then_some(rounds.into()))
    }

    /// Solves `op(R) * X = B` with the upper triangle of `n` rows at `r`, which is copied first: as factors of which L is the
    /// identity. The place of a zero on the diagonal becomes an info.
    pub(in crate::libraries::solver) fn solve_upper<T: SolverElement>(
        &mut self,
        trans: Transpose,
        (n, nrhs): (usize, usize),
        (r, ldr): At,
        b: At,
        info: u64,
    ) -> Result<()> {
        let bytes = n.checked_mul(n).and_then(|n| n.checked_mul(size_of::<T>()));
        let copy = self.scratch(bytes.unwrap_or(usize::MAX))?;
        let unused = self.scratch(size_of::<i32>())?;
        // SAFETY: the triangle lies inside an operand or scratch; the copy is scratch of this dispatch.
        unsafe { self.copy_matrix::<T>(super::Copy::Upper, (r, ldr), (copy, n), (n, n)) }?;
        self.first_zero::<T>((copy, n), n, info)?;
        if nrhs == 0 { Ok(()) } else { self.getrs::<T>(trans, (n, nrhs), (copy, n), 0, b, unused) }
    }
}
