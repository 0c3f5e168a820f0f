//! What the library has found out about a matrix: kept by the handle of each slot, and used again.
//!
//! cuSPARSE looks at the rows of a matrix before it multiplies (`cusparseSpMV_preprocess`, `cusparseSpMM_preprocess`), and
//! what it finds belongs to one descriptor and one buffer, which must stay as it is. So both are kept, under the name of the
//! structure: that is given once, when a matrix is made, and never again, so what is kept of a matrix that is gone is
//! never found. Its values may change. Each slot looks for itself, so all that uses a buffer is in the order of one stream.

use super::super::element::{SparseElement, SparseIndex};
use super::descriptors::Described;
use super::functions::Opaque;
use super::handle::Cusparse;
use crate::Result;
use crate::cache::Cache;
use crate::cuda::Queue;
use crate::library::Code;

/// What is kept, by what it is for.
pub(super) type Kept = Cache<Purpose, Looked>;

/// Matrices that a slot keeps, and the bytes of device memory that they take.
const MATRICES: usize = 16;
const BYTES: usize = 16 << 20;

pub(super) fn none() -> Kept {
    Cache::new(MATRICES, BYTES)
}

/// A matrix and what it is used for: all that the library wants to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Purpose {
    /// The name of its structure, and where that lies.
    structure: u64,
    arrays: [u64; 2],
    /// The types of values and of indices.
    types: [u32; 2],
    /// The dense operands: `None` for vectors; else their columns and how they lie.
    dense: Option<[u64; 6]>,
}

/// A matrix that the library has looked at.
pub(super) struct Looked {
    matrix: Described,
    buffer: u64,
    algorithm: u32,
}

/// The same, as it is used.
#[derive(Clone, Copy)]
pub(in super::super) struct Seen {
    pub(in super::super) matrix: Opaque,
    pub(in super::super) buffer: u64,
    pub(in super::super) algorithm: u32,
}

impl Purpose {
    /// Where the library reads the operands themselves, not copies of them.
    pub(in super::super) fn of<T: SparseElement, I: SparseIndex>(
        structure: u64,
        arrays: [u64; 3],
        operands: [u64; 3],
        dense: Option<[u64; 6]>,
    ) -> Option<Purpose> {
        let [offsets, indices, _] = arrays;
        let this = Purpose { structure, arrays: [offsets, indices], types: [T::CODES.element, I::CODE], dense };
        (arrays == operands).then_some(this)
    }
}

impl Queue<'_> {
    /// A matrix that was looked at before, now with these values.
    pub(in super::super) fn seen(&mut self, this: &Purpose, values: u64) -> Result<Option<Seen>> {
        // What is kept goes when others come.
        self.not_in_a_graph("what was found out about a matrix")?;
        let (api, handle) = self.consult::<Cusparse>()?;
        let Some(Looked { matrix, buffer, algorithm }) = handle.kept.get(this) else { return Ok(None) };
        let seen = Seen { matrix: matrix.raw(), buffer: *buffer, algorithm: *algorithm };
        // SAFETY: a descriptor that is alive; the library stores the address.
        let code = unsafe { api.regular.set_values(seen.matrix, values as *mut _) };
        self.status::<Cusparse>("cusparseSpMatSetValues", code)?;
        Ok(Some(seen))
    }

    /// The matrix, a buffer to multiply with and the algorithm: where there is a use that is worth keeping, the library
    /// looks at it by `look`, with a buffer of so many bytes that stays. Where it does not do that, or it would take too
    /// much memory, a workspace, and the descriptor, which is to live as long as the call.
    pub(in super::super) fn look_at(
        &mut self,
        this: Option<&Purpose>,
        matrix: Described,
        bytes: usize,
        algorithm: u32,
        look: impl FnOnce(Opaque, u64) -> Option<Code>,
    ) -> Result<(Opaque, u64, u32, Option<Described>)> {
        let raw = matrix.raw();
        if let Some(this) = this
            && bytes <= BYTES
            && let Ok(buffer) = self.lasting(bytes)
        {
            self.touch();
            if look(raw, buffer).is_some_and(Code::is_success) {
                let (_, handle) = self.consult::<Cusparse>()?;
                for forgotten in handle.kept.insert(*this, Looked { matrix, buffer, algorithm }, bytes.max(1)) {
                    self.release(forgotten.buffer);
                }
                return Ok((raw, buffer, algorithm, None));
            }
            self.release(buffer);
        }
        Ok((raw, self.workspace(bytes)?, algorithm, Some(matrix)))
    }
}
