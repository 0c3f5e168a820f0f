//! The library's preprocessing of a matrix: kept by the handle of each slot, and reused.
//!
//! cuSPARSE analyses the rows of a matrix before it multiplies (`cusparseSpMV_preprocess`, `cusparseSpMM_preprocess`).
//! The result belongs to one descriptor and one buffer, which must not change. So both are kept, with the identifier of
//! the structure as key. An identifier is given once, when a matrix is made, and never reused, so the data of a matrix
//! that no longer exists is never found. The values may change. Each slot does its own preprocessing, so all uses of a
//! buffer are in the order of one stream.

use super::super::element::{SparseElement, SparseIndex};
use super::descriptors::Described;
use super::functions::RawMatrix;
use super::handle::Cusparse;
use crate::core::cache::Cache;
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::engines::library::Code;

/// The preprocessed matrices, by key.
pub(super) type Kept = Cache<PreprocessKey, Preprocessed>;

/// The limits of a slot: the number of matrices, and the bytes of device memory that they take.
const MATRICES: usize = 16;
const BYTES: usize = 16 << 20;

pub(super) fn none() -> Kept {
    Cache::new(MATRICES, BYTES)
}

/// A matrix and the operation for which it is used: everything that the library requires to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct PreprocessKey {
    /// The identifier of the structure, and the addresses of its arrays.
    structure: u64,
    arrays: [u64; 2],
    /// The types of values and of indices.
    types: [u32; 2],
    /// The dense operands: `None` for vectors; else their numbers of columns and their layouts.
    dense: Option<[u64; 6]>,
}

/// A matrix that the library has preprocessed.
pub(super) struct Preprocessed {
    matrix: Described<RawMatrix>,
    buffer: u64,
    algorithm: u32,
}

/// A copy of these for one use.
#[derive(Clone, Copy)]
pub(in super::super) struct PreprocessedCopy {
    pub(in super::super) matrix: RawMatrix,
    pub(in super::super) buffer: u64,
    pub(in super::super) algorithm: u32,
}

impl PreprocessKey {
    /// The key, if the library reads the operands themselves and not copies of them.
    pub(in super::super) fn new<T: SparseElement, I: SparseIndex>(
        structure: u64,
        arrays: [u64; 3],
        operands: [u64; 3],
        dense: Option<[u64; 6]>,
    ) -> Option<PreprocessKey> {
        let [offsets, indices, _] = arrays;
        let this = PreprocessKey { structure, arrays: [offsets, indices], types: [T::CODES.element, I::CODE], dense };
        (arrays == operands).then_some(this)
    }
}

/// A matrix that was preprocessed before, now with these values.
pub(in super::super) fn preprocessed(
    queue: &mut Queue<'_>,
    this: &PreprocessKey,
    values: u64,
) -> Result<Option<PreprocessedCopy>> {
    // An entry can be removed when others are added, so a graph must not depend on it.
    queue.not_in_a_graph("the stored preprocessing of a matrix")?;
    let (api, handle) = queue.consult::<Cusparse>()?;
    let Some(Preprocessed { matrix, buffer, algorithm }) = handle.kept.get(this) else { return Ok(None) };
    let found = PreprocessedCopy { matrix: matrix.raw(), buffer: *buffer, algorithm: *algorithm };
    // SAFETY: a descriptor that is alive; the library stores the address.
    let code = unsafe { api.regular.set_values(found.matrix, values as *mut _) };
    queue.status::<Cusparse>("cusparseSpMatSetValues", code)?;
    Ok(Some(found))
}

/// The matrix, a buffer for the multiplication, and the algorithm. If there is a key, the matrix is
/// preprocessed by `preprocess` with a buffer of `bytes` bytes, and both are kept. If the library does not support that,
/// or it would take too much memory, the buffer is a workspace, and the descriptor is returned too: it must live as
/// long as the call.
pub(in super::super) fn preprocess(
    queue: &mut Queue<'_>,
    this: Option<&PreprocessKey>,
    matrix: Described<RawMatrix>,
    bytes: usize,
    algorithm: u32,
    preprocess: impl FnOnce(RawMatrix, u64) -> Option<Code>,
) -> Result<(RawMatrix, u64, u32, Option<Described<RawMatrix>>)> {
    let raw = matrix.raw();
    if let Some(this) = this
        && bytes <= BYTES
        && let Ok(buffer) = queue.lasting(bytes)
    {
        queue.touch();
        if preprocess(raw, buffer).is_some_and(Code::is_success) {
            let (_, handle) = queue.consult::<Cusparse>()?;
            for forgotten in handle.kept.insert(*this, Preprocessed { matrix, buffer, algorithm }, bytes.max(1)) {
                queue.release(forgotten.buffer);
            }
            return Ok((raw, buffer, algorithm, None));
        }
        queue.release(buffer);
    }
    Ok((raw, queue.workspace(bytes)?, algorithm, Some(matrix)))
}
