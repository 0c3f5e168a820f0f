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
use super::status::NOT_SUPPORTED;
use crate::core::cache::Cache;
use crate::core::error::Result;
use crate::engines::cuda::Queue;
use crate::engines::library::{Code, Refusal};

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

/// A matrix that is ready for a product.
pub(in super::super) struct Prepared {
    pub(in super::super) matrix: RawMatrix,
    pub(in super::super) buffer: u64,
    pub(in super::super) algorithm: u32,
    /// Its descriptor, unless that is kept: it must live as long as the call.
    _descriptor: Option<Described<RawMatrix>>,
}

/// A product of the library, for any sparse matrix.
pub(in super::super) trait SparseProduct {
    /// The function behind [`size`](Self::size).
    const SIZE: &'static str;
    /// The bytes of its buffer. Enqueues nothing.
    fn size(&self, matrix: RawMatrix, algorithm: u32, bytes: &mut usize) -> Code;
    /// Preprocesses the matrix, with a buffer of that size. `None`: the library is too old.
    fn preprocess(&self, matrix: RawMatrix, algorithm: u32, buffer: u64) -> Option<Code>;
}

/// The default algorithm of each product.
pub(in super::super) const DEFAULT: u32 = 0;

/// A matrix ready for `product`: preprocessed before, if it has a key, or else newly described. `algorithms` are tried in this order.
pub(in super::super) fn prepared<P: SparseProduct>(
    queue: &mut Queue<'_>,
    (this, values): (Option<&PreprocessKey>, u64),
    describe: impl FnOnce() -> Result<Result<Described<RawMatrix>, Refusal>>,
    algorithms: [u32; 2],
    product: &P,
) -> Result<Prepared> {
    if let Some(this) = this
        && let Some(found) = preprocessed(queue, this, values)?
    {
        return Ok(found);
    }
    let matrix = describe()?.map_err(|(call, code)| queue.failure::<Cusparse>(call, code))?;
    let (mut bytes, mut algorithm, mut code) = (0, DEFAULT, Code::SUCCESS);
    for one in algorithms {
        algorithm = one;
        code = product.size(matrix.raw(), algorithm, &mut bytes);
        if code.0 != NOT_SUPPORTED {
            break;
        }
    }
    queue.status::<Cusparse>(P::SIZE, code)?;
    preprocess(queue, this, matrix, (bytes, algorithm), product)
}

/// A matrix that was preprocessed before, now with these values.
fn preprocessed(queue: &mut Queue<'_>, this: &PreprocessKey, values: u64) -> Result<Option<Prepared>> {
    // An entry can be removed when others are added, so a graph must not depend on it.
    queue.not_in_a_graph("the stored preprocessing of a matrix")?;
    let (api, handle) = queue.consult::<Cusparse>()?;
    let Some(Preprocessed { matrix, buffer, algorithm }) = handle.kept.get(this) else { return Ok(None) };
    let found = Prepared { matrix: matrix.raw(), buffer: *buffer, algorithm: *algorithm, _descriptor: None };
    // SAFETY: a descriptor that is alive; the library stores the address.
    let code = unsafe { api.regular.set_values(found.matrix, values as *mut _) };
    queue.status::<Cusparse>("cusparseSpMatSetValues", code)?;
    Ok(Some(found))
}

/// If there is a key, preprocesses the matrix with a buffer of `bytes` bytes, and keeps both. If the library does not support that,
/// or it would take too much memory, the buffer is a workspace.
fn preprocess(
    queue: &mut Queue<'_>,
    this: Option<&PreprocessKey>,
    matrix: Described<RawMatrix>,
    (bytes, algorithm): (usize, u32),
    product: &impl SparseProduct,
) -> Result<Prepared> {
    let raw = matrix.raw();
    if let Some(this) = this
        && bytes <= BYTES
        && let Ok(buffer) = queue.lasting(bytes)
    {
        queue.touch();
        if product.preprocess(raw, algorithm, buffer).is_some_and(Code::is_success) {
            let (_, handle) = queue.consult::<Cusparse>()?;
            for forgotten in handle.kept.insert(*this, Preprocessed { matrix, buffer, algorithm }, bytes.max(1)) {
                queue.release(forgotten.buffer);
            }
            return Ok(Prepared { matrix: raw, buffer, algorithm, _descriptor: None });
        }
        queue.release(buffer);
    }
    Ok(Prepared { matrix: raw, buffer: queue.workspace(bytes)?, algorithm, _descriptor: Some(matrix) })
}
