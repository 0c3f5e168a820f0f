//! The functions of cuSOLVER in the 64-bit form, which take the type as an argument.

use crate::engines::library::function_table;
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

/// `cusolverDnParams_t`: null for the default algorithms, except for routines that need an object.
type Params = *const c_void;

/// `gesvdjInfo_t` and `syevjInfo_t`.
pub(super) type JacobiInfo = *mut c_void;

function_table! {
    /// The functions of `libcusolver` that every release from CUDA 12 on has.
    CusolverFunctions = Cusolver
    required {
        /// Makes a handle.
        fn create(handle: *mut cusolverDnHandle_t) = c"cusolverDnCreate";
        /// Destroys a handle.
        fn destroy(handle: cusolverDnHandle_t) = c"cusolverDnDestroy";
        /// Binds a handle to a stream.
        fn set_stream(handle: cusolverDnHandle_t, stream: cudarc::driver::sys::CUstream) = c"cusolverDnSetStream";
        /// Makes an object with the default choice of algorithms.
        fn create_params(params: *mut *mut c_void) = c"cusolverDnCreateParams";
        /// Destroys such an object.
        fn destroy_params(params: *mut c_void) = c"cusolverDnDestroyParams";
        /// Makes an object of options of `gesvdj`.
        fn create_gesvdj(info: *mut JacobiInfo) = c"cusolverDnCreateGesvdjInfo";
        /// Destroys such an object.
        fn destroy_gesvdj(info: JacobiInfo) = c"cusolverDnDestroyGesvdjInfo";
        /// What counts as zero.
        fn gesvdj_tolerance(info: JacobiInfo, tolerance: f64) = c"cusolverDnXgesvdjSetTolerance";
        /// The most sweeps.
        fn gesvdj_sweeps(info: JacobiInfo, sweeps: i32) = c"cusolverDnXgesvdjSetMaxSweeps";
        /// The norm of what is left off the diagonal; waits.
        fn gesvdj_rest(handle: cusolverDnHandle_t, info: JacobiInfo, rest: *mut f64) = c"cusolverDnXgesvdjGetResidual";
        /// How many sweeps were made; waits.
        fn gesvdj_reached(handle: cusolverDnHandle_t, info: JacobiInfo, sweeps: *mut i32) = c"cusolverDnXgesvdjGetSweeps";
        /// Makes an object of options of `syevj`.
        fn create_syevj(info: *mut JacobiInfo) = c"cusolverDnCreateSyevjInfo";
        /// Destroys such an object.
        fn destroy_syevj(info: JacobiInfo) = c"cusolverDnDestroySyevjInfo";
        /// What counts as zero.
        fn syevj_tolerance(info: JacobiInfo, tolerance: f64) = c"cusolverDnXsyevjSetTolerance";
        /// The most sweeps.
        fn syevj_sweeps(info: JacobiInfo, sweeps: i32) = c"cusolverDnXsyevjSetMaxSweeps";
        /// The norm of what is left off the diagonal; waits.
        fn syevj_rest(handle: cusolverDnHandle_t, info: JacobiInfo, rest: *mut f64) = c"cusolverDnXsyevjGetResidual";
        /// How many sweeps were made; waits.
        fn syevj_reached(handle: cusolverDnHandle_t, info: JacobiInfo, sweeps: *mut i32) = c"cusolverDnXsyevjGetSweeps";
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
        /// Workspace of `xgesvdp`.
        fn xgesvdp_size(
            handle: cusolverDnHandle_t, params: Params, job: u32, thin: i32, m: i64, n: i64, ty: u32, a: *const c_void,
            lda: i64, ty_s: u32, s: *const c_void, ty_u: u32, u: *const c_void, ldu: i64, ty_v: u32, v: *const c_void,
            ldv: i64, compute: u32, device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXgesvdp_bufferSize";
        /// Singular values and vectors by the polar decomposition; V, not its adjoint.
        fn xgesvdp(
            handle: cusolverDnHandle_t, params: Params, job: u32, thin: i32, m: i64, n: i64, ty: u32, a: *mut c_void,
            lda: i64, ty_s: u32, s: *mut c_void, ty_u: u32, u: *mut c_void, ldu: i64, ty_v: u32, v: *mut c_void,
            ldv: i64, compute: u32, device: *mut c_void, device_bytes: usize, host: *mut c_void, host_bytes: usize,
            info: *mut i32, moved: *mut f64,
        ) = c"cusolverDnXgesvdp";
        /// Workspace of `xgesvdr`.
        fn xgesvdr_size(
            handle: cusolverDnHandle_t, params: Params, job_u: i8, job_v: i8, m: i64, n: i64, k: i64, p: i64, rounds: i64,
            ty: u32, a: *const c_void, lda: i64, ty_s: u32, s: *const c_void, ty_u: u32, u: *const c_void, ldu: i64,
            ty_v: u32, v: *const c_void, ldv: i64, compute: u32, device: *mut usize, host: *mut usize,
        ) = c"cusolverDnXgesvdr_bufferSize";
        /// The largest singular values by random projections; V, not its adjoint.
        fn xgesvdr(
            handle: cusolverDnHandle_t, params: Params, job_u: i8, job_v: i8, m: i64, n: i64, k: i64, p: i64, rounds: i64,
            ty: u32, a: *mut c_void, lda: i64, ty_s: u32, s: *mut c_void, ty_u: u32, u: *mut c_void, ldu: i64, ty_v: u32,
            v: *mut c_void, ldv: i64, compute: u32, device: *mut c_void, device_bytes: usize, host: *mut c_void,
            host_bytes: usize, info: *mut i32,
        ) = c"cusolverDnXgesvdr";
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

#[cfg(test)]
mod tests {
    use super::super::CusolverTyped;
    use super::CusolverFunctions;

    #[test]
    fn every_name_is_one_of_the_library() {
        let typed = CusolverTyped::NAMES.iter().flat_map(|(_, names)| names);
        let required = CusolverFunctions::REQUIRED.iter().flat_map(|names| names.iter());
        let names = typed.copied().chain(required.filter_map(|name| name.to_str().ok()));
        crate::engines::library::assert_names(
            "cusolverDn",
            names,
            CusolverFunctions::load().map(CusolverFunctions::library),
        );
    }
}
