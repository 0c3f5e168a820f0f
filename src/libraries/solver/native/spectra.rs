//! The library's routines for eigenvalues; the head of `dense.rs` applies here too.

use super::super::SolverElement;
use super::super::eigh::Range;
use super::super::method::Jacobi;
use super::calls::{self, lettered, pointer, sized};
use super::dense::At;
use super::{code, i32s};
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::libraries::flags::Uplo;
use crate::libraries::solver::native::options;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

pub(in crate::libraries::solver) fn syevd<T: SolverElement>(
    queue: &mut Queue<'_>,
    (vectors, uplo): (bool, Uplo),
    n: usize,
    (a, lda): At,
    w: u64,
    info: u64,
) -> Result<()> {
    let (job, uplo, n, lda) = (u32::from(vectors), uplo.fill_mode(), n as i64, lda as i64);
    let (ty, real, a, w) = (code::<T>(), code::<T::Real>(), pointer(a), pointer(w));
    sized!(queue, xsyevd_size, xsyevd, "cusolverDnXsyevd", (null(), job, uplo, n, ty, a, lda, real, w, ty), info)
}

/// By Jacobi's rotations. Returns how many sweeps it took, and what is left off the diagonal. The call waits for
/// the device.
pub(in crate::libraries::solver) fn syevj<T: SolverElement>(
    queue: &mut Queue<'_>,
    (vectors, uplo, jacobi): (bool, Uplo, Jacobi),
    n: usize,
    (a, lda): At,
    w: u64,
    info: u64,
) -> Result<(u32, f64)> {
    let ([n, lda], job, uplo) = (i32s([n, lda]), u32::from(vectors), uplo.fill_mode());
    let (a, w, options) = (pointer(a), pointer(w), options::syevj_options(queue, jacobi)?);
    lettered!(queue, T, syevj_size, syevj, (job, uplo, n, a, lda, w), info, options.raw())?;
    options::reached(queue, &options)
}

/// The same for a batch of matrices without gaps. The library does not report sweeps.
pub(in crate::libraries::solver) fn syevj_batched<T: SolverElement>(
    queue: &mut Queue<'_>,
    (vectors, uplo, jacobi): (bool, Uplo, Jacobi),
    (n, count): (usize, usize),
    (a, lda): At,
    w: u64,
    info: u64,
) -> Result<()> {
    let ([n, lda, count], job, uplo) = (i32s([n, lda, count]), u32::from(vectors), uplo.fill_mode());
    let (a, w, options) = (pointer(a), pointer(w), options::syevj_options(queue, jacobi)?);
    lettered!(queue, T, syevj_batched_size, syevj_batched, (job, uplo, n, a, lda, w), info, options.raw(), count)
}

/// Computes a part of a spectrum, and returns how many eigenvalues are in it. The call waits for the device.
pub(in crate::libraries::solver) fn syevdx<T: SolverElement>(
    queue: &mut Queue<'_>,
    (vectors, uplo, range): (bool, Uplo, Range),
    n: usize,
    (a, lda): At,
    w: u64,
    info: u64,
) -> Result<usize> {
    let (job, uplo, n, lda) = (u32::from(vectors), uplo.fill_mode(), n as i64, lda as i64);
    let (ty, real, a, w) = (code::<T>(), code::<T::Real>(), pointer(a), pointer(w));
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
    // In memory that outlives the call, in case the library writes it late.
    let found = queue.keep_host(size_of::<i64>()).cast::<i64>();
    sized!(
        queue,
        xsyevdx_size,
        xsyevdx,
        "cusolverDnXsyevdx",
        (null(), job, kind, uplo, n, ty, a, lda, from, to, first, last, found, real, w, ty),
        info
    )?;
    // SAFETY: kept until the work is over, and the call has waited for the device.
    let found = unsafe { found.read_volatile() };
    Ok(usize::try_from(found).unwrap_or(0))
}

/// For a batch of matrices without gaps.
pub(in crate::libraries::solver) fn syev_batched<T: SolverElement>(
    queue: &mut Queue<'_>,
    (vectors, uplo): (bool, Uplo),
    (n, count): (usize, usize),
    (a, lda): At,
    w: u64,
    info: u64,
) -> Result<()> {
    let (job, uplo, n, lda, count) = (u32::from(vectors), uplo.fill_mode(), n as i64, lda as i64, count as i64);
    let (ty, real, a, w) = (code::<T>(), code::<T::Real>(), pointer(a), pointer(w));
    calls::call_sized_if_cleared(
        queue,
        "cusolverDnXsyevBatched",
        |api| api.reads_workspace,
        // SAFETY: see the head of `dense.rs`.
        |api, h, device, host| unsafe {
            let api = api.regular;
            api.xsyev_batched_size(h, null(), job, uplo, n, ty, a, lda, real, w, ty, device, host, count)
        },
        // SAFETY: see the head of `dense.rs`.
        |api, h, room| unsafe {
            let (info, (device, host)) = (info as *mut i32, (room.device, room.host));
            let (api, sizes) = (api.regular, [room.device_bytes, room.host_bytes]);
            let [bytes, host_bytes] = sizes;
            api.xsyev_batched(
                h,
                null(),
                job,
                uplo,
                n,
                ty,
                a,
                lda,
                real,
                w,
                ty,
                device,
                bytes,
                host,
                host_bytes,
                info,
                count,
            )
        },
    )
}

/// Computes the right vectors if their address is not 0.
///
/// Vectors of defective matrices (Jordan blocks of up to 100 rows) have norm one and belong to their values
/// (measured on an H100 with CUDA 13.0).
pub(in crate::libraries::solver) fn geev<T: SolverElement>(
    queue: &mut Queue<'_>,
    n: usize,
    (a, lda): At,
    w: u64,
    vectors: u64,
    info: u64,
) -> Result<()> {
    let (n, lda, job) = (n as i64, lda as i64, u32::from(vectors != 0));
    let (ty, ty_w, a, w, v) = (code::<T>(), code::<T::Complex>(), pointer(a), pointer(w), pointer(vectors));
    sized!(
        queue,
        xgeev_size,
        xgeev,
        "cusolverDnXgeev",
        (null(), 0, job, n, ty, a, lda, ty_w, w, ty, null_mut(), n, ty, v, n, ty),
        info
    )
}

pub(in crate::libraries::solver) fn sygvd<T: SolverElement>(
    queue: &mut Queue<'_>,
    (vectors, uplo): (bool, Uplo),
    n: usize,
    [(a, lda), (b, ldb)]: [At; 2],
    w: u64,
    info: u64,
) -> Result<()> {
    let ([n, lda, ldb], job, uplo) = (i32s([n, lda, ldb]), u32::from(vectors), uplo.fill_mode());
    let (a, b, w) = (pointer(a), pointer(b), pointer(w));
    lettered!(queue, T, sygvd_size, sygvd, (1, job, uplo, n, a, lda, b, ldb, w), info)
}
