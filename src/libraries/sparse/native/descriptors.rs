//! Descriptors of matrices and vectors: host objects of the library, made for each call (about a microsecond each) and
//! read during the call. Their arrays belong to the operands, which the dispatch keeps alive.

use super::super::element::{SparseElement, SparseIndex};
use super::super::layout::{Format, Layout};
use super::super::operands::DenseAt;
use super::functions::{CusparseFunctions, RawDense, RawMatrix, RawVector};
use crate::core::error::{Error, Result};
use crate::engines::cuda::{AnyThread, Native};
use crate::engines::library::{Code, Refusal};
use crate::libraries::flags::Order;

/// A descriptor, destroyed when it is dropped.
pub(in super::super) struct Described<D: AnyThread> {
    raw: Native<D>,
    destroy: unsafe fn(&'static CusparseFunctions, D) -> Code,
    api: &'static CusparseFunctions,
}

impl<D: AnyThread> Described<D> {
    pub(in super::super) fn raw(&self) -> D {
        self.raw.0
    }
}

impl<D: AnyThread> Drop for Described<D> {
    fn drop(&mut self) {
        // SAFETY: made by the function that belongs to this one, destroyed once; host memory that nothing reads after
        // the calls for which it was made.
        let _ = unsafe { (self.destroy)(self.api, self.raw.0) };
    }
}

/// `cusparseOrder_t`.
fn order_code(order: Order) -> u32 {
    match order {
        Order::Column => 1,
        Order::Row => 2,
    }
}

/// The descriptor of a dense vector.
pub(in super::super) fn dense_vector<T: SparseElement>(
    api: &'static CusparseFunctions,
    address: u64,
    len: usize,
) -> Result<Described<RawVector>, Refusal> {
    let mut raw = RawVector::NULL;
    // SAFETY: valid for the write; the library stores the address.
    unsafe { api.create_vector(&mut raw, len as i64, address as *mut _, T::CODES.element) }
        .by("cusparseCreateDnVec")?;
    // SAFETY: the caller's promise, passed on.
    Ok(Described { raw: Native(raw), destroy: |api, raw| unsafe { api.destroy_vector(raw) }, api })
}

/// The descriptor of a dense matrix.
pub(in super::super) fn dense_matrix<T: SparseElement>(
    api: &'static CusparseFunctions,
    at: &DenseAt,
    address: u64,
) -> Result<Described<RawDense>, Refusal> {
    let mut raw = RawDense::NULL;
    let (rows, cols, ld) = (at.rows as i64, at.cols as i64, at.ld as i64);
    // SAFETY: as above.
    unsafe { api.create_dense(&mut raw, rows, cols, ld, address as *mut _, T::CODES.element, order_code(at.order)) }
        .by("cusparseCreateDnMat")?;
    // SAFETY: the caller's promise, passed on.
    Ok(Described { raw: Native(raw), destroy: |api, raw| unsafe { api.destroy_dense(raw) }, api })
}

impl Layout {
    /// The descriptor of the matrix with its arrays at these addresses.
    pub(in super::super) fn describe<T: SparseElement, I: SparseIndex>(
        &self,
        api: &'static CusparseFunctions,
        [first, second, values]: [u64; 3],
    ) -> Result<Result<Described<RawMatrix>, Refusal>> {
        let (rows, cols, stored) = (self.rows as i64, self.cols as i64, self.stored as i64);
        let (first, second, values) = (first as *const _, second as *const _, values as *const _);
        let (index, element, mut raw) = (I::CODE, T::CODES.element, RawMatrix::NULL);
        // SAFETY: `raw` is valid for the write; the library stores the addresses and reads nothing.
        let (call, code) = unsafe {
            match self.format {
                Format::Csr => (
                    "cusparseCreateCsr",
                    api.create_csr(&mut raw, rows, cols, stored, first, second, values, index, index, 0, element),
                ),
                Format::Csc => (
                    "cusparseCreateConstCsc",
                    api.create_csc(&mut raw, rows, cols, stored, first, second, values, index, index, 0, element),
                ),
                Format::Coo => (
                    "cusparseCreateConstCoo",
                    api.create_coo(&mut raw, rows, cols, stored, first, second, values, index, 0, element),
                ),
                Format::Bsr(size, order) => {
                    let (size, order) = (size as i64, order_code(order));
                    let (rows, cols) = (rows / size.max(1), cols / size.max(1));
                    let code = api.create_bsr(
                        &mut raw, rows, cols, stored, size, size, first, second, values, index, index, 0, element,
                        order,
                    );
                    let code = code
                        .ok_or_else(|| Error::unsupported("this cuSPARSE has no BSR format (it is older than 12.1)"))?;
                    ("cusparseCreateConstBsr", code)
                }
            }
        };
        // SAFETY: the caller's promise, passed on.
        let destroy: unsafe fn(&'static CusparseFunctions, RawMatrix) -> Code =
            |api, raw| unsafe { api.destroy_matrix(raw) };
        Ok(code.by(call).map(|()| Described { raw: Native(raw), destroy, api }))
    }
}
