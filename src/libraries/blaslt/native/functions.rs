//! cuBLASLt: the matrix product with epilogues, its descriptors and its heuristic.
//!
//! Handles and descriptors are opaque pointers here, enum parameters and attributes their numbers in `cublasLt.h`.
//! Descriptors are allocated by the library (`Create`), so their size may change with every release.

use std::ffi::c_void;

use cudarc::driver::sys::CUstream;

use crate::engines::cuda::{AnyThread, opaque_handles};
use crate::engines::library::function_table;

opaque_handles! {
    /// `cublasLtHandle_t`.
    RawHandle;
    /// `cublasLtMatrixLayout_t`.
    RawLayout;
    /// `cublasLtMatmulDesc_t`.
    RawDesc;
    /// `cublasLtMatmulPreference_t`.
    RawPreference;
}

// SAFETY: a handle of cuBLASLt may be used from any thread, by one at a time: the holder of its slot's lease.
unsafe impl AnyThread for RawHandle {}
// SAFETY: host memory that the library binds to no thread; only the plan that it belongs to uses it, under one lease.
unsafe impl AnyThread for RawLayout {}
// SAFETY: as above.
unsafe impl AnyThread for RawDesc {}
// SAFETY: as above.
unsafe impl AnyThread for RawPreference {}

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heuristic {
    /// `cublasLtMatmulAlgo_t`: plain data of the library.
    pub(crate) algo: [u64; 8],
    /// Bytes of workspace that it takes.
    pub(crate) workspace: usize,
    /// `cublasStatus_t`: the other fields are valid if this is 0.
    pub(crate) state: i32,
    /// How often the work fills the GPU.
    pub(crate) waves: f32,
    reserved: [i32; 4],
}

function_table! {
    /// The functions of `libcublasLt`. A handle is used by one thread at a time.
    CublasLtFunctions = CublasLt
    required {
        /// Makes a handle on the current context.
        fn create(handle: *mut RawHandle) = c"cublasLtCreate";
        /// Destroys a handle; may synchronize the device.
        fn destroy(handle: RawHandle) = c"cublasLtDestroy";

        /// Describes a matrix: `cudaDataType`, rows, columns, leading dimension; column-major.
        fn layout_create(layout: *mut RawLayout, data_type: u32, rows: u64, columns: u64, ld: i64)
            = c"cublasLtMatrixLayoutCreate";
        /// Frees the description of a matrix; makes no driver call.
        fn layout_destroy(layout: RawLayout) = c"cublasLtMatrixLayoutDestroy";
        /// `cublasLtMatrixLayoutAttribute_t`, by number.
        fn layout_set(layout: RawLayout, attribute: u32, value: *const c_void, bytes: usize)
            = c"cublasLtMatrixLayoutSetAttribute";

        /// Describes a product: `cublasComputeType_t` and the `cudaDataType` of its scalars.
        fn desc_create(desc: *mut RawDesc, compute_type: u32, scale_type: u32) = c"cublasLtMatmulDescCreate";
        /// Frees the description of a product; makes no driver call.
        fn desc_destroy(desc: RawDesc) = c"cublasLtMatmulDescDestroy";
        /// `cublasLtMatmulDescAttributes_t`, by number.
        fn desc_set(desc: RawDesc, attribute: u32, value: *const c_void, bytes: usize)
            = c"cublasLtMatmulDescSetAttribute";

        /// Describes what the heuristic may choose from.
        fn preference_create(preference: *mut RawPreference) = c"cublasLtMatmulPreferenceCreate";
        /// Frees it; makes no driver call.
        fn preference_destroy(preference: RawPreference) = c"cublasLtMatmulPreferenceDestroy";
        /// `cublasLtMatmulPreferenceAttributes_t`, by number.
        fn preference_set(preference: RawPreference, attribute: u32, value: *const c_void, bytes: usize)
            = c"cublasLtMatmulPreferenceSetAttribute";

        /// The algorithms for a product, best first.
        fn heuristic(
            handle: RawHandle, desc: RawDesc, a: RawLayout, b: RawLayout, c: RawLayout, d: RawLayout, preference: RawPreference, asked: i32,
            results: *mut Heuristic, given: *mut i32,
        ) = c"cublasLtMatmulAlgoGetHeuristic";
        /// `D = epilogue(alpha op(A) op(B) + beta C)`.
        fn matmul(
            handle: RawHandle, desc: RawDesc, alpha: *const c_void, a: *const c_void, a_layout: RawLayout, b: *const c_void,
            b_layout: RawLayout, beta: *const c_void, c: *const c_void, c_layout: RawLayout, d: *mut c_void,
            d_layout: RawLayout, algo: *const [u64; 8], workspace: *mut c_void, workspace_bytes: usize, stream: CUstream,
        ) = c"cublasLtMatmul";
    }
    optional {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::library::Code;
    use crate::engines::loader::testing::Tree;
    use crate::engines::loader::{Library, Loader};

    /// Sixteen arguments are passed in registers and on the stack: each must arrive as the header declares it.
    #[test]
    fn the_arguments_of_matmul_arrive_in_the_order_of_the_header() {
        let special = "#include <stdint.h>
            #include <stddef.h>
            int cublasLtMatmul(void *h, void *desc, const void *alpha, const void *a, void *al, const void *b, void *bl,
                const void *beta, const void *c, void *cl, void *d, void *dl, const uint64_t algo[8], void *w, size_t n,
                void *stream) {
                return (uintptr_t)h == 1 && (uintptr_t)desc == 2 && (uintptr_t)alpha == 3 && (uintptr_t)a == 4
                    && (uintptr_t)al == 5 && (uintptr_t)b == 6 && (uintptr_t)bl == 7 && (uintptr_t)beta == 8
                    && (uintptr_t)c == 9 && (uintptr_t)cl == 10 && (uintptr_t)d == 11 && (uintptr_t)dl == 12
                    && algo[7] == 13 && (uintptr_t)w == 14 && n == (1ULL << 33) && (uintptr_t)stream == 16 ? 4711 : 1; }
            struct result { uint64_t algo[8]; size_t workspace; int state; float waves; int reserved[4]; };
            int cublasLtMatmulAlgoGetHeuristic(void *h, void *desc, void *a, void *b, void *c, void *d, void *p, int n,
                struct result *to, int *given) {
                struct result last = { { 0, 0, 0, 0, 0, 0, 0, 5 }, 6, 7, 8.0f, { 0 } };
                to[n - 1] = last;
                *given = n;
                return (uintptr_t)p == 9 ? 0 : 1; }\n";
        let mut source = special.to_owned();
        for name in CublasLtFunctions::REQUIRED.iter().flat_map(|names| names.iter()) {
            let name = name.to_str().unwrap();
            if !special.contains(&format!("int {name}(")) {
                source.push_str(&format!("int {name}(void) {{ return 0; }}\n"));
            }
        }
        let tree = Tree::new();
        tree.library("usr/local/cuda/lib64/libcublasLt.so.13", &source, &[]);
        let lt = CublasLtFunctions::from_loaded(Loader::new(tree.env()).open(Library::CublasLt).unwrap()).unwrap();
        let p = std::ptr::without_provenance_mut::<c_void>;
        let algo = [0, 0, 0, 0, 0, 0, 0, 13];
        // SAFETY: the function above only compares its arguments, and reads the algorithm.
        let code = unsafe {
            let (stream, bytes) = (p(16).cast(), 1 << 33);
            lt.matmul(
                RawHandle(p(1)),
                RawDesc(p(2)),
                p(3),
                p(4),
                RawLayout(p(5)),
                p(6),
                RawLayout(p(7)),
                p(8),
                p(9),
                RawLayout(p(10)),
                p(11),
                RawLayout(p(12)),
                &algo,
                p(14),
                bytes,
                stream,
            )
        };
        assert_eq!(code, Code(4711));
        let (mut results, mut given) = ([Heuristic::default(); 3], 0);
        // SAFETY: it writes the last of as many results as it is asked for.
        let code = unsafe {
            let (none, preference) = (RawLayout::NULL, RawPreference(p(9)));
            lt.heuristic(
                RawHandle::NULL,
                RawDesc::NULL,
                none,
                none,
                none,
                none,
                preference,
                3,
                results.as_mut_ptr(),
                &mut given,
            )
        };
        let [.., last] = results;
        assert_eq!((code, given, last.algo[7], last.workspace, last.state, last.waves), (Code(0), 3, 5, 6, 7, 8.0));
    }
}
