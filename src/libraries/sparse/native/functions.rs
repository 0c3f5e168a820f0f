//! The functions of cuSPARSE that are called here. Enum parameters are their numbers in `cusparse.h`.

use crate::engines::cuda::{AnyThread, opaque_handles};
use crate::engines::library::{function_table, typed_table};
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;

opaque_handles! {
    /// `cusparseHandle_t`.
    RawHandle;
    /// `cusparseSpMatDescr_t`, also of constant arrays.
    RawMatrix;
    /// `cusparseDnVecDescr_t`.
    RawVector;
    /// `cusparseDnMatDescr_t`.
    RawDense;
}

// SAFETY: a handle of cuSPARSE may be used from any thread, by one at a time: the holder of its slot's lease.
unsafe impl AnyThread for RawHandle {}
// SAFETY: a descriptor is host memory that the library binds to no thread; it is used and destroyed under one lease.
unsafe impl AnyThread for RawMatrix {}
// SAFETY: as above.
unsafe impl AnyThread for RawVector {}
// SAFETY: as above.
unsafe impl AnyThread for RawDense {}

function_table! {
    /// The functions of `libcusparse`. A handle is used by one thread at a time.
    CusparseFunctions = Cusparse
    required {
        /// Makes a handle on the current context.
        fn create(handle: *mut RawHandle) = c"cusparseCreate";
        /// Destroys a handle.
        fn destroy(handle: RawHandle) = c"cusparseDestroy";
        /// Sets the stream of all later calls.
        fn set_stream(handle: RawHandle, stream: CUstream) = c"cusparseSetStream";
        /// Sets where scalars are: 0 in host memory, 1 in device memory.
        fn set_pointer_mode(handle: RawHandle, mode: u32) = c"cusparseSetPointerMode";

        /// A matrix of compressed rows, whose values may be written. Parameters: rows, columns, entries, offsets,
        /// columns, values, the types of the indices, the index base, the type of the values.
        fn create_csr(to: *mut RawMatrix, rows: i64, cols: i64, nnz: i64, offsets: *const c_void, columns: *const c_void,
            values: *const c_void, offset_type: u32, index_type: u32, base: u32, value_type: u32) = c"cusparseCreateCsr";
        /// A matrix of compressed columns.
        fn create_csc(to: *mut RawMatrix, rows: i64, cols: i64, nnz: i64, offsets: *const c_void, rows_of: *const c_void,
            values: *const c_void, offset_type: u32, index_type: u32, base: u32, value_type: u32) = c"cusparseCreateConstCsc";
        /// A matrix of coordinates.
        fn create_coo(to: *mut RawMatrix, rows: i64, cols: i64, nnz: i64, rows_of: *const c_void, columns: *const c_void,
            values: *const c_void, index_type: u32, base: u32, value_type: u32) = c"cusparseCreateConstCoo";
        /// Destroys the descriptor of a matrix, which is host memory.
        fn destroy_matrix(matrix: RawMatrix) = c"cusparseDestroySpMat";
        /// Gives a matrix other values.
        fn set_values(matrix: RawMatrix, values: *mut c_void) = c"cusparseSpMatSetValues";
        /// A dense vector.
        fn create_vector(to: *mut RawVector, size: i64, values: *mut c_void, value_type: u32) = c"cusparseCreateDnVec";
        /// Destroys the descriptor of a dense vector.
        fn destroy_vector(vector: RawVector) = c"cusparseDestroyDnVec";
        /// A dense matrix; order 1 is column-major, 2 row-major.
        fn create_dense(to: *mut RawDense, rows: i64, cols: i64, ld: i64, values: *mut c_void, value_type: u32, order: u32)
            = c"cusparseCreateDnMat";
        /// Destroys the descriptor of a dense matrix.
        fn destroy_dense(dense: RawDense) = c"cusparseDestroyDnMat";

        /// Bytes of the workspace of `spmv`.
        fn spmv_size(handle: RawHandle, op: u32, alpha: *const c_void, a: RawMatrix, x: RawVector, beta: *const c_void, y: RawVector,
            compute: u32, algorithm: u32, bytes: *mut usize) = c"cusparseSpMV_bufferSize";
        /// A sparse matrix times a vector.
        fn spmv(handle: RawHandle, op: u32, alpha: *const c_void, a: RawMatrix, x: RawVector, beta: *const c_void, y: RawVector,
            compute: u32, algorithm: u32, buffer: *mut c_void) = c"cusparseSpMV";
        /// Bytes of the workspace of `spmm`.
        fn spmm_size(handle: RawHandle, op_a: u32, op_b: u32, alpha: *const c_void, a: RawMatrix, b: RawDense, beta: *const c_void,
            c: RawDense, compute: u32, algorithm: u32, bytes: *mut usize) = c"cusparseSpMM_bufferSize";
        /// A sparse matrix times a dense one.
        fn spmm(handle: RawHandle, op_a: u32, op_b: u32, alpha: *const c_void, a: RawMatrix, b: RawDense, beta: *const c_void,
            c: RawDense, compute: u32, algorithm: u32, buffer: *mut c_void) = c"cusparseSpMM";
        /// Bytes of the workspace of `sddmm`.
        fn sddmm_size(handle: RawHandle, op_a: u32, op_b: u32, alpha: *const c_void, a: RawDense, b: RawDense, beta: *const c_void,
            c: RawMatrix, compute: u32, algorithm: u32, bytes: *mut usize) = c"cusparseSDDMM_bufferSize";
        /// Products of dense matrices at the entries of a sparse one.
        fn sddmm(handle: RawHandle, op_a: u32, op_b: u32, alpha: *const c_void, a: RawDense, b: RawDense, beta: *const c_void,
            c: RawMatrix, compute: u32, algorithm: u32, buffer: *mut c_void) = c"cusparseSDDMM";
        /// Bytes of the workspace of `csr2csc`.
        fn csr2csc_size(handle: RawHandle, m: i32, n: i32, nnz: i32, values: *const c_void, offsets: *const c_void,
            indices: *const c_void, to_values: *mut c_void, to_offsets: *mut c_void, to_indices: *mut c_void,
            value_type: u32, action: u32, base: u32, algorithm: u32, bytes: *mut usize) = c"cusparseCsr2cscEx2_bufferSize";
        /// Compressed rows to compressed columns.
        fn csr2csc(handle: RawHandle, m: i32, n: i32, nnz: i32, values: *const c_void, offsets: *const c_void,
            indices: *const c_void, to_values: *mut c_void, to_offsets: *mut c_void, to_indices: *mut c_void,
            value_type: u32, action: u32, base: u32, algorithm: u32, buffer: *mut c_void) = c"cusparseCsr2cscEx2";
    }
    optional {
        /// Preprocesses a matrix for `spmv`, which then does not do so again as long as the buffer does not change.
        fn spmv_preprocess(handle: RawHandle, op: u32, alpha: *const c_void, a: RawMatrix, x: RawVector, beta: *const c_void, y: RawVector,
            compute: u32, algorithm: u32, buffer: *mut c_void) = c"cusparseSpMV_preprocess";
        /// The same for `spmm`.
        fn spmm_preprocess(handle: RawHandle, op_a: u32, op_b: u32, alpha: *const c_void, a: RawMatrix, b: RawDense, beta: *const c_void,
            c: RawDense, compute: u32, algorithm: u32, buffer: *mut c_void) = c"cusparseSpMM_preprocess";
        /// A matrix of compressed rows of blocks: rows, columns and number of blocks, the block sizes, and the order of
        /// their elements.
        fn create_bsr(to: *mut RawMatrix, rows: i64, cols: i64, nnz: i64, height: i64, width: i64, offsets: *const c_void,
            columns: *const c_void, values: *const c_void, offset_type: u32, index_type: u32, base: u32, value_type: u32,
            order: u32) = c"cusparseCreateConstBsr";
    }
}

typed_table! {
    /// The functions whose names contain the letter of an element type.
    CusparseTyped = Cusparse, "cusparse", RawHandle {
        /// Bytes of the workspace of `gtsv2`.
        fn gtsv2_size(m: i32, n: i32, dl: *const c_void, d: *const c_void, du: *const c_void, b: *const c_void, ldb: i32,
            bytes: *mut usize) = "gtsv2_bufferSizeExt";
        /// A tridiagonal matrix with several right-hand sides, with pivoting.
        fn gtsv2(m: i32, n: i32, dl: *const c_void, d: *const c_void, du: *const c_void, b: *mut c_void, ldb: i32,
            buffer: *mut c_void) = "gtsv2";
        /// Bytes of the workspace of `gtsv2_batch`.
        fn gtsv2_batch_size(m: i32, dl: *const c_void, d: *const c_void, du: *const c_void, x: *const c_void, batch: i32,
            stride: i32, bytes: *mut usize) = "gtsv2StridedBatch_bufferSizeExt";
        /// A batch of tridiagonal systems, without pivoting.
        fn gtsv2_batch(m: i32, dl: *const c_void, d: *const c_void, du: *const c_void, x: *mut c_void, batch: i32,
            stride: i32, buffer: *mut c_void) = "gtsv2StridedBatch";
    }
}

#[cfg(test)]
mod tests {
    use super::{CusparseFunctions, CusparseTyped};

    #[test]
    fn every_name_is_one_of_the_library() {
        let typed = CusparseTyped::NAMES.iter().flat_map(|(_, names)| names);
        let required = CusparseFunctions::REQUIRED.iter().flat_map(|names| names.iter());
        let names = typed.copied().chain(required.filter_map(|name| name.to_str().ok()));
        crate::engines::library::assert_names(
            "cusparse",
            names,
            CusparseFunctions::load().map(CusparseFunctions::library),
        );
    }
}
