//! The routines of cuBLAS whose names contain the letter of their type: `cublasSgemv`, `cublasDgemv`, ...
//!
//! These are the 64-bit forms, which exist from CUDA 12 on. To add a routine, add its line, with the arguments that
//! follow the handle in the header: sizes, increments and batches are `i64` (`i32` if there is no 64-bit form), enums
//! `u32`, pointers untyped. An array of addresses is `*const c_void` even if the routine writes to these addresses.

use std::ffi::c_void;

use cudarc::cublas::sys::cublasHandle_t;

use crate::engines::library::typed_table;

typed_table! {
    /// The typed routines of `libcublas`.
    CublasTyped = Cublas, "cublas", cublasHandle_t
    {
        // Level 1.
        /// `y = x`.
        fn copy(n: i64, x: *const c_void, incx: i64, y: *mut c_void, incy: i64) = "copy_v2_64";
        /// Exchanges x and y.
        fn swap(n: i64, x: *mut c_void, incx: i64, y: *mut c_void, incy: i64) = "swap_v2_64";
        /// `x = alpha x` for a real `alpha`.
        fn scal_real(
            n: i64, alpha: *const c_void, x: *mut c_void, incx: i64,
        ) = ["cublasSscal_v2_64", "cublasDscal_v2_64", "cublasCsscal_v2_64", "cublasZdscal_v2_64"];
        /// The sum of `|re| + |im|`.
        fn asum(
            n: i64, x: *const c_void, incx: i64, result: *mut c_void,
        ) = ["cublasSasum_v2_64", "cublasDasum_v2_64", "cublasScasum_v2_64", "cublasDzasum_v2_64"];
        /// The index, from 1, of the first largest `|re| + |im|`; an `int64_t`.
        fn iamax(
            n: i64, x: *const c_void, incx: i64, result: *mut c_void,
        ) = ["cublasIsamax_v2_64", "cublasIdamax_v2_64", "cublasIcamax_v2_64", "cublasIzamax_v2_64"];
        /// The index, from 1, of the first smallest `|re| + |im|`; an `int64_t`.
        fn iamin(
            n: i64, x: *const c_void, incx: i64, result: *mut c_void,
        ) = ["cublasIsamin_v2_64", "cublasIdamin_v2_64", "cublasIcamin_v2_64", "cublasIzamin_v2_64"];
        /// Rotates the points `(x, y)`; c is real, s of the element type.
        fn rot(
            n: i64, x: *mut c_void, incx: i64, y: *mut c_void, incy: i64, c: *const c_void, s: *const c_void,
        ) = "rot_v2_64";
        /// The same with a real s.
        fn rot_real(
            n: i64, x: *mut c_void, incx: i64, y: *mut c_void, incy: i64, c: *const c_void, s: *const c_void,
        ) = ["cublasSrot_v2_64", "cublasDrot_v2_64", "cublasCsrot_v2_64", "cublasZdrot_v2_64"];
        /// Makes a rotation; no sizes, so no 64-bit form.
        fn rotg(a: *mut c_void, b: *mut c_void, c: *mut c_void, s: *mut c_void) = "rotg_v2";
        /// Rotates by a modified rotation of five numbers.
        fn rotm(
            n: i64, x: *mut c_void, incx: i64, y: *mut c_void, incy: i64, param: *const c_void,
        ) = ["cublasSrotm_v2_64", "cublasDrotm_v2_64", _, _];
        /// Makes a modified rotation.
        fn rotmg(
            d1: *mut c_void, d2: *mut c_void, x1: *mut c_void, y1: *const c_void, param: *mut c_void,
        ) = ["cublasSrotmg_v2", "cublasDrotmg_v2", _, _];

        // Level 2.
        /// `y = alpha op(A) x + beta y`.
        fn gemv(
            trans: u32, m: i64, n: i64, alpha: *const c_void, a: *const c_void, lda: i64, x: *const c_void, incx: i64,
            beta: *const c_void, y: *mut c_void, incy: i64,
        ) = "gemv_v2_64";
        /// The same for each of a batch at fixed distances.
        fn gemv_strided_batched(
            trans: u32, m: i64, n: i64, alpha: *const c_void, a: *const c_void, lda: i64, stride_a: i64,
            x: *const c_void, incx: i64, stride_x: i64, beta: *const c_void, y: *mut c_void, incy: i64, stride_y: i64,
            batch: i64,
        ) = "gemvStridedBatched_64";
        /// The same for each of a batch; the arrays of addresses lie in device memory.
        fn gemv_batched(
            trans: u32, m: i64, n: i64, alpha: *const c_void, a: *const c_void, lda: i64, x: *const c_void, incx: i64,
            beta: *const c_void, y: *const c_void, incy: i64, batch: i64,
        ) = "gemvBatched_64";
        /// The same for a band matrix.
        fn gbmv(
            trans: u32, m: i64, n: i64, kl: i64, ku: i64, alpha: *const c_void, a: *const c_void, lda: i64,
            x: *const c_void, incx: i64, beta: *const c_void, y: *mut c_void, incy: i64,
        ) = "gbmv_v2_64";
        /// `A = alpha x y^T + A`.
        fn ger(
            m: i64, n: i64, alpha: *const c_void, x: *const c_void, incx: i64, y: *const c_void, incy: i64,
            a: *mut c_void, lda: i64,
        ) = ["cublasSger_v2_64", "cublasDger_v2_64", "cublasCgeru_v2_64", "cublasZgeru_v2_64"];
        /// `A = alpha x y^H + A`.
        fn gerc(
            m: i64, n: i64, alpha: *const c_void, x: *const c_void, incx: i64, y: *const c_void, incy: i64,
            a: *mut c_void, lda: i64,
        ) = ["cublasSger_v2_64", "cublasDger_v2_64", "cublasCgerc_v2_64", "cublasZgerc_v2_64"];
        /// `y = alpha A x + beta y`, A symmetric.
        fn symv(
            uplo: u32, n: i64, alpha: *const c_void, a: *const c_void, lda: i64, x: *const c_void, incx: i64,
            beta: *const c_void, y: *mut c_void, incy: i64,
        ) = "symv_v2_64";
        /// The same, A Hermitian.
        fn hemv(
            uplo: u32, n: i64, alpha: *const c_void, a: *const c_void, lda: i64, x: *const c_void, incx: i64,
            beta: *const c_void, y: *mut c_void, incy: i64,
        ) = [_, _, "cublasChemv_v2_64", "cublasZhemv_v2_64"];
        /// The same, A symmetric, stored by bands.
        fn sbmv(
            uplo: u32, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64, x: *const c_void, incx: i64,
            beta: *const c_void, y: *mut c_void, incy: i64,
        ) = ["cublasSsbmv_v2_64", "cublasDsbmv_v2_64", _, _];
        /// The same, A Hermitian, stored by bands.
        fn hbmv(
            uplo: u32, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64, x: *const c_void, incx: i64,
            beta: *const c_void, y: *mut c_void, incy: i64,
        ) = [_, _, "cublasChbmv_v2_64", "cublasZhbmv_v2_64"];
        /// The same, A symmetric, packed.
        fn spmv(
            uplo: u32, n: i64, alpha: *const c_void, ap: *const c_void, x: *const c_void, incx: i64,
            beta: *const c_void, y: *mut c_void, incy: i64,
        ) = ["cublasSspmv_v2_64", "cublasDspmv_v2_64", _, _];
        /// The same, A Hermitian, packed.
        fn hpmv(
            uplo: u32, n: i64, alpha: *const c_void, ap: *const c_void, x: *const c_void, incx: i64,
            beta: *const c_void, y: *mut c_void, incy: i64,
        ) = [_, _, "cublasChpmv_v2_64", "cublasZhpmv_v2_64"];
        /// `A = alpha x x^T + A`.
        fn syr(
            uplo: u32, n: i64, alpha: *const c_void, x: *const c_void, incx: i64, a: *mut c_void, lda: i64,
        ) = "syr_v2_64";
        /// `A = alpha x x^H + A`, `alpha` real.
        fn her(
            uplo: u32, n: i64, alpha: *const c_void, x: *const c_void, incx: i64, a: *mut c_void, lda: i64,
        ) = [_, _, "cublasCher_v2_64", "cublasZher_v2_64"];
        /// The same as `syr`, packed.
        fn spr(
            uplo: u32, n: i64, alpha: *const c_void, x: *const c_void, incx: i64, ap: *mut c_void,
        ) = ["cublasSspr_v2_64", "cublasDspr_v2_64", _, _];
        /// The same as `her`, packed.
        fn hpr(
            uplo: u32, n: i64, alpha: *const c_void, x: *const c_void, incx: i64, ap: *mut c_void,
        ) = [_, _, "cublasChpr_v2_64", "cublasZhpr_v2_64"];
        /// `A = alpha (x y^T + y x^T) + A`.
        fn syr2(
            uplo: u32, n: i64, alpha: *const c_void, x: *const c_void, incx: i64, y: *const c_void, incy: i64,
            a: *mut c_void, lda: i64,
        ) = "syr2_v2_64";
        /// `A = alpha x y^H + conj(alpha) y x^H + A`.
        fn her2(
            uplo: u32, n: i64, alpha: *const c_void, x: *const c_void, incx: i64, y: *const c_void, incy: i64,
            a: *mut c_void, lda: i64,
        ) = [_, _, "cublasCher2_v2_64", "cublasZher2_v2_64"];
        /// The same as `syr2`, packed.
        fn spr2(
            uplo: u32, n: i64, alpha: *const c_void, x: *const c_void, incx: i64, y: *const c_void, incy: i64,
            ap: *mut c_void,
        ) = ["cublasSspr2_v2_64", "cublasDspr2_v2_64", _, _];
        /// The same as `her2`, packed.
        fn hpr2(
            uplo: u32, n: i64, alpha: *const c_void, x: *const c_void, incx: i64, y: *const c_void, incy: i64,
            ap: *mut c_void,
        ) = [_, _, "cublasChpr2_v2_64", "cublasZhpr2_v2_64"];
        /// `x = op(A) x`, A triangular.
        fn trmv(
            uplo: u32, trans: u32, diag: u32, n: i64, a: *const c_void, lda: i64, x: *mut c_void, incx: i64,
        ) = "trmv_v2_64";
        /// The same, stored by bands.
        fn tbmv(
            uplo: u32, trans: u32, diag: u32, n: i64, k: i64, a: *const c_void, lda: i64, x: *mut c_void, incx: i64,
        ) = "tbmv_v2_64";
        /// The same, packed.
        fn tpmv(uplo: u32, trans: u32, diag: u32, n: i64, ap: *const c_void, x: *mut c_void, incx: i64) = "tpmv_v2_64";
        /// Solves `op(A) x = b`, A triangular.
        fn trsv(
            uplo: u32, trans: u32, diag: u32, n: i64, a: *const c_void, lda: i64, x: *mut c_void, incx: i64,
        ) = "trsv_v2_64";
        /// The same, stored by bands.
        fn tbsv(
            uplo: u32, trans: u32, diag: u32, n: i64, k: i64, a: *const c_void, lda: i64, x: *mut c_void, incx: i64,
        ) = "tbsv_v2_64";
        /// The same, packed.
        fn tpsv(uplo: u32, trans: u32, diag: u32, n: i64, ap: *const c_void, x: *mut c_void, incx: i64) = "tpsv_v2_64";

        // Level 3.
        /// `C = alpha op(A) op(B) + beta C`.
        fn gemm(
            trans_a: u32, trans_b: u32, m: i64, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64,
            b: *const c_void, ldb: i64, beta: *const c_void, c: *mut c_void, ldc: i64,
        ) = "gemm_v2_64";
        /// The same for each of a batch; the arrays of addresses lie in device memory.
        fn gemm_batched(
            trans_a: u32, trans_b: u32, m: i64, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64,
            b: *const c_void, ldb: i64, beta: *const c_void, c: *const c_void, ldc: i64, batch: i64,
        ) = "gemmBatched_64";
        /// The same for each of a batch at fixed distances.
        fn gemm_strided_batched(
            trans_a: u32, trans_b: u32, m: i64, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64,
            stride_a: i64, b: *const c_void, ldb: i64, stride_b: i64, beta: *const c_void, c: *mut c_void, ldc: i64,
            stride_c: i64, batch: i64,
        ) = "gemmStridedBatched_64";
        /// `C = alpha A B + beta C` or `alpha B A + beta C`, A symmetric.
        fn symm(
            side: u32, uplo: u32, m: i64, n: i64, alpha: *const c_void, a: *const c_void, lda: i64, b: *const c_void,
            ldb: i64, beta: *const c_void, c: *mut c_void, ldc: i64,
        ) = "symm_v2_64";
        /// The same, A Hermitian.
        fn hemm(
            side: u32, uplo: u32, m: i64, n: i64, alpha: *const c_void, a: *const c_void, lda: i64, b: *const c_void,
            ldb: i64, beta: *const c_void, c: *mut c_void, ldc: i64,
        ) = [_, _, "cublasChemm_v2_64", "cublasZhemm_v2_64"];
        /// `C = alpha op(A) op(A)^T + beta C`.
        fn syrk(
            uplo: u32, trans: u32, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64,
            beta: *const c_void, c: *mut c_void, ldc: i64,
        ) = "syrk_v2_64";
        /// `C = alpha op(A) op(A)^H + beta C`, both scalars real.
        fn herk(
            uplo: u32, trans: u32, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64,
            beta: *const c_void, c: *mut c_void, ldc: i64,
        ) = [_, _, "cublasCherk_v2_64", "cublasZherk_v2_64"];
        /// `C = alpha (op(A) op(B)^T + op(B) op(A)^T) + beta C`.
        fn syr2k(
            uplo: u32, trans: u32, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64, b: *const c_void,
            ldb: i64, beta: *const c_void, c: *mut c_void, ldc: i64,
        ) = "syr2k_v2_64";
        /// `C = alpha op(A) op(B)^H + conj(alpha) op(B) op(A)^H + beta C`, `beta` real.
        fn her2k(
            uplo: u32, trans: u32, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64, b: *const c_void,
            ldb: i64, beta: *const c_void, c: *mut c_void, ldc: i64,
        ) = [_, _, "cublasCher2k_v2_64", "cublasZher2k_v2_64"];
        /// `C = alpha op(A) B` or `alpha B op(A)`, A triangular.
        fn trmm(
            side: u32, uplo: u32, trans: u32, diag: u32, m: i64, n: i64, alpha: *const c_void, a: *const c_void,
            lda: i64, b: *const c_void, ldb: i64, c: *mut c_void, ldc: i64,
        ) = "trmm_v2_64";
        /// Solves `op(A) X = alpha B` or `X op(A) = alpha B`, A triangular.
        fn trsm(
            side: u32, uplo: u32, trans: u32, diag: u32, m: i64, n: i64, alpha: *const c_void, a: *const c_void,
            lda: i64, b: *mut c_void, ldb: i64,
        ) = "trsm_v2_64";
        /// `C = alpha op(A) op(B)^T + beta C`, which the caller knows to be symmetric.
        fn syrkx(
            uplo: u32, trans: u32, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64, b: *const c_void,
            ldb: i64, beta: *const c_void, c: *mut c_void, ldc: i64,
        ) = "syrkx_64";
        /// `C = alpha op(A) op(B)^H + beta C`, which the caller knows to be Hermitian.
        fn herkx(
            uplo: u32, trans: u32, n: i64, k: i64, alpha: *const c_void, a: *const c_void, lda: i64, b: *const c_void,
            ldb: i64, beta: *const c_void, c: *mut c_void, ldc: i64,
        ) = [_, _, "cublasCherkx_64", "cublasZherkx_64"];
        /// `trsm` for each of a batch; the arrays of addresses lie in device memory.
        fn trsm_batched(
            side: u32, uplo: u32, trans: u32, diag: u32, m: i64, n: i64, alpha: *const c_void, a: *const c_void,
            lda: i64, b: *const c_void, ldb: i64, batch: i64,
        ) = "trsmBatched_64";

        // Extensions.
        /// `C = alpha op(A) + beta op(B)`.
        fn geam(
            trans_a: u32, trans_b: u32, m: i64, n: i64, alpha: *const c_void, a: *const c_void, lda: i64,
            beta: *const c_void, b: *const c_void, ldb: i64, c: *mut c_void, ldc: i64,
        ) = "geam_64";
        /// `C = A diag(x)` or `diag(x) A`.
        fn dgmm(
            mode: u32, m: i64, n: i64, a: *const c_void, lda: i64, x: *const c_void, incx: i64, c: *mut c_void,
            ldc: i64,
        ) = "dgmm_64";
        /// LU factors of small matrices; pivots and info in device memory.
        fn getrf_batched(
            n: i32, a: *const c_void, lda: i32, pivots: *mut c_void, info: *mut c_void, batch: i32,
        ) = "getrfBatched";
        /// Inverses from LU factors.
        fn getri_batched(
            n: i32, a: *const c_void, lda: i32, pivots: *const c_void, c: *const c_void, ldc: i32, info: *mut c_void,
            batch: i32,
        ) = "getriBatched";
        /// Inverses of matrices of at most 32 rows.
        fn matinv_batched(
            n: i32, a: *const c_void, lda: i32, inverse: *const c_void, lda_inv: i32, info: *mut c_void, batch: i32,
        ) = "matinvBatched";
        /// Solves with LU factors; `info` in host memory.
        fn getrs_batched(
            trans: u32, n: i32, nrhs: i32, a: *const c_void, lda: i32, pivots: *const c_void, b: *const c_void,
            ldb: i32, info: *mut c_void, batch: i32,
        ) = "getrsBatched";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::element::Letter;
    use crate::engines::library::Code;
    use crate::engines::loader::testing::Tree;
    use crate::engines::loader::{Library, Loader};

    fn names() -> impl Iterator<Item = &'static str> {
        CublasTyped::NAMES.iter().flat_map(|(_, names)| names).map(|name| name.trim_end_matches('\0'))
    }

    #[test]
    fn a_letter_calls_its_own_function_with_the_arguments_in_order() {
        let source = "#include <stdint.h>
            static int see(int letter, void *h, int t, int64_t m, int64_t n, const void *alpha, const void *a,
                int64_t lda, const void *x, int64_t incx, const void *beta, void *y, int64_t incy) {
                return (uintptr_t)h == 1 && t == 2 && m == (1LL << 40) && n == 4 && (uintptr_t)alpha == 5
                    && (uintptr_t)a == 6 && lda == 7 && (uintptr_t)x == 8 && incx == -9 && (uintptr_t)beta == 10
                    && (uintptr_t)y == 11 && incy == 12 ? letter : 1; }
            #define GEMV(L, R) int cublas##L##gemv_v2_64(void *h, int t, int64_t m, int64_t n, const void *alpha, \
                const void *a, int64_t lda, const void *x, int64_t incx, const void *beta, void *y, int64_t incy) { \
                return see(R, h, t, m, n, alpha, a, lda, x, incx, beta, y, incy); }
            GEMV(S, 100) GEMV(D, 101) GEMV(C, 102)\n";
        let tree = Tree::new();
        tree.library("usr/local/cuda/lib64/libcublas.so.13", source, &[]);
        let loaded = Loader::new(tree.env()).open(Library::Cublas).unwrap();
        let table = CublasTyped::from_loaded(loaded);
        let p = std::ptr::without_provenance_mut::<c_void>;
        // SAFETY: the functions above only compare their arguments.
        let call = |letter| unsafe {
            table.gemv(letter, p(1).cast(), 2, 1 << 40, 4, p(5), p(6), 7, p(8), -9, p(10), p(11), 12)
        };
        assert_eq!(call(Letter::S).code, Some(Code(100)));
        assert_eq!(call(Letter::D).code, Some(Code(101)));
        assert_eq!(call(Letter::C).code, Some(Code(102)));
        let missing = call(Letter::Z);
        assert_eq!((missing.name, missing.code), ("cublasZgemv_v2_64", None), "found missing by name, at the call");
    }

    #[test]
    fn every_name_is_one_of_the_library() {
        crate::engines::library::assert_names(
            "cublas",
            names(),
            super::super::CublasFunctions::load().map(|table| table.library()),
        );
    }
}
