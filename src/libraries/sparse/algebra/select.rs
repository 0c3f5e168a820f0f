//! Parts of a matrix.

use super::super::element::{SparseElement, SparseIndex};
#[cfg(feature = "host")]
use super::super::host::select;
use super::super::keep::Keep;
use super::super::made::Producer;
#[cfg(feature = "cuda")]
use super::super::native::{ENTRIES, Pick};
use super::super::products::Side;
use super::super::{Compressed, Major, Sparse};
use crate::core::error::{Error, Result};
use crate::core::op::{Cost, Spans};
use crate::engines::cuda_enqueue::Enqueue;
#[cfg(feature = "cuda")]
use crate::libraries::sparse::native::kernels;
use std::marker::PhantomData;
use std::ops::Range;

#[derive(Clone, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub(super) struct Select<T, I> {
    side: Side,
    keep: Keep,
    rows: usize,
    _types: PhantomData<fn() -> (T, I)>,
}

impl<T: SparseElement, I: SparseIndex> Producer for Select<T, I> {
    const NAMES: [&'static str; 2] = ["select_count", "select"];
    const READS: &'static [&'static str] = &["a", "a", "a"];
    type Reads = (I, I, T);
    type Value = T;
    type Index = I;

    fn count_of_rows(&self) -> usize {
        self.rows
    }

    fn check(&self, (offsets, indices, values): &Spans<Self::Reads>) -> Result<()> {
        self.side.check(offsets.len(), indices.len(), values.len())
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }

    #[cfg(feature = "cuda")]
    fn cuda<O: crate::engines::op::Op>(
        &self,
        queue: &mut Enqueue<'_, O>,
        (from, columns, entries): &Spans<(I, I, T)>,
        offsets: u64,
        [indices, values]: [u64; 2],
    ) -> Result<()> {
        let (kind, threshold, first, many) = match self.keep {
            Keep::Above(threshold) => (0u64, threshold, 0i64, 0u64),
            Keep::Lower(diagonal) => (1, 0.0, diagonal, 0),
            Keep::Upper(diagonal) => (2, 0.0, diagonal, 0),
            Keep::Rows(first) => (3, 0.0, first as i64, 0),
            Keep::Columns(first, many) => (4, 0.0, first as i64, many),
        };
        let args = [
            from.address().into(),
            columns.address().into(),
            entries.address().into(),
            columns.len().into(),
            kind.into(),
            threshold.into(),
            first.into(),
            many.into(),
            self.rows.into(),
            offsets.into(),
            indices.into(),
            values.into(),
        ];
        // SAFETY: the parameters have this order and these types; the rows are a range of those of the matrix; the
        // number of entries was counted.
        unsafe { kernels::each(queue, ENTRIES(T::DTYPE)?, I::pick([c"select_4", c"select_8"]), self.rows, &args) }
    }

    #[cfg(feature = "host")]
    fn count(&self, (a0, a1, a2): (&[I], &[I], &[T]), offsets: &mut [I]) -> usize {
        select::count(&self.side.rows(a0, a1, a2), self.keep, self.rows, offsets)
    }

    #[cfg(feature = "host")]
    fn fill(&self, (a0, a1, a2): (&[I], &[I], &[T]), offsets: &[I], indices: &mut [I], values: &mut [T]) {
        select::fill(&self.side.rows(a0, a1, a2), self.keep, self.rows, offsets, indices, values);
    }
}

/// Checks that the range lies inside `0..end`.
fn check_range(name: &'static str, range: &Range<usize>, end: usize) -> Result<()> {
    if range.start <= range.end && range.end <= end {
        return Ok(());
    }
    Err(Error::invalid(name, format!("{}..{} does not lie inside 0..{end}", range.start, range.end)))
}

impl Sparse {
    fn select<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        keep: Keep,
        (rows, cols): (usize, usize),
    ) -> Result<Compressed<T, I, M>> {
        let select = Select::<T, I> {
            side: Side::from_compressed(a),
            keep,
            rows: if M::ROWS { rows } else { cols },
            _types: PhantomData,
        };
        let reads = || (a.offsets().as_in(), a.indices().as_in(), a.values().as_in());
        let (offsets, indices, values) = self.produce(select, reads)?;
        // SAFETY: a selection of the entries of a valid matrix, in their order, shifted by the same amount into the
        // sizes given.
        unsafe { Compressed::assume_valid(rows, cols, offsets, indices, values) }
    }

    /// Removes the entries whose magnitude is not larger than `threshold`; a threshold of 0 removes the stored zeros.
    /// NaNs stay. The call waits for the number of entries.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the threshold is negative or NaN; a stale or foreign matrix;
    /// [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(1, 3, &[0, 3], &[0, 1, 2], &[0.0f32, 2.0, -0.5])?;
    /// assert_eq!(device.sparse().drop_small(&a, 0.0)?.nnz(), 2);
    /// assert_eq!(device.sparse().drop_small(&a, 0.5)?.nnz(), 1);
    /// # Ok(()) }
    /// ```
    pub fn drop_small<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        threshold: f64,
    ) -> Result<Compressed<T, I, M>> {
        if threshold.is_nan() || threshold < 0.0 {
            return Err(Error::invalid("threshold", format!("{threshold} is negative or NaN")));
        }
        self.select(a, Keep::Above(threshold), (a.rows(), a.cols()))
    }

    /// The entries on and below a diagonal: 0 is the main one, 1 the one above it. The call waits for their number.
    ///
    /// # Errors
    /// A stale or foreign matrix; [`Error::OutOfMemory`].
    pub fn lower<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        diagonal: i64,
    ) -> Result<Compressed<T, I, M>> {
        let keep = if M::ROWS { Keep::Lower(diagonal) } else { Keep::Upper(diagonal.saturating_neg()) };
        self.select(a, keep, (a.rows(), a.cols()))
    }

    /// The entries on and above a diagonal: 0 is the main one, 1 the one above it. The call waits for their number.
    ///
    /// # Errors
    /// A stale or foreign matrix; [`Error::OutOfMemory`].
    pub fn upper<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        diagonal: i64,
    ) -> Result<Compressed<T, I, M>> {
        let keep = if M::ROWS { Keep::Upper(diagonal) } else { Keep::Lower(diagonal.saturating_neg()) };
        self.select(a, keep, (a.rows(), a.cols()))
    }

    /// A range of the rows. The call waits for the number of entries.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the range does not lie inside the matrix; a stale or foreign matrix;
    /// [`Error::OutOfMemory`].
    ///
    /// ```
    /// # fn main() -> Result<(), windlass::Error> {
    /// let device = windlass::Device::host()?;
    /// let a = device.sparse().upload_csr(3, 2, &[0, 1, 2, 3], &[0, 1, 0], &[1.0f32, 2.0, 3.0])?;
    /// let a = device.sparse().slice_rows(&a, 1..3)?;
    /// assert_eq!(device.download(a.values())?.await_result()?, [2.0, 3.0]);
    /// # Ok(()) }
    /// ```
    pub fn slice_rows<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        rows: Range<usize>,
    ) -> Result<Compressed<T, I, M>> {
        check_range("rows", &rows, a.rows())?;
        let (first, count) = (rows.start as u64, rows.len());
        let keep = if M::ROWS { Keep::Rows(first) } else { Keep::Columns(first, count as u64) };
        self.select(a, keep, (count, a.cols()))
    }

    /// A range of the columns. The call waits for the number of entries.
    ///
    /// # Errors
    /// As [`slice_rows`](Self::slice_rows).
    pub fn slice_cols<T: SparseElement, I: SparseIndex, M: Major>(
        &self,
        a: &Compressed<T, I, M>,
        cols: Range<usize>,
    ) -> Result<Compressed<T, I, M>> {
        check_range("cols", &cols, a.cols())?;
        let (first, count) = (cols.start as u64, cols.len());
        let keep = if M::ROWS { Keep::Columns(first, count as u64) } else { Keep::Rows(first) };
        self.select(a, keep, (a.rows(), count))
    }
}
