//! The functions of cuBLAS that the engine calls: handles and the typed (`Ex`) routines with 64-bit sizes.
//!
//! Enum parameters are passed as their numbers in `cudarc::cublas::sys`. Streams are the driver's own type; the
//! library's `cudaStream_t` is the same pointer.

use std::ffi::c_void;

use cudarc::cublas::sys::cublasHandle_t;
use cudarc::driver::sys::CUstream;

use crate::engines::library::function_table;

function_table! {
    /// The functions of `libcublas`. A handle is used by one thread at a time.
    CublasFunctions = Cublas
    required {
        /// Makes a handle on the current context.
        fn create(handle: *mut cublasHandle_t) = c"cublasCreate_v2";
        /// Destroys a handle; synchronizes the device.
        fn destroy(handle: cublasHandle_t) = c"cublasDestroy_v2";
        /// Sets the stream, and drops a workspace set before.
        fn set_stream(handle: cublasHandle_t, stream: CUstream) = c"cublasSetStream_v2";
        /// Lends device memory to the handle, aligned to 256 bytes.
        fn set_workspace(handle: cublasHandle_t, workspace: *mut c_void, bytes: usize) = c"cublasSetWorkspace_v2";
        /// Where scalars are: 0 host, 1 device.
        fn set_pointer_mode(handle: cublasHandle_t, mode: u32) = c"cublasSetPointerMode_v2";
        /// `cublasMath_t`, by number.
        fn set_math_mode(handle: cublasHandle_t, mode: u32) = c"cublasSetMathMode";
        /// Whether routines may use atomics: 0 no, 1 yes.
        fn set_atomics_mode(handle: cublasHandle_t, mode: u32) = c"cublasSetAtomicsMode";

        /// `C = alpha op(A) op(B) + beta C`, column-major.
        fn gemm_ex(
            handle: cublasHandle_t, trans_a: u32, trans_b: u32, m: i64, n: i64, k: i64, alpha: *const c_void,
            a: *const c_void, a_type: u32, lda: i64, b: *const c_void, b_type: u32, ldb: i64, beta: *const c_void,
            c: *mut c_void, c_type: u32, ldc: i64, compute_type: u32, algo: i32,
        ) = c"cublasGemmEx_64";
        /// `y = alpha x + y`.
        fn axpy_ex(
            handle: cublasHandle_t, n: i64, alpha: *const c_void, alpha_type: u32, x: *const c_void, x_type: u32,
            incx: i64, y: *mut c_void, y_type: u32, incy: i64, execution_type: u32,
        ) = c"cublasAxpyEx_64";
        /// `x = alpha x`.
        fn scal_ex(
            handle: cublasHandle_t, n: i64, alpha: *const c_void, alpha_type: u32, x: *mut c_void, x_type: u32,
            incx: i64, execution_type: u32,
        ) = c"cublasScalEx_64";
        /// `x . y`.
        fn dot_ex(
            handle: cublasHandle_t, n: i64, x: *const c_void, x_type: u32, incx: i64, y: *const c_void, y_type: u32,
            incy: i64, result: *mut c_void, result_type: u32, execution_type: u32,
        ) = c"cublasDotEx_64";
        /// `conj(x) . y`.
        fn dotc_ex(
            handle: cublasHandle_t, n: i64, x: *const c_void, x_type: u32, incx: i64, y: *const c_void, y_type: u32,
            incy: i64, result: *mut c_void, result_type: u32, execution_type: u32,
        ) = c"cublasDotcEx_64";
        /// The Euclidean norm.
        fn nrm2_ex(
            handle: cublasHandle_t, n: i64, x: *const c_void, x_type: u32, incx: i64, result: *mut c_void,
            result_type: u32, execution_type: u32,
        ) = c"cublasNrm2Ex_64";
    }
    optional {
        /// `gemm_ex` for each of a batch at fixed distances.
        fn gemm_strided_batched_ex(
            handle: cublasHandle_t, trans_a: u32, trans_b: u32, m: i64, n: i64, k: i64, alpha: *const c_void,
            a: *const c_void, a_type: u32, lda: i64, stride_a: i64, b: *const c_void, b_type: u32, ldb: i64,
            stride_b: i64, beta: *const c_void, c: *mut c_void, c_type: u32, ldc: i64, stride_c: i64, batch: i64,
            compute_type: u32, algo: i32,
        ) = c"cublasGemmStridedBatchedEx_64";
        /// `gemm_ex` for each of a batch; the arrays of addresses lie in device memory.
        fn gemm_batched_ex(
            handle: cublasHandle_t, trans_a: u32, trans_b: u32, m: i64, n: i64, k: i64, alpha: *const c_void,
            a: *const c_void, a_type: u32, lda: i64, b: *const c_void, b_type: u32, ldb: i64, beta: *const c_void,
            c: *const c_void, c_type: u32, ldc: i64, batch: i64, compute_type: u32, algo: i32,
        ) = c"cublasGemmBatchedEx_64";
        /// Several batches at once, each of its own shape; the arrays of addresses lie in device memory, all others in
        /// host memory. From CUDA 12.5 on.
        fn gemm_grouped_batched_ex(
            handle: cublasHandle_t, trans_a: *const u32, trans_b: *const u32, m: *const i64, n: *const i64,
            k: *const i64, alpha: *const c_void, a: *const c_void, a_type: u32, lda: *const i64, b: *const c_void,
            b_type: u32, ldb: *const i64, beta: *const c_void, c: *const c_void, c_type: u32, ldc: *const i64,
            groups: i64, sizes: *const i64, compute_type: u32,
        ) = c"cublasGemmGroupedBatchedEx_64";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::library::Code;
    use crate::engines::loader::testing::Tree;
    use crate::engines::loader::{Library, Loader};

    /// Nineteen arguments are passed in registers and on the stack: each must arrive as the header declares it.
    #[test]
    fn the_arguments_of_gemm_arrive_in_the_order_of_the_header() {
        let special = "#include <stdint.h>
            int cublasGemmEx_64(void *h, int ta, int tb, int64_t m, int64_t n, int64_t k, const void *alpha,
                const void *a, unsigned at, int64_t lda, const void *b, unsigned bt, int64_t ldb, const void *beta,
                void *c, unsigned ct, int64_t ldc, unsigned compute, int algo) {
                return (uintptr_t)h == 1 && ta == 2 && tb == 3 && m == (1LL << 40) && n == 5 && k == 6
                    && (uintptr_t)alpha == 7 && (uintptr_t)a == 8 && at == 9 && lda == 10 && (uintptr_t)b == 11
                    && bt == 12 && ldb == 13 && (uintptr_t)beta == 14 && (uintptr_t)c == 15 && ct == 16 && ldc == 17
                    && compute == 18 && algo == -1 ? 4711 : 1; }\n";
        let mut source = special.to_owned();
        for name in CublasFunctions::REQUIRED.iter().flat_map(|names| names.iter()) {
            let name = name.to_str().unwrap();
            if !special.contains(name) {
                source.push_str(&format!("int {name}(void) {{ return 0; }}\n"));
            }
        }
        let tree = Tree::new();
        tree.library("usr/local/cuda/lib64/libcublas.so.13", &source, &[]);
        let cublas = CublasFunctions::from_loaded(Loader::new(tree.env()).open(Library::Cublas).unwrap()).unwrap();
        let p = std::ptr::without_provenance_mut::<c_void>;
        // SAFETY: the function above only compares its arguments.
        let code = unsafe {
            let (m, handle) = (1 << 40, p(1).cast());
            cublas.gemm_ex(handle, 2, 3, m, 5, 6, p(7), p(8), 9, 10, p(11), 12, 13, p(14), p(15), 16, 17, 18, -1)
        };
        assert_eq!(code, Code(4711));
    }
}
