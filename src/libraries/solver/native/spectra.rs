//! The library's routines for spectra; what holds of `dense.rs` holds here.

use super::super::SolverElement;
use super::super::eigh::Range;
use super::dense::At;
use super::{code, i32s};
use crate::cuda::Queue;
use crate::{Result, Uplo};
use std::ffi::c_void;
use std::ptr::null;

fn read(at: u64) -> *const c_void {
    at as *const c_void
}

fn write(at: u64) -> *mut c_void {
    at as *mut c_void
}

impl Queue<'_> {
    /// Of an A with at least as many rows as columns; the addresses of U and `V^H` are 0 for values alone.
    pub(in crate::libraries::solver) fn gesvd<T: SolverElement>(
        &mut self,
        full: bool,
        (m, n): (usize, usize),
        (a, lda): At,
        s: u64,
        [(u, ldu), (vh, ldvh)]: [At; 2],
        info: u64,
    ) -> Result<()> {
        let job = match (u, full) {
            (0, _) => b'N' as i8,
            (_, true) => b'A' as i8,
            (_, false) => b'S' as i8,
        };
        let (m, n, lda, ldu, ldvh) = (m as i64, n as i64, lda as i64, ldu as i64, ldvh as i64);
        let (ty, real) = (code::<T>(), code::<T::Real>());
        self.sized(
            "cusolverDnXgesvd",
            // SAFETY: see the head of `dense.rs`.
            |api, h, device, host| unsafe {
                Some(api.regular.xgesvd_size(
                    h,
                    null(),
                    job,
                    job,
                    m,
                    n,
                    ty,
                    read(a),
                    lda,
                    real,
                    read(s),
                    ty,
                    read(u),
                    ldu,
                    ty,
                    read(vh),
                    ldvh,
                    ty,
                    device,
                    host,
                ))
            },
            // SAFETY: see the head of `dense.rs`.
            |api, h, room| unsafe {
                Some(api.regular.xgesvd(
                    h,
                    null(),
                    job,
                    job,
                    m,
                    n,
                    ty,
                    write(a),
                    lda,
                    real,
                    write(s),
                    ty,
                    write(u),
                    ldu,
                    ty,
                    write(vh),
                    ldvh,
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

    pub(in crate::libraries::solver) fn syevd<T: SolverElement>(
        &mut self,
        (vectors, uplo): (bool, Uplo),
        n: usize,
        (a, lda): At,
        w: u64,
        info: u64,
    ) -> Result<()> {
        let (job, uplo, n, lda) = (u32::from(vectors), uplo.fill_mode(), n as i64, lda as i64);
        let (ty, real) = (code::<T>(), code::<T::Real>());
        self.sized(
            "cusolverDnXsyevd",
            // SAFETY: see the head of `dense.rs`.
            |api, h, device, host| unsafe {
                Some(api.regular.xsyevd_size(
                    h,
                    null(),
                    job,
                    uplo,
                    n,
                    ty,
                    read(a),
                    lda,
                    real,
                    read(w),
                    ty,
                    device,
                    host,
                ))
            },
            // SAFETY: see the head of `dense.rs`.
            |api, h, room| unsafe {
                Some(api.regular.xsyevd(
                    h,
                    null(),
                    job,
                    uplo,
                    n,
                    ty,
                    write(a),
                    lda,
                    real,
                    write(w),
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

    /// A part of a spectrum, and how many eigenvalues there are in it. The call waits for the device.
    pub(in crate::libraries::solver) fn syevdx<T: SolverElement>(
        &mut self,
        (vectors, uplo, range): (bool, Uplo, Range),
        n: usize,
        (a, lda): At,
        w: u64,
        info: u64,
    ) -> Result<usize> {
        let (job, uplo, n, lda) = (u32::from(vectors), uplo.fill_mode(), n as i64, lda as i64);
        let (ty, real) = (code::<T>(), code::<T::Real>());
        // `cusolverEigRange_t`: 1001 all, 1002 by index, 1003 by value. Bounds are of the type of the values.
        let (kind, first, last, bounds) = match range {
            Range::All => (1001, 1, n, [0.0; 2]),
            Range::Indices(from, to) => (1002, from as i64 + 1, to as i64, [0.0; 2]),
            Range::Values(from, to) => (1003, 1, n, [from, to]),
        };
        let (mut wide, mut narrow) = (bounds, bounds.map(|x| x as f32));
        let single = size_of::<T::Real>() == size_of::<f32>();
        let [from, to]: [*mut c_void; 2] = match (&mut wide, &mut narrow) {
            (_, [from, to]) if single => [std::ptr::from_mut(from).cast(), std::ptr::from_mut(to).cast()],
            ([from, to], _) => [std::ptr::from_mut(from).cast(), std::ptr::from_mut(to).cast()],
        };
        // In memory that outlives the call, should the library write it late.
        let found = self.keep_host(size_of::<i64>()).cast::<i64>();
        self.sized(
            "cusolverDnXsyevdx",
            // SAFETY: see the head of `dense.rs`; the bounds are two numbers of the type that is named.
            |api, h, device, host| unsafe {
                Some(api.regular.xsyevdx_size(
                    h,
                    null(),
                    job,
                    kind,
                    uplo,
                    n,
                    ty,
                    read(a),
                    lda,
                    from,
                    to,
                    first,
                    last,
                    found,
                    real,
                    read(w),
                    ty,
                    device,
                    host,
                ))
            },
            // SAFETY: as above.
            |api, h, room| unsafe {
                Some(api.regular.xsyevdx(
                    h,
                    null(),
                    job,
                    kind,
                    uplo,
                    n,
                    ty,
                    write(a),
                    lda,
                    from,
                    to,
                    first,
                    last,
                    found,
                    real,
                    write(w),
                    ty,
                    room.device,
                    room.device_bytes,
                    room.host,
                    room.host_bytes,
                    info as *mut i32,
                ))
            },
        )?;
        // SAFETY: kept until the work is over, and the call has waited for the device.
        let found = unsafe { found.read_volatile() };
        Ok(usize::try_from(found).unwrap_or(0))
    }

    /// Of matrices without gaps.
    pub(in crate::libraries::solver) fn syev_batched<T: SolverElement>(
        &mut self,
        (vectors, uplo): (bool, Uplo),
        (n, count): (usize, usize),
        (a, lda): At,
        w: u64,
        info: u64,
    ) -> Result<()> {
        let (job, uplo, n, lda, count) = (u32::from(vectors), uplo.fill_mode(), n as i64, lda as i64, count as i64);
        let (ty, real) = (code::<T>(), code::<T::Real>());
        self.sized(
            "cusolverDnXsyevBatched",
            // SAFETY: see the head of `dense.rs`.
            |api, h, device, host| unsafe {
                api.regular.xsyev_batched_size(
                    h,
                    null(),
                    job,
                    uplo,
                    n,
                    ty,
                    read(a),
                    lda,
                    real,
                    read(w),
                    ty,
                    device,
                    host,
                    count,
                )
            },
            // SAFETY: see the head of `dense.rs`.
            |api, h, room| unsafe {
                api.regular.xsyev_batched(
                    h,
                    null(),
                    job,
                    uplo,
                    n,
                    ty,
                    write(a),
                    lda,
                    real,
                    write(w),
                    ty,
                    room.device,
                    room.device_bytes,
                    room.host,
                    room.host_bytes,
                    info as *mut i32,
                    count,
                )
            },
        )
    }

    /// Right vectors where their address is not 0.
    pub(in crate::libraries::solver) fn geev<T: SolverElement>(
        &mut self,
        n: usize,
        (a, lda): At,
        w: u64,
        vectors: u64,
        info: u64,
    ) -> Result<()> {
        let (n, lda, job) = (n as i64, lda as i64, u32::from(vectors != 0));
        let (ty, ty_w) = (code::<T>(), code::<T::Complex>());
        self.sized(
            "cusolverDnXgeev",
            // SAFETY: see the head of `dense.rs`.
            |api, h, device, host| unsafe {
                api.regular.xgeev_size(
                    h,
                    null(),
                    0,
                    job,
                    n,
                    ty,
                    read(a),
                    lda,
                    ty_w,
                    read(w),
                    ty,
                    null(),
                    n,
                    ty,
                    read(vectors),
                    n,
                    ty,
                    device,
                    host,
                )
            },
            // SAFETY: see the head of `dense.rs`.
            |api, h, room| unsafe {
                api.regular.xgeev(
                    h,
                    null(),
                    0,
                    job,
                    n,
                    ty,
                    write(a),
                    lda,
                    ty_w,
                    write(w),
                    ty,
                    std::ptr::null_mut(),
                    n,
                    ty,
                    write(vectors),
                    n,
                    ty,
                    room.device,
                    room.device_bytes,
                    room.host,
                    room.host_bytes,
                    info as *mut i32,
                )
            },
        )
    }

    pub(in crate::libraries::solver) fn sygvd<T: SolverElement>(
        &mut self,
        (vectors, uplo): (bool, Uplo),
        n: usize,
        [(a, lda), (b, ldb)]: [At; 2],
        w: u64,
        info: u64,
    ) -> Result<()> {
        let ([n, lda, ldb], job, uplo) = (i32s([n, lda, ldb]), u32::from(vectors), uplo.fill_mode());
        self.lettered::<T>(
            // SAFETY: see the head of `dense.rs`.
            |api, h, len| unsafe {
                api.typed.sygvd_size(T::LETTER, h, 1, job, uplo, n, read(a), lda, read(b), ldb, read(w), len)
            },
            // SAFETY: see the head of `dense.rs`.
            |api, h, room, len| unsafe {
                let info = info as *mut i32;
                api.typed.sygvd(T::LETTER, h, 1, job, uplo, n, write(a), lda, write(b), ldb, write(w), room, len, info)
            },
        )
    }

    /// Pivots of 32 bits.
    pub(in crate::libraries::solver) fn sytrf<T: SolverElement>(
        &mut self,
        uplo: Uplo,
        n: usize,
        (a, lda): At,
        pivots: u64,
        info: u64,
    ) -> Result<()> {
        let ([n, lda], uplo) = (i32s([n, lda]), uplo.fill_mode());
        self.lettered::<T>(
            // SAFETY: see the head of `dense.rs`.
            |api, h, len| unsafe { api.typed.sytrf_size(T::LETTER, h, n, write(a), lda, len) },
            // SAFETY: see the head of `dense.rs`.
            |api, h, room, len| unsafe {
                let (pivots, info) = (pivots as *mut i32, info as *mut i32);
                api.typed.sytrf(T::LETTER, h, uplo, n, write(a), lda, pivots, room, len, info)
            },
        )
    }

    pub(in crate::libraries::solver) fn sytrs<T: SolverElement>(
        &mut self,
        uplo: Uplo,
        (n, nrhs): (usize, usize),
        (a, lda): At,
        pivots: u64,
        (b, ldb): At,
        info: u64,
    ) -> Result<()> {
        let (uplo, n, nrhs, lda, ldb, ty) =
            (uplo.fill_mode(), n as i64, nrhs as i64, lda as i64, ldb as i64, code::<T>());
        let pivots = pivots as *const i64;
        self.sized(
            "cusolverDnXsytrs",
            // SAFETY: see the head of `dense.rs`.
            |api, h, device, host| unsafe {
                Some(api.regular.xsytrs_size(
                    h,
                    uplo,
                    n,
                    nrhs,
                    ty,
                    read(a),
                    lda,
                    pivots,
                    ty,
                    write(b),
                    ldb,
                    device,
                    host,
                ))
            },
            // SAFETY: see the head of `dense.rs`; the pivots were made safe to follow.
            |api, h, room| unsafe {
                Some(api.regular.xsytrs(
                    h,
                    uplo,
                    n,
                    nrhs,
                    ty,
                    read(a),
                    lda,
                    pivots,
                    ty,
                    write(b),
                    ldb,
                    room.device,
                    room.device_bytes,
                    room.host,
                    room.host_bytes,
                    info as *mut i32,
                ))
            },
        )
    }
}
