//! The functions of cuSOLVER with one version for each type, named by its letter, and 32-bit sizes.

use super::functions::{JacobiInfo, cusolverDnHandle_t};
use crate::engines::library::typed_table;
use std::ffi::c_void;

typed_table! {
    /// The routines of `libcusolver` with one version for each type, named by its letter.
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
        /// Workspace of `syevj`, in elements.
        fn syevj_size(
            job: u32, uplo: u32, n: i32, a: *const c_void, lda: i32, w: *const c_void, work: *mut i32, options: JacobiInfo,
        ) = ["cusolverDnSsyevj_bufferSize", "cusolverDnDsyevj_bufferSize", "cusolverDnCheevj_bufferSize",
            "cusolverDnZheevj_bufferSize"];
        /// Spectra of symmetric matrices by rotations.
        fn syevj(
            job: u32, uplo: u32, n: i32, a: *mut c_void, lda: i32, w: *mut c_void, work: *mut c_void, len: i32,
            info: *mut i32, options: JacobiInfo,
        ) = ["cusolverDnSsyevj", "cusolverDnDsyevj", "cusolverDnCheevj", "cusolverDnZheevj"];
        /// Workspace of `syevj_batched`, in elements.
        fn syevj_batched_size(
            job: u32, uplo: u32, n: i32, a: *const c_void, lda: i32, w: *const c_void, work: *mut i32, options: JacobiInfo,
            count: i32,
        ) = ["cusolverDnSsyevjBatched_bufferSize", "cusolverDnDsyevjBatched_bufferSize",
            "cusolverDnCheevjBatched_bufferSize", "cusolverDnZheevjBatched_bufferSize"];
        /// The same for a batch of matrices without gaps.
        fn syevj_batched(
            job: u32, uplo: u32, n: i32, a: *mut c_void, lda: i32, w: *mut c_void, work: *mut c_void, len: i32,
            info: *mut i32, options: JacobiInfo, count: i32,
        ) = ["cusolverDnSsyevjBatched", "cusolverDnDsyevjBatched", "cusolverDnCheevjBatched", "cusolverDnZheevjBatched"];
        /// Workspace of `gesvdj`, in elements.
        fn gesvdj_size(
            job: u32, thin: i32, m: i32, n: i32, a: *const c_void, lda: i32, s: *const c_void, u: *const c_void, ldu: i32,
            v: *const c_void, ldv: i32, work: *mut i32, options: JacobiInfo,
        ) = "gesvdj_bufferSize";
        /// Singular values and vectors by rotations; V, not its adjoint.
        fn gesvdj(
            job: u32, thin: i32, m: i32, n: i32, a: *mut c_void, lda: i32, s: *mut c_void, u: *mut c_void, ldu: i32,
            v: *mut c_void, ldv: i32, work: *mut c_void, len: i32, info: *mut i32, options: JacobiInfo,
        ) = "gesvdj";
        /// Workspace of `gesvdj_batched`, in elements.
        fn gesvdj_batched_size(
            job: u32, m: i32, n: i32, a: *const c_void, lda: i32, s: *const c_void, u: *const c_void, ldu: i32,
            v: *const c_void, ldv: i32, work: *mut i32, options: JacobiInfo, count: i32,
        ) = "gesvdjBatched_bufferSize";
        /// The same for a batch of matrices of at most 32 rows and columns, without gaps; U and V are square.
        fn gesvdj_batched(
            job: u32, m: i32, n: i32, a: *mut c_void, lda: i32, s: *mut c_void, u: *mut c_void, ldu: i32,
            v: *mut c_void, ldv: i32, work: *mut c_void, len: i32, info: *mut i32, options: JacobiInfo, count: i32,
        ) = "gesvdjBatched";
        /// Workspace of `gesv_single`, in bytes.
        fn gesv_single_size(
            n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: *mut usize,
        ) = [_, "cusolverDnDSgesv_bufferSize", _, "cusolverDnZCgesv_bufferSize"];
        /// Solutions by factors in single precision, refined.
        fn gesv_single(
            n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: usize, rounds: *mut i32, info: *mut i32,
        ) = [_, "cusolverDnDSgesv", _, "cusolverDnZCgesv"];
        /// Workspace of `gels_single`, in bytes.
        fn gels_single_size(
            m: i32, n: i32, nrhs: i32, a: *mut c_void, lda: i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: *mut usize,
        ) = [_, "cusolverDnDSgels_bufferSize", _, "cusolverDnZCgels_bufferSize"];
        /// Least squares by factors in single precision, refined.
        fn gels_single(
            m: i32, n: i32, nrhs: i32, a: *mut c_void, lda: i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: usize, rounds: *mut i32, info: *mut i32,
        ) = [_, "cusolverDnDSgels", _, "cusolverDnZCgels"];
        /// Workspace of `gesv_half`, in bytes.
        fn gesv_half_size(
            n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: *mut usize,
        ) = [_, "cusolverDnDHgesv_bufferSize", _, "cusolverDnZKgesv_bufferSize"];
        /// Solutions by factors in half precision, refined.
        fn gesv_half(
            n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: usize, rounds: *mut i32, info: *mut i32,
        ) = [_, "cusolverDnDHgesv", _, "cusolverDnZKgesv"];
        /// Workspace of `gels_half`, in bytes.
        fn gels_half_size(
            m: i32, n: i32, nrhs: i32, a: *mut c_void, lda: i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: *mut usize,
        ) = [_, "cusolverDnDHgels_bufferSize", _, "cusolverDnZKgels_bufferSize"];
        /// Least squares by factors in half precision, refined.
        fn gels_half(
            m: i32, n: i32, nrhs: i32, a: *mut c_void, lda: i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: usize, rounds: *mut i32, info: *mut i32,
        ) = [_, "cusolverDnDHgels", _, "cusolverDnZKgels"];
        /// Workspace of `gesv_brain`, in bytes.
        fn gesv_brain_size(
            n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: *mut usize,
        ) = [_, "cusolverDnDBgesv_bufferSize", _, "cusolverDnZEgesv_bufferSize"];
        /// Solutions by factors in bfloat16, refined.
        fn gesv_brain(
            n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: usize, rounds: *mut i32, info: *mut i32,
        ) = [_, "cusolverDnDBgesv", _, "cusolverDnZEgesv"];
        /// Workspace of `gels_brain`, in bytes.
        fn gels_brain_size(
            m: i32, n: i32, nrhs: i32, a: *mut c_void, lda: i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: *mut usize,
        ) = [_, "cusolverDnDBgels_bufferSize", _, "cusolverDnZEgels_bufferSize"];
        /// Least squares by factors in bfloat16, refined.
        fn gels_brain(
            m: i32, n: i32, nrhs: i32, a: *mut c_void, lda: i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: usize, rounds: *mut i32, info: *mut i32,
        ) = [_, "cusolverDnDBgels", _, "cusolverDnZEgels"];
        /// Workspace of `gesv_tensor`, in bytes.
        fn gesv_tensor_size(
            n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: *mut usize,
        ) = [_, "cusolverDnDXgesv_bufferSize", _, "cusolverDnZYgesv_bufferSize"];
        /// Solutions by factors in TF32, refined.
        fn gesv_tensor(
            n: i32, nrhs: i32, a: *mut c_void, lda: i32, pivots: *mut i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: usize, rounds: *mut i32, info: *mut i32,
        ) = [_, "cusolverDnDXgesv", _, "cusolverDnZYgesv"];
        /// Workspace of `gels_tensor`, in bytes.
        fn gels_tensor_size(
            m: i32, n: i32, nrhs: i32, a: *mut c_void, lda: i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: *mut usize,
        ) = [_, "cusolverDnDXgels_bufferSize", _, "cusolverDnZYgels_bufferSize"];
        /// Least squares by factors in TF32, refined.
        fn gels_tensor(
            m: i32, n: i32, nrhs: i32, a: *mut c_void, lda: i32, b: *mut c_void, ldb: i32, x: *mut c_void, ldx: i32,
            work: *mut c_void, bytes: usize, rounds: *mut i32, info: *mut i32,
        ) = [_, "cusolverDnDXgels", _, "cusolverDnZYgels"];
    }
}
