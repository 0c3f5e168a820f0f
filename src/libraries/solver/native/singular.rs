//! The library's routines for singular values; the head of `dense.rs` applies here too. Only gesvd gives `V^H`: the
//! others give V.

use super::super::SolverElement;
use super::super::method::{Jacobi, Randomized};
use super::calls::{lettered, pointer, sized};
use super::dense::At;
use super::{code, i32s};
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::libraries::solver::native::calls;
use crate::libraries::solver::native::options;
use std::ptr::null;

/// The largest matrix of a batch that gesvdj takes in one call.
const BATCHED: usize = 32;

/// For an A with at least as many rows as columns; the addresses of U and `V^H` are 0 if only values are wanted.
pub(in crate::libraries::solver) fn gesvd<T: SolverElement>(
    queue: &mut Queue<'_>,
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
    let (ty, real, a, s, u, vh) = (code::<T>(), code::<T::Real>(), pointer(a), pointer(s), pointer(u), pointer(vh));
    sized!(
        queue,
        xgesvd_size,
        xgesvd,
        "cusolverDnXgesvd",
        (null(), job, job, m, n, ty, a, lda, real, s, ty, u, ldu, ty, vh, ldvh, ty),
        info
    )
}

/// By Jacobi's rotations. The vectors are orthonormal also for matrices of ones, zeros, low rank and columns of very
/// different sizes (measured on an H100 with CUDA 13.0, single and batched), so nothing is done about them here.
/// Returns how many sweeps it took, and what is left off the diagonal. U and V are written to even if only values are wanted. The call waits for the device.
pub(in crate::libraries::solver) fn gesvdj<T: SolverElement>(
    queue: &mut Queue<'_>,
    (vectors, full, jacobi): (bool, bool, Jacobi),
    (m, n): (usize, usize),
    (a, lda): At,
    s: u64,
    [(u, ldu), (v, ldv)]: [At; 2],
    info: u64,
) -> Result<(u32, f64)> {
    let ([m, n, lda, ldu, ldv], job, thin) = (i32s([m, n, lda, ldu, ldv]), u32::from(vectors), i32::from(!full));
    let (a, s, u, v, options) =
        (pointer(a), pointer(s), pointer(u), pointer(v), options::gesvdj_options(queue, jacobi)?);
    lettered!(queue, T, gesvdj_size, gesvdj, (job, thin, m, n, a, lda, s, u, ldu, v, ldv), info, options.raw())?;
    options::reached(queue, &options)
}

/// Whether [`gesvdj_batched`](gesvdj_batched) takes `count` matrices of this size in one call.
pub(in crate::libraries::solver) fn fits_gesvdj_batched(m: usize, n: usize, count: usize) -> bool {
    count > 1 && m <= BATCHED && n <= BATCHED
}

/// The same for small matrices without gaps, of which U and V are square. The library does not report sweeps.
pub(in crate::libraries::solver) fn gesvdj_batched<T: SolverElement>(
    queue: &mut Queue<'_>,
    (vectors, jacobi): (bool, Jacobi),
    (m, n, count): (usize, usize, usize),
    a: u64,
    s: u64,
    [u, v]: [u64; 2],
    info: u64,
) -> Result<()> {
    let ([m, n, count], job) = (i32s([m, n, count]), u32::from(vectors));
    let (a, s, u, v, options) =
        (pointer(a), pointer(s), pointer(u), pointer(v), options::gesvdj_options(queue, jacobi)?);
    lettered!(
        queue,
        T,
        gesvdj_batched_size,
        gesvdj_batched,
        (job, m, n, a, m, s, u, m, v, n),
        info,
        options.raw(),
        count
    )
}

/// By the polar decomposition, in double precision. Returns the perturbation of the singular values. U and V are
/// written to even if only values are wanted. The call waits for the device.
pub(in crate::libraries::solver) fn gesvdp(
    queue: &mut Queue<'_>,
    (complex, vectors, full): (bool, bool, bool),
    (m, n): (usize, usize),
    (a, lda): At,
    s: u64,
    [(u, ldu), (v, ldv)]: [At; 2],
    info: u64,
) -> Result<f64> {
    let (m, n, lda, ldu, ldv) = (m as i64, n as i64, lda as i64, ldu as i64, ldv as i64);
    let ty = if complex { code::<num_complex::Complex<f64>>() } else { code::<f64>() };
    let (real, a, s, u, v) = (code::<f64>(), pointer(a), pointer(s), pointer(u), pointer(v));
    let (job, thin) = (u32::from(vectors), i32::from(!full));
    // In memory that outlives the call, in case the library writes it late.
    let moved = queue.keep_host(size_of::<f64>()).cast::<f64>();
    calls::call_sized(
        queue,
        "cusolverDnXgesvdp",
        // SAFETY: see the head of `dense.rs`.
        |api, h, device, host| unsafe {
            api.regular.xgesvdp_size(
                h,
                null(),
                job,
                thin,
                m,
                n,
                ty,
                a,
                lda,
                real,
                s,
                ty,
                u,
                ldu,
                ty,
                v,
                ldv,
                ty,
                device,
                host,
            )
        },
        // SAFETY: see the head of `dense.rs`; `moved` is kept until the work is over.
        |api, h, room| unsafe {
            let (device, host) = ((room.device, room.device_bytes), (room.host, room.host_bytes));
            let info = info as *mut i32;
            api.regular.xgesvdp(
                h,
                null(),
                job,
                thin,
                m,
                n,
                ty,
                a,
                lda,
                real,
                s,
                ty,
                u,
                ldu,
                ty,
                v,
                ldv,
                ty,
                device.0,
                device.1,
                host.0,
                host.1,
                info,
                moved,
            )
        },
    )?;
    // SAFETY: kept until the work is over, and the call has waited for the device.
    Ok(unsafe { moved.read_volatile() })
}

/// The largest `rank` values by random projections. The caller gives memory for all values and for as many columns
/// of U and V, since the documentation does not say how much the library writes.
pub(in crate::libraries::solver) fn gesvdr<T: SolverElement>(
    queue: &mut Queue<'_>,
    (vectors, how): (bool, Randomized),
    (m, n): (usize, usize),
    (a, lda): At,
    s: u64,
    [(u, ldu), (v, ldv)]: [At; 2],
    info: u64,
) -> Result<()> {
    let (m, n, lda, ldu, ldv) = (m as i64, n as i64, lda as i64, ldu as i64, ldv as i64);
    let (ty, real, a, s, u, v) = (code::<T>(), code::<T::Real>(), pointer(a), pointer(s), pointer(u), pointer(v));
    let (k, p, rounds) = (how.rank as i64, how.oversampling as i64, how.iterations as i64);
    let job = if vectors { b'S' as i8 } else { b'N' as i8 };
    // Only this routine refuses null for the default algorithms.
    let options = options::algorithms(queue)?;
    let given = options.raw();
    sized!(
        queue,
        xgesvdr_size,
        xgesvdr,
        "cusolverDnXgesvdr",
        (given, job, job, m, n, k, p, rounds, ty, a, lda, real, s, ty, u, ldu, ty, v, ldv, ty),
        info
    )
}
