//! The functions of cuSOLVER: the 64-bit forms, which take the type as an argument, and the older ones by letter.

use crate::library::{function_table, typed_table};
use std::ffi::c_void;

/// What a handle points at.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CusolverDnContext {
    _opaque: [u8; 0],
}

/// A handle.
#[expect(non_camel_case_types, reason = "the name in the header")]
pub(crate) type cusolverDnHandle_t = *mut CusolverDnContext;

/// `cusolverDnParams_t`: always null, the default algorithms.
type Params = *const c_void;

function_table! {
    /// The functions of `libcusolver` that every release from CUDA 12 on has.
    CusolverFunctions = Cusolver
    required {
        /// Makes a handle.
        fn create(handle: *mut cusolverDnHandle_t) = c"cusolverDnCreate";
        /// Destroys one.
        fn destroy(handle: cusolverDnHandle_t) = c"cusolverDnDestroy";
        /// Binds one to a stream.
        fn set_stream(handle: cusolverDnHandle_t, stream: cudarc::driver::sys::CUstream) = c"cusolverDnSetStream";
        /// Workspace of `xgetrf`.
        fn xgetrf_size(
            handle: cusolverDnHandle_t, params: Params, m: i64, n: i64, ty: u32, a: *const c_void, lda: i64,
            compute: u32, device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXgetrf_bufferSize";
        /// LU factors.
        fn xgetrf(
            handle: cusolverDnHandle_t, params: Params, m: i64, n: i64, ty: u32, a: *mut c_void, lda: i64,
            pivots: *mut i64, compute: u32, device: *mut c_void, device_bytes: usize, host: *mut c_void,
            host_bytes: usize, info: *mut i32,
        ) = c"cusolverDnXgetrf";
        /// Solutions from LU factors.
        fn xgetrs(
            handle: cusolverDnHandle_t, params: Params, trans: u32, n: i64, nrhs: i64, ty: u32, a: *const c_void,
            lda: i64, pivots: *const i64, ty_b: u32, b: *mut c_void, ldb: i64, info: *mut i32,
        ) = c"cusolverDnXgetrs";
        /// Workspace of `xpotrf`.
        fn xpotrf_size(
            handle: cusolverDnHandle_t, params: Params, uplo: u32, n: i64, ty: u32, a: *const c_void, lda: i64,
            compute: u32, device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXpotrf_bufferSize";
        /// Cholesky factors.
        fn xpotrf(
            handle: cusolverDnHandle_t, params: Params, uplo: u32, n: i64, ty: u32, a: *mut c_void, lda: i64,
            compute: u32, device: *mut c_void, device_bytes: usize, host: *mut c_void, host_bytes: usize,
            info: *mut i32,
        ) = c"cusolverDnXpotrf";
        /// Solutions from Cholesky factors.
        fn xpotrs(
            handle: cusolverDnHandle_t, params: Params, uplo: u32, n: i64, nrhs: i64, ty: u32, a: *const c_void,
            lda: i64, ty_b: u32, b: *mut c_void, ldb: i64, info: *mut i32,
        ) = c"cusolverDnXpotrs";
        /// Workspace of `xgeqrf`.
        fn xgeqrf_size(
            handle: cusolverDnHandle_t, params: Params, m: i64, n: i64, ty: u32, a: *const c_void, lda: i64,
            ty_tau: u32, tau: *const c_void, compute: u32, device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXgeqrf_bufferSize";
        /// QR factors.
        fn xgeqrf(
            handle: cusolverDnHandle_t, params: Params, m: i64, n: i64, ty: u32, a: *mut c_void, lda: i64,
            ty_tau: u32, tau: *mut c_void, compute: u32, device: *mut c_void, device_bytes: usize, host: *mut c_void,
            host_bytes: usize, info: *mut i32,
        ) = c"cusolverDnXgeqrf";
        /// Workspace of `xtrtri`.
        fn xtrtri_size(
            handle: cusolverDnHandle_t, uplo: u32, diag: u32, n: i64, ty: u32, a: *mut c_void, lda: i64,
            device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXtrtri_bufferSize";
        /// Inverses of triangles.
        fn xtrtri(
            handle: cusolverDnHandle_t, uplo: u32, diag: u32, n: i64, ty: u32, a: *mut c_void, lda: i64,
            device: *mut c_void, device_bytes: usize, host: *mut c_void, host_bytes: usize, info: *mut i32,
        ) = c"cusolverDnXtrtri";
        /// Workspace of `xsytrs`.
        fn xsytrs_size(
            handle: cusolverDnHandle_t, uplo: u32, n: i64, nrhs: i64, ty: u32, a: *const c_void, lda: i64,
            pivots: *const i64, ty_b: u32, b: *mut c_void, ldb: i64, device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXsytrs_bufferSize";
        /// Solutions from symmetric factors.
        fn xsytrs(
            handle: cusolverDnHandle_t, uplo: u32, n: i64, nrhs: i64, ty: u32, a: *const c_void, lda: i64,
            pivots: *const i64, ty_b: u32, b: *mut c_void, ldb: i64, device: *mut c_void, device_bytes: usize,
            host: *mut c_void, host_bytes: usize, info: *mut i32,
        ) = c"cusolverDnXsytrs";
        /// Workspace of `xsyevd`.
        fn xsyevd_size(
            handle: cusolverDnHandle_t, params: Params, job: u32, uplo: u32, n: i64, ty: u32, a: *const c_void,
            lda: i64, ty_w: u32, w: *const c_void, compute: u32, device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXsyevd_bufferSize";
        /// Spectra of symmetric matrices.
        fn xsyevd(
            handle: cusolverDnHandle_t, params: Params, job: u32, uplo: u32, n: i64, ty: u32, a: *mut c_void,
            lda: i64, ty_w: u32, w: *mut c_void, compute: u32, device: *mut c_void, device_bytes: usize,
            host: *mut c_void, host_bytes: usize, info: *mut i32,
        ) = c"cusolverDnXsyevd";
        /// Workspace of `xsyevdx`.
        fn xsyevdx_size(
            handle: cusolverDnHandle_t, params: Params, job: u32, range: u32, uplo: u32, n: i64, ty: u32,
            a: *const c_void, lda: i64, from: *mut c_void, to: *mut c_void, first: i64, last: i64, found: *mut i64,
            ty_w: u32, w: *const c_void, compute: u32, device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXsyevdx_bufferSize";
        /// Parts of spectra of symmetric matrices.
        fn xsyevdx(
            handle: cusolverDnHandle_t, params: Params, job: u32, range: u32, uplo: u32, n: i64, ty: u32,
            a: *mut c_void, lda: i64, from: *mut c_void, to: *mut c_void, first: i64, last: i64, found: *mut i64,
            ty_w: u32, w: *mut c_void, compute: u32, device: *mut c_void, device_bytes: usize, host: *mut c_void,
            host_bytes: usize, info: *mut i32,
        ) = c"cusolverDnXsyevdx";
        /// Workspace of `xgesvd`.
        fn xgesvd_size(
            handle: cusolverDnHandle_t, params: Params, job_u: i8, job_vh: i8, m: i64, n: i64, ty: u32,
            a: *const c_void, lda: i64, ty_s: u32, s: *const c_void, ty_u: u32, u: *const c_void, ldu: i64,
            ty_vh: u32, vh: *const c_void, ldvh: i64, compute: u32, device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXgesvd_bufferSize";
        /// Singular values and vectors of matrices with at least as many rows as columns.
        fn xgesvd(
            handle: cusolverDnHandle_t, params: Params, job_u: i8, job_vh: i8, m: i64, n: i64, ty: u32,
            a: *mut c_void, lda: i64, ty_s: u32, s: *mut c_void, ty_u: u32, u: *mut c_void, ldu: i64, ty_vh: u32,
            vh: *mut c_void, ldvh: i64, compute: u32, device: *mut c_void, device_bytes: usize, host: *mut c_void,
            host_bytes: usize, info: *mut i32,
        ) = c"cusolverDnXgesvd";
    }
    optional {
        /// Workspace of `dsgesv`, in bytes.
        fn dsgesv_size(
            handle: cusolverDnHandle_t, n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void,
            ldb: i32, x: *mut c_void, ldx: i32, work: *mut c_void, bytes: *mut usize,
        ) = c"cusolverDnDSgesv_bufferSize";
        /// Solutions by factors of half the precision.
        fn dsgesv(
            handle: cusolverDnHandle_t, n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void,
            ldb: i32, x: *mut c_void, ldx: i32, work: *mut c_void, bytes: usize, rounds: *mut i32, info: *mut i32,
        ) = c"cusolverDnDSgesv";
        /// Workspace of `zcgesv`, in bytes.
        fn zcgesv_size(
            handle: cusolverDnHandle_t, n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void,
            ldb: i32, x: *mut c_void, ldx: i32, work: *mut c_void, bytes: *mut usize,
        ) = c"cusolverDnZCgesv_bufferSize";
        /// Solutions by factors of half the precision.
        fn zcgesv(
            handle: cusolverDnHandle_t, n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void,
            ldb: i32, x: *mut c_void, ldx: i32, work: *mut c_void, bytes: usize, rounds: *mut i32, info: *mut i32,
        ) = c"cusolverDnZCgesv";
        /// Workspace of `xsyev_batched`.
        fn xsyev_batched_size(
            handle: cusolverDnHandle_t, params: Params, job: u32, uplo: u32, n: i64, ty: u32, a: *const c_void,
            lda: i64, ty_w: u32, w: *const c_void, compute: u32, device: *mut usize, host: *mut usize, batch: i64,
        ) = c"cusolverDnXsyevBatched_bufferSize";
        /// Spectra of symmetric matrices without gaps; from CUDA 12.6 on.
        fn xsyev_batched(
            handle: cusolverDnHandle_t, params: Params, job: u32, uplo: u32, n: i64, ty: u32, a: *mut c_void,
            lda: i64, ty_w: u32, w: *mut c_void, compute: u32, device: *mut c_void, device_bytes: usize,
            host: *mut c_void, host_bytes: usize, info: *mut i32, batch: i64,
        ) = c"cusolverDnXsyevBatched";
        /// Workspace of `xgeev`.
        fn xgeev_size(
            handle: cusolverDnHandle_t, params: Params, job_l: u32, job_r: u32, n: i64, ty: u32, a: *const c_void,
            lda: i64, ty_w: u32, w: *const c_void, ty_l: u32, l: *const c_void, ldl: i64, ty_r: u32, r: *const c_void,
            ldr: i64, compute: u32, device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXgeev_bufferSize";
        /// Spectra of matrices without symmetry; from CUDA 12.6 on.
        fn xgeev(
            handle: cusolverDnHandle_t, params: Params, job_l: u32, job_r: u32, n: i64, ty: u32, a: *mut c_void,
            lda: i64, ty_w: u32, w: *mut c_void, ty_l: u32, l: *mut c_void, ldl: i64, ty_r: u32, r: *mut c_void,
            ldr: i64, compute: u32, device: *mut c_void, device_bytes: usize, host: *mut c_void, host_bytes: usize,
            info: *mut i32,
        ) = c"cusolverDnXgeev";
    }
}

typed_table! {
    /// The routines of `libcusolver` that come by the letter of their type.
    CusolverTyped = Cusolver, "cusolverDn", cusolverDnHandle_t
    {
        /// Workspace of `potri`, in elements.
        fn potri_size(uplo: u32, n: i32, a: *mut c_void, lda: i32, work: *mut i32) = "potri_bufferSize";
        /// Inverses from Cholesky factors.
        fn potri(
            uplo: u32, n: i32, a: *mut c_void, lda: i32, work: *mut c_void, len: i32, info: *mut i32,
        ) = "potri";
        /// Cholesky factors of small matrices whose addresses are in a table. The other triangle is destroyed.
        fn potrf_batched(uplo: u32, n: i32, a: *const c_void, lda: i32, info: *mut i32, batch: i32) = "potrfBatched";
        /// Workspace of `ormqr`, in elements.
        fn ormqr_size(
            side: u32, trans: u32, m: i32, n: i32, k: i32, a: *const c_void, lda: i32, tau: *const c_void,
            c: *const c_void, ldc: i32, work: *mut i32,
        ) = ["cusolverDnSormqr_bufferSize", "cusolverDnDormqr_bufferSize", "cusolverDnCunmqr_bufferSize",
            "cusolverDnZunmqr_bufferSize"];
        /// Applies Q.
        fn ormqr(
            side: u32, trans: u32, m: i32, n: i32, k: i32, a: *const c_void, lda: i32, tau: *const c_void,
            c: *mut c_void, ldc: i32, work: *mut c_void, len: i32, info: *mut i32,
        ) = ["cusolverDnSormqr", "cusolverDnDormqr", "cusolverDnCunmqr", "cusolverDnZunmqr"];
        /// Workspace of `orgqr`, in elements.
        fn orgqr_size(
            m: i32, n: i32, k: i32, a: *const c_void, lda: i32, tau: *const c_void, work: *mut i32,
        ) = ["cusolverDnSorgqr_bufferSize", "cusolverDnDorgqr_bufferSize", "cusolverDnCungqr_bufferSize",
            "cusolverDnZungqr_bufferSize"];
        /// The first columns of Q.
        fn orgqr(
            m: i32, n: i32, k: i32, a: *mut c_void, lda: i32, tau: *const c_void, work: *mut c_void, len: i32,
            info: *mut i32,
        ) = ["cusolverDnSorgqr", "cusolverDnDorgqr", "cusolverDnCungqr", "cusolverDnZungqr"];
        /// Workspace of `sytrf`, in elements.
        fn sytrf_size(n: i32, a: *mut c_void, lda: i32, work: *mut i32) = "sytrf_bufferSize";
        /// Factors of symmetric matrices; the complex ones are symmetric, not Hermitian.
        fn sytrf(
            uplo: u32, n: i32, a: *mut c_void, lda: i32, pivots: *mut i32, work: *mut c_void, len: i32,
            info: *mut i32,
        ) = "sytrf";
        /// Workspace of `sygvd`, in elements.
        fn sygvd_size(
            kind: u32, job: u32, uplo: u32, n: i32, a: *const c_void, lda: i32, b: *const c_void, ldb: i32,
            w: *const c_void, work: *mut i32,
        ) = ["cusolverDnSsygvd_bufferSize", "cusolverDnDsygvd_bufferSize", "cusolverDnChegvd_bufferSize",
            "cusolverDnZhegvd_bufferSize"];
        /// Generalized spectra.
        fn sygvd(
            kind: u32, job: u32, uplo: u32, n: i32, a: *mut c_void, lda: i32, b: *mut c_void, ldb: i32,
            w: *mut c_void, work: *mut c_void, len: i32, info: *mut i32,
        ) = ["cusolverDnSsygvd", "cusolverDnDsygvd", "cusolverDnChegvd", "cusolverDnZhegvd"];
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// The machine's own cuSOLVER, where there is one, has every function that the solver calls; where a GPU is under test there
    /// must be one.
    #[test]
    fn every_name_is_one_of_the_library() {
        let names = CusolverTyped::NAMES.iter().flat_map(|(_, names)| names).map(|name| name.trim_end_matches('\0'));
        let required = CusolverFunctions::REQUIRED.iter().flat_map(|names| names.iter()).map(|n| n.to_str().unwrap());
        let names: Vec<&str> = names.chain(required).collect();
        assert!(names.iter().all(|name| name.starts_with("cusolverDn")), "{names:?}");
        let library = match CusolverFunctions::load() {
            Ok(table) => table.library(),
            Err(error) => {
                let device = std::env::var_os("WINDLASS_TEST_DEVICE");
                let gpu = device.as_ref().is_some_and(|name| name.to_string_lossy().starts_with("cuda"));
                assert!(!gpu, "{device:?} is under test, and there is no cuSOLVER: {error}");
                let _ = writeln!(
                    std::io::stderr(),
                    "\n== SKIPPED: {} names of cuSOLVER were not looked up, for there is none ({error}); \
                     WINDLASS_CUDA_PATH=FOLDER names one, no GPU is needed",
                    names.len()
                );
                return;
            }
        };
        // SAFETY: the addresses are not called.
        let there = |name: &str| unsafe {
            library.symbol::<unsafe extern "C" fn() -> i32>(&std::ffi::CString::new(name).unwrap()).is_some()
        };
        let missing: Vec<_> = names.into_iter().filter(|name| !there(name)).collect();
        assert!(missing.is_empty(), "{missing:?} are not in {library:?}");
    }
}
